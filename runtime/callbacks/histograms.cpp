// `Histograms` of runtime.md 3.3: how weights and gradients are distributed.

#include <algorithm>
#include <map>

#include <ATen/ATen.h>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/tables/weight_group.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/epoch_parts.h"
#include "runtime/train/gathered.h"
#include "runtime/train/image.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

class Histograms : public Listener {
 public:
  Histograms(const Value& call, const FitView& view)
      : view_(view),
        what_(text_argument(call, "what", "*")),
        has_gradients_(bool_argument(call, "grads", true)),
        bins_(int_argument(call, "bins", kHistogramBins)) {
    bool has_some = false;
    for (const auto& optimizer : view_.request.root.state().optimizers) {
      turns_[optimizer->name()] = -1;
      has_some = has_some || std::ranges::any_of(optimizer->weights(),
                                                 [&](const Weight& weight) { return is_meant(*optimizer, weight); });
    }
    if (!has_some)
      throw error_at(call.location, err::settings_contradict,
                     fmt::format("Histograms: no weight lies at \"{}\"", what_));
    const Value* every = argument(call, "every");
    in_steps_ = every != nullptr && every->kind == Value::Kind::Steps;
    if (every == nullptr) return;
    if (!in_steps_ && every->kind != Value::Kind::Epochs)
      throw error_at(call.location, err::wrong_type, "callbacks.Histograms.every", every->to_text(), "steps or epochs");
    every_ = std::max<int64_t>(int64_t(every->real), 1);
    parts_ = EpochParts::of(*every, view_.windows);
  }

  uint32_t interests() const override { return kBeforeClip; }
  bool has_state() const override { return true; }
  void visit(Archive& archive) override {
    for (auto& [optimizer, turn] : turns_) {
      if (archive.has("turn." + optimizer)) archive.value("turn." + optimizer, turn);
    }
  }

  // Weights and gradients of one moment: those of the window, before it moves them.
  void before_clip(const Optimizer& optimizer, Named&) override {
    const int64_t turn =
        parts_ ? parts_->over(view_.at.global_step) : (in_steps_ ? view_.at.global_step : view_.cx.epoch) / every_;
    int64_t& newest = turns_[optimizer.name()];
    if (turn == newest) return;
    newest = turn;
    if (!is_read()) return;
    const std::vector<Weight>& weights = optimizer.weights();
    const std::vector<at::Tensor> gradients =
        has_gradients_ ? optimizer.whole_gradients() : std::vector<at::Tensor>(weights.size());
    for (size_t i = 0; i < weights.size(); i++) {
      // Ranks that hold parts give the whole together, so each asks for the same ones.
      if (!is_meant(optimizer, weights[i])) continue;
      const Str path = optimizer.path_of(weights[i]);
      record("weights/" + path, whole_value(aten(weights[i].tensor)));
      if (gradients[i].defined()) record("gradients/" + path, gradients[i]);
    }
  }

 private:
  bool is_meant(const Optimizer& optimizer, const Weight& weight) const {
    return lies_at(what_, size_t(In(weight.tensor)->dim()), optimizer.places_of(weight));
  }
  /// Whether some logger takes histograms. The first rank has the loggers, and all gather together or none does.
  bool is_read() {
    const loggers::Recorder* recorder = view_.request.recorder;
    if (!is_read_)
      is_read_ = view_.request.ranks.of_first(recorder != nullptr && recorder->takes_images() ? "yes" : "no") == "yes";
    return *is_read_;
  }
  void record(const Str& tag, const at::Tensor& values) const {
    if (view_.request.recorder == nullptr) return;
    view_.request.recorder->histogram(view_.at.global_step + 1, tag, histogram_of(values, bins_));
  }

  FitView view_;
  Str what_;
  bool has_gradients_;
  int64_t bins_;
  bool in_steps_ = false;
  int64_t every_ = 1;
  Option<EpochParts> parts_;
  std::map<Str, int64_t> turns_;  ///< of each optimizer, the newest that was recorded
  Option<bool> is_read_;
};

}  // namespace

ListenerPtr make_histograms(const Value& call, const FitView& view) { return std::make_unique<Histograms>(call, view); }

}  // namespace ltr
