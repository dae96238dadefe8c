// `FreezeUntil` and `Unfreeze` of runtime.md 3.3. What they hold is a function of the epoch alone, so nothing of them is kept.

#include "runtime/callbacks/make.h"
#include "runtime/train/held_weights.h"
#include "runtime/train/session.h"

namespace ltr {

namespace {

class Freezing : public Listener {
 public:
  explicit Freezing(const FitView& view) : held_(view.request), progress_(view.request.progress) {}
  bool is_needed() const { return !held_.is_empty(); }
  // A run that goes on inside an epoch does not meet its start.
  std::vector<Hook> hooks() const override { return {Hook::train_start, Hook::train_epoch_start}; }
  void hear(Hook hook, Context& cx) override {
    const int64_t epoch = cx.epoch;
    if (held_.apply(epoch)) static_cast<Session&>(cx).trains_changed();
    const Str released = hook == Hook::train_epoch_start ? held_.released_in(epoch) : "";
    if (!released.empty()) progress_.notice(fmt::format("epoch {}: {}", epoch + 1, released));
  }

 private:
  HeldWeights held_;
  Progress& progress_;
};

}  // namespace

ListenerPtr make_freezing(const FitView& view) {
  auto freezing = std::make_unique<Freezing>(view);
  return freezing->is_needed() ? std::move(freezing) : nullptr;
}

}  // namespace ltr
