// `Timer` of runtime.md 3.3: where the time went, as system values.

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/train/epoch_parts.h"

namespace ltr {

namespace {

class Timer : public Listener {
 public:
  Timer(const Value& every, const FitView& view)
      : every_(std::max<int64_t>(int64_t(every.real), 1)), parts_(EpochParts::of(every, view.windows)), view_(view) {}
  uint32_t interests() const override { return parts_ ? kAfterWindow : kEpochEnd; }
  void epoch_end() override {
    if (view_.at.epoch % every_ == 0) record();
  }
  void after_window() override {
    if (parts_->end_with(view_.at.global_step)) record();
  }

 private:
  void record() const {
    if (view_.request.recorder == nullptr) return;
    const Times& times = view_.times;
    const double data_s = view_.feed.waited_s();
    view_.request.recorder->system(view_.at.global_step,
                                   {{"time/train_s", times.train_s() - times.val_s - times.checkpoint_s - data_s},
                                    {"time/data_s", data_s},
                                    {"time/val_s", times.val_s},
                                    {"time/checkpoint_s", times.checkpoint_s}});
  }

  int64_t every_;  ///< in epochs
  Option<EpochParts> parts_;
  FitView view_;
};

}  // namespace

ListenerPtr make_timer(const Value& call, const FitView& view) {
  const Value* every = argument(call, "every");
  if (every != nullptr && every->kind != Value::Kind::Epochs) {
    throw error_at(call.location, err::wrong_type, "callbacks.Timer.every", every->to_text(), "epochs");
  }
  return std::make_unique<Timer>(every == nullptr ? Value::epochs(1) : *every, view);
}

}  // namespace ltr
