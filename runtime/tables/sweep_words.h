#pragma once

// What says in a `sweep` how trials are chosen and judged; all else there are axes. The compiler reads this table, too.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ltr {

enum class SweepWord : uint8_t { Trials, Method, Minimize, Maximize, Prune };

/// By `SweepWord`.
inline constexpr std::array<std::string_view, 5> kSweepWords = {"trials", "method", "minimize", "maximize", "prune"};

constexpr std::string_view name_of(SweepWord word) { return kSweepWords[size_t(word)]; }

constexpr std::optional<SweepWord> find_sweep_word(std::string_view name) {
  const auto* const found = std::find(kSweepWords.begin(), kSweepWords.end(), name);
  return found == kSweepWords.end() ? std::nullopt : std::optional(SweepWord(found - kSweepWords.begin()));
}

/// Whether it says what is best.
constexpr bool is_target(std::optional<SweepWord> word) {
  return word == SweepWord::Minimize || word == SweepWord::Maximize;
}

}  // namespace ltr
