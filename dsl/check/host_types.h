#pragma once

// Types of values of the host that have no parts, by their names. Programs may write those that the language has; the others stand
// in signatures of the library alone.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "dsl/check/type.h"

namespace ltr::check {

struct HostType {
  std::string_view name;
  Kind kind;
  bool is_written;  ///< in programs
};

/// The first of a kind is what messages call it.
inline constexpr std::array kHostTypes = {
    HostType{"int", Kind::Int, true},
    HostType{"float", Kind::Float, true},
    HostType{"bool", Kind::Bool, true},
    HostType{"str", Kind::Str, true},
    HostType{"path", Kind::Path, true},
    HostType{"duration", Kind::Duration, true},
    HostType{"period", Kind::Period, true},
    HostType{"bytes", Kind::Bytes, true},
    HostType{"series", Kind::Series, true},
    HostType{"weights", Kind::Weights, true},
    HostType{"secret", Kind::Secret, false},
    HostType{"optimizer", Kind::Optimizer, false},
    HostType{"stream", Kind::Stream, false},
    HostType{"schedule", Kind::Schedule, false},
    HostType{"logger", Kind::Logger, false},
    HostType{"callback", Kind::CallbackValue, false},
    HostType{"initializer", Kind::Initializer, false},
    HostType{"draw", Kind::Draw, false},
    HostType{"facts", Kind::Facts, false},
    HostType{"vocabulary", Kind::Vocabulary, false},
    HostType{"tokenizer", Kind::Tokenizer, false},
    HostType{"trainer_value", Kind::TrainerValue, false},
    HostType{"receiver", Kind::TrainerValue, false},
    HostType{"map_fn", Kind::Function, false},
    HostType{"filter_fn", Kind::Function, false},
    HostType{"weight_path", Kind::Str, false},
    HostType{"int_or_all", Kind::Int, false},
    HostType{"float_or_period", Kind::Period, false},
    HostType{"number", Kind::Float, false},
};

constexpr std::optional<Kind> host_kind(std::string_view name) {
  const auto found = std::ranges::find(kHostTypes, name, &HostType::name);
  return found == kHostTypes.end() ? std::nullopt : std::optional(found->kind);
}

/// Empty for a kind that is none of them.
constexpr std::string_view host_name(Kind kind) {
  const auto found = std::ranges::find(kHostTypes, kind, &HostType::kind);
  return found == kHostTypes.end() ? std::string_view() : found->name;
}

}  // namespace ltr::check
