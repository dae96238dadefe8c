#pragma once

// What `from "weights.safetensors" { … }` says of names. Plain C++, since the compiler plans what the program does.

#include <optional>
#include <string>
#include <string_view>

namespace ltr {

struct NameRule {
  enum class Kind {
    Rename,  ///< names of the file that fit `pattern` are read as `replacement`; its `*` is what the pattern's took
    Skip,    ///< names that fit are not loaded, and not missed, on either side
    Freeze,  ///< weights that fit are not trained
  } kind = Kind::Rename;
  std::string pattern;
  std::string replacement;
  bool operator==(const NameRule&) const = default;
};

/// As the program says it.
inline std::string_view word_of(NameRule::Kind kind) {
  switch (kind) {
    case NameRule::Kind::Rename: return "rename";
    case NameRule::Kind::Skip: return "skip";
    case NameRule::Kind::Freeze: return "freeze";
  }
  return "";
}

inline std::optional<NameRule::Kind> name_rule_kind(std::string_view word) {
  for (const NameRule::Kind kind : {NameRule::Kind::Rename, NameRule::Kind::Skip, NameRule::Kind::Freeze}) {
    if (word == word_of(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace ltr
