#pragma once

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// The experiment with what it amends written into it.
struct Merged {
  bool is_damaged = false;             ///< what is missing may stand where it could not be read
  std::set<std::string> told_missing;  ///< parts that it lacks, which was said
  std::vector<ast::Setting> settings;
  std::vector<ast::Setting> sets;
  std::vector<ast::Section> sections;
};

/// Nothing after a report.
std::optional<Merged> merge_amended(Context& cx, uint32_t module, const ast::Experiment& experiment);

}  // namespace ltr::check
