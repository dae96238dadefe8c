// `FreezeUntil` and `Unfreeze` of runtime.md 3.3. What they hold is a function of the epoch alone, so nothing of them is kept.

#include "runtime/callbacks/make.h"
#include "runtime/train/held_weights.h"
#include "runtime/train/session.h"

namespace ltr {

namespace {

class Freezing : public Listener {
 public:
  explicit Freezing(const FitView& view) : held_(view.request), progress_(view.request.progress) {}
  /// Of what training ends too early for; where only time ends it, nobody knows.
  void warn_of_held(const Windows& windows) const {
    const auto planned = double(windows.planned());
    for (const auto& [what, epoch] : held_.ends()) {
      if (planned >= 0 && epoch > 0 && windows.updates(double(epoch)) >= planned)
        progress_.warning(fmt::format("\"{}\" is held until epoch {}, and training ends before it", what, epoch));
    }
  }
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
  if (!freezing->is_needed()) return nullptr;
  // A dev run is over before it begins.
  if (view.request.flags.fast_dev_run == 0) freezing->warn_of_held(view.windows);
  return freezing;
}

}  // namespace ltr
