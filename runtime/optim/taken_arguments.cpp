#include "runtime/optim/taken_arguments.h"

#include <algorithm>

#include "runtime/api/error.h"
#include "runtime/api/suggest.h"

namespace ltr::optim {

const Value* TakenArguments::find_any(const char* name) const {
  if (std::find(used_.begin(), used_.end(), name) == used_.end()) used_.emplace_back(name);
  return call_.find(name);
}

const Value* TakenArguments::find(const char* name) const {
  const Value* value = find_any(name);
  return value != nullptr && !value->is_none() ? value : nullptr;
}

void TakenArguments::check_all_used(bool takes_unnamed) const {
  for (const Argument& argument : call_.items) {
    const bool is_unnamed = argument.name[0] == '\0';
    if (is_unnamed ? takes_unnamed : std::find(used_.begin(), used_.end(), argument.name) != used_.end()) continue;
    const Str what = is_unnamed ? argument.value.to_text() + " without a name" : Str(argument.name);
    const Str near = nearest(argument.name, used_);
    throw with_help(error_at(location_, err::unknown_setting, fmt::format("{}.{}", call_.text, what)),
                    fmt::format("{}{} takes {}", near.empty() ? "" : fmt::format("did you mean {}? ", near), call_.text,
                                fmt::join(used_, ", ")));
  }
}

}  // namespace ltr::optim
