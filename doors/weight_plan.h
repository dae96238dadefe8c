#pragma once

// Which tensor of a file becomes which weight: `rename`, `skip` and `freeze` of a member's `from`.

#include <string>
#include <utility>
#include <vector>

#include "runtime/tables/name_rule.h"

namespace ltr::doors {

/// Patterns take `*` for any text, dots included.
using LoadRule = NameRule;

/// A weight of the program. One that shares another's tensor may be stored under either name, or
/// both.
struct Wanted {
  std::string name;
  std::string shared_with;
};

struct LoadPlan {
  std::vector<std::pair<std::string, std::string>> loads;  ///< name here, name in the file
  std::vector<std::string> missing;                        ///< here, but not in the file
  std::vector<std::string> unexpected;                     ///< in the file, but not here
  std::vector<size_t> idle_rules;                          ///< match nothing
  std::vector<std::string> frozen;                         ///< names here
  std::string rename_from, rename_to;                      ///< a rename that makes at least 80 % of the names fit
};

LoadPlan plan_load(const std::vector<Wanted>& wanted, const std::vector<std::string>& stored,
                   const std::vector<LoadRule>& rules);

}  // namespace ltr::doors
