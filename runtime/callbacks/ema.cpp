#include "runtime/callbacks/ema.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/tensor/handle.h"
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

/// An average is kept in f32, or wider if the weight is.
at::Tensor widened(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const bool is_narrow = tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
  return is_narrow ? tensor.detach().to(at::kFloat) : tensor.detach().clone();
}

}  // namespace

Ema::Ema(const Value& call, RootState& root, const std::function<int64_t(double epochs)>& steps_of)
    : root_(root),
      decay_(float_argument(call, "decay", 0.999)),
      every_(std::max<int64_t>(period_of(call, "every", 1, steps_of), 1)),
      start_(period_of(call, "start", 0, steps_of)),
      ramps_(bool_argument(call, "ramp", false)),
      averages_buffers_(text_argument(call, "buffers", "copy") == "average") {}

void Ema::take_in(int64_t global_step, const at::Tensor& is_stopped) {
  if (global_step < start_ || global_step % every_ != 0) return;
  const NoGrad no_grad;
  if (updates_++ == 0) {
    begin();
    return;
  }
  const auto n = double(updates_ - 1);
  const double decay = ramps_ ? std::min(decay_, (1 + n) / (10 + n)) : decay_;
  for (size_t i = 0; i < averages_.size(); i++) {
    const Entry& entry = root_.entries[i];
    const at::Tensor now = root_.own(aten(entry.tensor));
    if (!now.defined()) continue;
    const bool is_averaged = now.is_floating_point() && (entry.trained || averages_buffers_);
    if (is_stopped.defined()) {
      const at::Tensor fresh = now.to(averages_[i].scalar_type());
      averages_[i].copy_(
          at::where(is_stopped, averages_[i], is_averaged ? averages_[i].lerp(fresh, 1 - decay) : fresh));
    } else if (is_averaged) {
      averages_[i].lerp_(now.to(averages_[i].scalar_type()), 1 - decay);
    } else {
      averages_[i].copy_(now);
    }
  }
}

void Ema::put_in_place() {
  if (updates_ == 0) return;
  const NoGrad no_grad;
  for (const Entry& entry : root_.entries) {
    const at::Tensor now = root_.own(aten(entry.tensor));
    kept_.push_back(now.defined() ? now.clone() : now);
  }
  put(averages_);
}

void Ema::put_back() {
  if (!kept_.empty()) put(std::exchange(kept_, {}));
}

void Ema::put(const std::vector<at::Tensor>& values) const {
  const NoGrad no_grad;
  for (size_t i = 0; i < values.size(); i++) {
    if (values[i].defined()) root_.own(aten(root_.entries[i].tensor)).copy_(values[i]);
  }
  if (root_.division) root_.division->all_moved();
}

void Ema::visit(Archive& archive) {
  archive.value("updates", updates_);
  if (updates_ == 0) return;
  if (archive.is_reading()) begin();
  for (size_t i = 0; i < averages_.size(); i++) {
    const Entry& entry = root_.entries[i];
    const at::Tensor weight = aten(entry.tensor);
    const at::ScalarType type = widened(at::empty({0}, weight.options())).scalar_type();
    root_.visit_own(archive, Str(kAveraged) + entry.path, weight, averages_[i],
                    at::empty(weight.sizes(), at::device(at::kMeta).dtype(type)));
  }
}

/// The first averages are the weights.
void Ema::begin() {
  averages_.clear();
  for (const Entry& entry : root_.entries) averages_.push_back(widened(root_.own(aten(entry.tensor))));
}

namespace {

class EmaListener : public Listener {
 public:
  EmaListener(const Value& call, const FitView& view)
      : ema_(call, view.request.root.state(), [&](double epochs) { return int64_t(view.windows.updates(epochs)); }),
        at_(view.at),
        late_(view.late) {}
  uint32_t interests() const override { return kAfterWindow | kEvaluating; }
  void after_window() override { ema_.take_in(at_.global_step, late_.is_stopped()); }
  void evaluating(bool begins) override {
    if (begins)
      ema_.put_in_place();
    else
      ema_.put_back();
  }
  void visit(Archive& archive) override { ema_.visit(archive); }
  bool has_state() const override { return true; }

 private:
  Ema ema_;
  const Position& at_;
  const LateGate& late_;
};

}  // namespace

ListenerPtr make_ema(const Value& call, const FitView& view) { return std::make_unique<EmaListener>(call, view); }

}  // namespace ltr
