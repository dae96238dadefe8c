// Learning rates: `lr/OPT` of every optimizer is always recorded; `LrMonitor` adds `lr/OPT/GROUP` of each group.

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

class LrMonitor : public Listener {
 public:
  explicit LrMonitor(const FitView& view) : view_(view) {}
  uint32_t interests() const override { return kRecorded; }
  void columns(std::vector<Str>& names) const override {
    Named values;
    add(values);
    for (auto& [name, value] : values) names.push_back(std::move(name));
  }
  void recorded(Named& row) override { add(row); }

 private:
  void add(Named& values) const {
    // The rate that made this step: schedules read the number of steps before it.
    const int64_t t = std::max<int64_t>(view_.at.global_step - 1, 0);
    for (const auto& optimizer : view_.request.root.state().optimizers) {
      const auto groups = optimizer->group_rates(t);
      if (groups.size() < 2) continue;
      for (const auto& [pattern, rate] : groups)
        values.emplace_back(fmt::format("lr/{}/{}", optimizer->name(), pattern), rate);
    }
  }
  FitView view_;
};

}  // namespace

ListenerPtr make_lr_monitor(const Value& call, const FitView& view) {
  if (bool_argument(call, "momentum", false) || bool_argument(call, "weight_decay", false)) {
    throw error_at(call.location, err::settings_contradict,
                   "LrMonitor(momentum, weight_decay) is not in this version; it records the rates");
  }
  return std::make_unique<LrMonitor>(view);
}

}  // namespace ltr
