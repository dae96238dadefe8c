#pragma once

// The callbacks of the program itself, by hook.

#include <array>
#include <memory>
#include <vector>

#include "ltr/program.h"

namespace ltr {

enum class Hook : uint8_t {
#define LTR_HOOK(name, role) name,
#include "runtime/callbacks/hooks.def"
#undef LTR_HOOK
};
inline constexpr size_t kHookCount = 0
#define LTR_HOOK(name, role) +1
#include "runtime/callbacks/hooks.def"
#undef LTR_HOOK
    ;

/// One of the program's callbacks, made for this run. `key` is `Samples#0`: instances of one name are counted.
struct UserCallback {
  Str key;
  const CallbackInfo* info;
  std::unique_ptr<Callback> callback;
};

/// Runs the program's callbacks. A hook that nobody has costs one look at an empty list.
class Hooks {
 public:
  /// R2006 for a hook that does not exist.
  void add(UserCallback callback);
  /// Without gradients, in evaluation mode, with random numbers of their own.
  void run(Hook hook, Context& cx, uint64_t seed);
  /// Whether any callback listens.
  bool has(Hook hook) const { return !listeners_[size_t(hook)].empty(); }
  std::vector<UserCallback>& callbacks() { return callbacks_; }
  const std::vector<UserCallback>& callbacks() const { return callbacks_; }

 private:
  struct Listener {
    size_t callback;
    int index;
    uint64_t count;
  };
  std::vector<UserCallback> callbacks_;
  std::array<std::vector<Listener>, kHookCount> listeners_;
};

}  // namespace ltr
