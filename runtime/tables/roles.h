#pragma once

// The rows of `roles.def`, by their names.

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ltr {

struct RoleRow {
  std::string_view name;  ///< as programs write it
  bool trains;            ///< its step updates weights; the others evaluate
  bool logs;              ///< what its step logs is a series, `val.loss`
};

inline constexpr RoleRow kRoleRows[] = {
#define LTR_ROLE(Name, name, trains, logs) {#name, trains, logs},
#include "runtime/tables/roles.def"
#undef LTR_ROLE
};

/// `kTrainRole` and so on: what code says of one role says it by its row.
#define LTR_ROLE(Name, name, trains, logs) inline constexpr std::string_view k##Name##Role = #name;
#include "runtime/tables/roles.def"
#undef LTR_ROLE

/// The role of that name, or nullptr.
constexpr const RoleRow* find_role(std::string_view name) {
  const auto* row =
      std::find_if(std::begin(kRoleRows), std::end(kRoleRows), [&](const RoleRow& one) { return one.name == name; });
  return row == std::end(kRoleRows) ? nullptr : row;
}

constexpr bool is_role(std::string_view name) { return find_role(name) != nullptr; }

/// Of `train`, `val` and `test`.
constexpr bool is_logging_role(std::string_view name) { return is_role(name) && find_role(name)->logs; }

/// Of those whose steps update no weights.
constexpr bool is_evaluating_role(std::string_view name) { return is_role(name) && !find_role(name)->trains; }

}  // namespace ltr
