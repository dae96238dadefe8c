#pragma once

#include "runtime/callbacks/listener.h"

namespace ltr {

/// A callback that the program itself declares. Its hooks run without gradients, in evaluation mode, with random numbers
/// keyed by (callback, hook, how often it ran), which a resumed run goes on counting.
class ProgramCallback : public Listener {
 public:
  /// `number` is its place among the program's callbacks. R2006 for a hook that does not exist.
  ProgramCallback(uint64_t number, const CallbackInfo& info, std::unique_ptr<Callback> callback, uint64_t seed);

  std::vector<Hook> hooks() const override;
  void hear(Hook hook, Context& cx) override;
  void visit(Archive& archive) override;
  bool has_state() const override { return !callback_->states().empty(); }

 private:
  uint64_t number_;
  std::unique_ptr<Callback> callback_;
  uint64_t seed_;
  struct Own {
    Hook hook;
    int index;  ///< in CallbackInfo::hooks
    uint64_t count = 0;
  };
  std::vector<Own> hooks_;
};

}  // namespace ltr
