// `Throughput` of runtime.md 3.3: samples or tokens a second, as a system value.

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"

namespace ltr {

namespace {

bool is_of_tokens(const FieldInfo& field) { return field.dtype == DType::I64 && field.dims.size() == 2; }

class Throughput : public Listener {
 public:
  Throughput(const Value& call, const FitView& view)
      : view_(view), counts_tokens_(text_argument(call, "unit", "samples") == "tokens") {
    const Value* window = argument(call, "window");
    if (window != nullptr && window->kind != Value::Kind::Steps && window->kind != Value::Kind::Int)
      throw error_at(call.location, err::wrong_type, "callbacks.Throughput.window", window->to_text(), "steps");
    if (counts_tokens_ && !std::ranges::any_of(view.request.data.batch, is_of_tokens))
      throw error_at(
          call.location, err::settings_contradict,
          "Throughput of tokens: they are the elements of the first field i64[B, T] of a batch, and there is none");
    const Value* flops = argument(call, "flops");
    const Value* peak = argument(call, "peak");
    flops_ = flops != nullptr && flops->kind != Value::Kind::None ? flops->as_float() : view.request.flops;
    peak_ = peak != nullptr && peak->kind != Value::Kind::None ? peak->as_float() : 0;
    if (window != nullptr) window_ = int64_t(window->kind == Value::Kind::Int ? double(window->whole) : window->real);
  }
  uint32_t interests() const override { return kRecorded; }

  void recorded(Named&) override {
    const int64_t step = view_.at.global_step;
    // The first recorded step of this process begins the first window.
    if (begin_step_ >= 0 && step - begin_step_ < window_) return;
    const int64_t items = counted();
    const double seconds = seconds_since(begin_);
    if (begin_step_ >= 0 && seconds > 0 && view_.request.recorder != nullptr) {
      const char* name = counts_tokens_ ? "throughput/tokens_per_s" : "throughput/samples_per_s";
      std::vector<std::pair<Str, double>> values = {{name, double(items - items_) / seconds}};
      if (flops_ > 0) {
        const double speed = flops_ * double(view_.at.samples - samples_) / seconds;
        values.emplace_back("throughput/tflops", speed / 1e12);
        if (peak_ > 0) values.emplace_back("throughput/mfu", speed / peak_);
      }
      view_.request.recorder->system(step, values);
    }
    begin_step_ = step;
    items_ = items;
    samples_ = view_.at.samples;
    begin_ = Times::Clock::now();
  }

 private:
  /// Samples so far, or tokens: elements of the first i64[B, T] field, at the size of the newest batch.
  int64_t counted() const {
    if (!counts_tokens_) return view_.at.samples;
    for (const Tensor& field : view_.batch.fields) {
      if (field.defined() && field.dim() == 2 && field.dtype() == DType::I64) return view_.at.samples * field.size(1);
    }
    return view_.at.samples;
  }

  FitView view_;
  bool counts_tokens_;
  int64_t window_ = 100;  ///< in steps
  int64_t begin_step_ = -1;
  int64_t items_ = 0, samples_ = 0;
  double flops_ = -1;  ///< of a train step, for each sample
  double peak_ = 0;    ///< FLOP/s of all devices together; 0: not known
  Times::Clock::time_point begin_;
};

}  // namespace

ListenerPtr make_throughput(const Value& call, const FitView& view) { return std::make_unique<Throughput>(call, view); }

}  // namespace ltr
