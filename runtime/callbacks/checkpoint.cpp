// `Checkpoint` of runtime.md 3.3: the keeper decides, the saver writes.

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/callbacks/series.h"
#include "runtime/train/saver.h"

namespace ltr {

namespace {

class CheckpointListener : public Listener {
 public:
  CheckpointListener(CheckpointKeeper keeper, const FitView& view) : keeper_(std::move(keeper)), view_(view) {
    view_.saver.add_keeper(&keeper_);
  }
  uint32_t interests() const override { return kFresh | kBorder; }

  void fresh(Role role) override {
    if (is_of(keeper_.monitor(), role)) keeper_.note_fresh(view_.logs.newest(keeper_.monitor()));
  }

  void border(bool epoch_ended) override {
    const int64_t step = view_.at.global_step;
    if (!keeper_.is_due(step, view_.at.epoch, view_.times.train_s(), epoch_ended)) return;
    if (keeper_.is_nan() && !std::exchange(has_warned_, true)) {
      view_.request.progress.warning(
          fmt::format("{} is nan at step {}: such a checkpoint is never the best", keeper_.monitor(), step));
    }
    if (keeper_.may_leave_out() && costs_too_much()) return keeper_.left_out();
    // What becomes of the one before decides what this one replaces.
    view_.saver.finish();
    const auto newest = [&](const Str& series) { return view_.logs.newest(series); };
    const Str name = keeper_.own_name(keeper_.name(step, view_.cx.epoch, newest), step, view_.saver.keepers());
    const CheckpointKeeper before = keeper_;
    keeper_.saved(name, step);
    view_.saver.want({name, keeper_.weights_only(), keeper_.is_async(), [this, before] { keeper_.missed(before); }});
  }

  void visit(Archive& archive) override { keeper_.visit(archive); }
  bool has_state() const override { return true; }

 private:
  /// Epochs may be shorter than it takes to write one. Ranks agree on each.
  bool costs_too_much() const {
    constexpr double kShare = 0.05;  // and the one that comes is not in it yet
    const Times& times = view_.times;
    return view_.request.ranks.world() == 1 && times.checkpoint_s > kShare * (times.own_s() - times.before_s);
  }

  bool has_warned_ = false;
  CheckpointKeeper keeper_;
  FitView view_;
};

}  // namespace

ListenerPtr make_checkpoint(const Value& call, const FitView& view) {
  const RunRequest& request = view.request;
  if (request.flags.bare || request.flags.fast_dev_run > 0 || request.run_dir.empty()) return nullptr;
  const Str monitor = text_argument(call, "monitor", "");
  if (!monitor.empty()) check_series(view.logs, monitor, "Checkpoint", call.location);
  const bool larger =
      !monitor.empty() && is_max(view.logs, monitor, text_argument(call, "mode", "auto"), call.location);
  CheckpointKeeper keeper(call, larger, EpochParts::updates_of(view.windows));
  keeper.name(0, 0, [&](const Str& series) {
    check_series(view.logs, series, "Checkpoint", call.location, "filename");
    return 0.0;
  });
  return std::make_unique<CheckpointListener>(std::move(keeper), view);
}

}  // namespace ltr
