// Learning rates: `lr/OPT` of every optimizer is always recorded; `LrMonitor` adds `lr/OPT/GROUP` of each group, and what it
// is asked for beside: `momentum/OPT` and `weight_decay/OPT`, of each group where there are several.

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

class LrMonitor : public Listener {
 public:
  LrMonitor(const Value& call, const FitView& view)
      : view_(view),
        has_momentum_(bool_argument(call, "momentum", false)),
        has_weight_decay_(bool_argument(call, "weight_decay", false)) {}
  uint32_t interests() const override { return kRecorded; }
  void columns(std::vector<Str>& names) const override {
    Named values;
    add(values);
    for (auto& [name, value] : values) names.push_back(std::move(name));
  }
  void recorded(Named& row) override { add(row); }

 private:
  void add(Named& values) const {
    // The rates that made this step: schedules read the number of steps before it.
    const int64_t t = std::max<int64_t>(view_.at.global_step - 1, 0);
    for (const auto& optimizer : view_.request.root.state().optimizers) {
      const auto groups = optimizer->group_numbers(t);
      for (const auto& group : groups) {
        const bool is_alone = groups.size() < 2;
        const Str name = is_alone ? optimizer->name() : fmt::format("{}/{}", optimizer->name(), group.pattern);
        if (!is_alone) values.emplace_back("lr/" + name, group.noted_rate);
        if (has_momentum_ && group.momentum) values.emplace_back("momentum/" + name, *group.momentum);
        if (has_weight_decay_) values.emplace_back("weight_decay/" + name, group.weight_decay);
      }
    }
  }
  FitView view_;
  bool has_momentum_;
  bool has_weight_decay_;
};

}  // namespace

ListenerPtr make_lr_monitor(const Value& call, const FitView& view) { return std::make_unique<LrMonitor>(call, view); }

}  // namespace ltr
