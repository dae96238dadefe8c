#include "runtime/callbacks/ema.h"

#include <algorithm>
#include <cmath>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/train/epoch_parts.h"
#include "runtime/train/late_gate.h"

namespace ltr {

namespace {

int64_t period_of(const Value& call, const char* name, int64_t initial,
                  const std::function<int64_t(double epochs)>& steps_of) {
  const Value* value = argument(call, name);
  if (value == nullptr) return initial;
  if (value->kind == Value::Kind::Epochs) return steps_of(value->real);
  if (value->kind == Value::Kind::Seconds) {
    throw error_at(call.location, err::wrong_type, Str("callbacks.Ema.") + name, value->to_text(), "steps or epochs");
  }
  return value->kind == Value::Kind::Int ? value->whole : int64_t(value->real);
}

}  // namespace

Ema::Ema(const Value& call, RootState& root, const std::function<int64_t(double epochs)>& steps_of)
    : averages_(root),
      decay_(float_argument(call, "decay", 0.999)),
      every_(std::max<int64_t>(period_of(call, "every", 1, steps_of), 1)),
      start_(period_of(call, "start", 0, steps_of)),
      ramps_(bool_argument(call, "ramp", false)),
      averages_buffers_(text_argument(call, "buffers", "average") == "average") {}

void Ema::take_in(int64_t global_step, const at::Tensor& is_stopped) {
  if (global_step < start_ || global_step % every_ != 0) return;
  const auto n = double(averages_.updates());
  const double decay = ramps_ ? std::min(decay_, (1 + n) / (10 + n)) : decay_;
  averages_.take_in(1 - decay, averages_buffers_, is_stopped);
}

namespace {

class EmaListener : public Listener {
 public:
  EmaListener(const Value& call, const FitView& view)
      : ema_(call, view.request.root.state(), EpochParts::updates_of(view.windows)), at_(view.at), late_(view.late) {}
  uint32_t interests() const override { return kAfterWindow | kEvaluating; }
  void after_window() override { ema_.take_in(at_.global_step, late_.is_stopped()); }
  void evaluating(bool begins) override {
    if (begins)
      ema_.averages().put_in_place();
    else
      ema_.averages().put_back();
  }
  void visit(Archive& archive) override { ema_.averages().visit(archive); }
  bool has_state() const override { return true; }

 private:
  Ema ema_;
  const Position& at_;
  const LateGate& late_;
};

}  // namespace

ListenerPtr make_ema(const Value& call, const FitView& view) { return std::make_unique<EmaListener>(call, view); }

}  // namespace ltr
