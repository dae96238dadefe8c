#include "runtime/callbacks/hook.h"

namespace ltr {

namespace {

constexpr const char* kHookNames[] = {
#define LTR_HOOK(name, role, per, names, doc) #name,
#include "runtime/tables/hooks.def"
#undef LTR_HOOK
};

}  // namespace

const char* hook_name(Hook hook) { return kHookNames[size_t(hook)]; }

Option<Hook> find_hook(const Str& name) {
  for (size_t i = 0; i < kHookCount; i++) {
    if (name == kHookNames[i]) return Hook(i);
  }
  return {};
}

}  // namespace ltr
