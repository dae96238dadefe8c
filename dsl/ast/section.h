#pragma once

#include <array>
#include <string_view>

// What an experiment consists of: section.def.
namespace ltr::ast {

/// The parts that are one value each: `data = Digits()`.
inline constexpr std::array kExperimentParts = {
#define LTR_PART(name) std::string_view(#name),
#include "dsl/ast/section.def"
};

enum class SectionKind {
  Error,
#define LTR_SETTINGS_SECTION(Token, name, amends) Token,
#define LTR_VALUES_SECTION(Token, name) Token,
#include "dsl/ast/section.def"
};

/// What an amending experiment's section does to the one of the same name.
enum class Amends { Over, Instead };

struct SectionInfo {
  SectionKind kind;
  std::string_view name;
  Amends amends;
};
inline constexpr std::array kSections = {
#define LTR_SETTINGS_SECTION(Token, name, amends) SectionInfo{SectionKind::Token, #name, Amends::amends},
#define LTR_VALUES_SECTION(Token, name) SectionInfo{SectionKind::Token, #name, Amends::Instead},
#include "dsl/ast/section.def"
};

inline constexpr SectionInfo kNoSection = {SectionKind::Error, "", Amends::Over};

/// The row of an experiment's section; every one that was parsed has one.
constexpr const SectionInfo& section_info(std::string_view name) {
  for (const SectionInfo& info : kSections) {
    if (info.name == name) return info;
  }
  return kNoSection;
}

}  // namespace ltr::ast
