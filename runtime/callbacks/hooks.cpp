#include "runtime/callbacks/hooks.h"

#include "runtime/api/error.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

constexpr const char* kHookNames[] = {
#define LTR_HOOK(name, role) #name,
#include "runtime/callbacks/hooks.def"
#undef LTR_HOOK
};

}  // namespace

void Hooks::add(UserCallback callback) {
  const size_t place = callbacks_.size();
  for (size_t index = 0; index < callback.info->hooks.size(); index++) {
    const Str name = callback.info->hooks[index];
    bool found = false;
    for (size_t hook = 0; hook < kHookCount; hook++) {
      if (name != kHookNames[hook]) continue;
      listeners_[hook].push_back({place, int(index), 0});
      found = true;
    }
    if (!found) {
      throw error_at(callback.info->location, err::settings_contradict,
                     fmt::format("the callback {} wants a hook {}, which does not exist", callback.info->name, name));
    }
  }
  callbacks_.push_back(std::move(callback));
}

void Hooks::run(Hook hook, Context& cx, uint64_t seed) {
  std::vector<Listener>& listeners = listeners_[size_t(hook)];
  if (listeners.empty()) return;
  const ModeScope mode(false, false);
  for (Listener& listener : listeners) {
    seed_random(random_key(seed, "hook", {listener.callback, uint64_t(hook), listener.count++}));
    callbacks_[listener.callback].callback->run(listener.index, cx);
  }
}

}  // namespace ltr
