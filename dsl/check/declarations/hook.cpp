#include "dsl/check/declarations/hook.h"

#include <algorithm>

namespace ltr::check {

namespace {

enum class Per { Once, Batch, Epoch };

constexpr std::string_view kNone;
#define LTR_ROLE(Name, name, ...) [[maybe_unused]] constexpr std::string_view k##Name = #name;
#include "runtime/tables/roles.def"
#undef LTR_ROLE

constexpr Hook kHooks[] = {
#define LTR_HOOK(name, role, per, names, doc) {#name, k##role, Per::per == Per::Epoch, names, doc},
#include "runtime/tables/hooks.def"
#undef LTR_HOOK
};

}  // namespace

bool Hook::brings(std::string_view wanted) const {
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(' ', begin), names.size());
    if (names.substr(begin, end - begin) == wanted) return true;
    begin = end + 1;
  }
  return false;
}

std::span<const Hook> hooks() { return kHooks; }

const Hook* find_hook(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kHooks), std::end(kHooks), [&](const Hook& one) { return one.name == name; });
  return found == std::end(kHooks) ? nullptr : found;
}

}  // namespace ltr::check
