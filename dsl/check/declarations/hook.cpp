#include "dsl/check/declarations/hook.h"

#include <algorithm>

namespace ltr::check {

namespace {

enum class Per { Once, Batch, Epoch };

constexpr std::string_view kNone = "", kTrain = "train", kVal = "val", kTest = "test";

constexpr Hook kHooks[] = {
#define LTR_HOOK(name, role, per, names) {#name, k##role, Per::per == Per::Epoch, names},
#include "runtime/callbacks/hooks.def"
#undef LTR_HOOK
};

}  // namespace

std::span<const Hook> hooks() { return kHooks; }

const Hook* find_hook(std::string_view name) {
  const auto found = std::find_if(std::begin(kHooks), std::end(kHooks), [&](const Hook& one) { return one.name == name; });
  return found == std::end(kHooks) ? nullptr : found;
}

}  // namespace ltr::check
