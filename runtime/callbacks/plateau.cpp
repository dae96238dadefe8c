// A `plateau` schedule hears of fresh values like a callback.

#include "runtime/callbacks/make.h"
#include "runtime/callbacks/series.h"

namespace ltr {

namespace {

class PlateauListener : public Listener {
 public:
  PlateauListener(optim::Plateau& plateau, LogTable& logs) : plateau_(plateau), logs_(logs) {}
  uint32_t interests() const override { return kFresh; }
  void fresh(Role role) override {
    if (is_of(plateau_.monitor(), role)) plateau_.take(logs_.newest(plateau_.monitor()));
  }
  void visit(Archive& archive) override { plateau_.visit(archive); }
  bool has_state() const override { return true; }

 private:
  optim::Plateau& plateau_;
  LogTable& logs_;
};

}  // namespace

ListenerPtr make_plateau(const Optimizer& optimizer, optim::Plateau& plateau, const FitView& view) {
  check_series(view.logs, plateau.monitor(), fmt::format("plateau of {}", optimizer.name()), plateau.location());
  if (plateau.wants_direction()) {
    plateau.set_direction(is_max(view.logs, plateau.monitor(), "auto", plateau.location()));
  }
  return std::make_unique<PlateauListener>(plateau, view.logs);
}

}  // namespace ltr
