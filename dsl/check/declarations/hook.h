#pragma once

// The hooks of callbacks, a closed set: the rows of `runtime/tables/hooks.def`.

#include <span>
#include <string_view>

namespace ltr::check {

struct Hook {
  std::string_view name;
  std::string_view role;     ///< whose names a `log` in it gets, "train"; "" where `log` has no meaning
  bool is_of_epoch = false;  ///< it runs once an epoch or round, in none of its streams
  std::string_view names;    ///< of `kPlaceNames` those that it brings and not every hook has, separated by blanks
  std::string_view doc;      ///< when it runs

  bool brings(std::string_view wanted) const;
};

/// All of them, in the order in which a run meets them.
std::span<const Hook> hooks();
/// The hook of that name, or nullptr.
const Hook* find_hook(std::string_view name);

}  // namespace ltr::check
