#include "runtime/train/rehearsal.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/step_watch.h"
#include "runtime/train/alike.h"
#include "runtime/train/repeated_step.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

RunRequest unkept(RunRequest request) {
  request.callbacks.clear();
  request.recorder = nullptr;
  request.run_dir.clear();
  request.flags.bare = true;
  // Sizes are tried in many windows more than there are here.
  if (request.travel.bucket_bytes == 0) request.travel.bucket_bytes = GradientTravel().bucket_bytes;
  return request;
}

const StepInfo& train_step_of(const RunRequest& request) {
  const StepInfo* step = find_step(request.experiment, Role::Train);
  if (step != nullptr && !streams_of(request.data, Role::Train).empty()) return *step;
  throw error_at(request.experiment.location, err::settings_contradict,
                 fmt::format("the experiment {} has no train step and stream", request.experiment.name));
}

}  // namespace

/// A session that adds up what one optimizer minimizes.
class Rehearsal::Losses final : public Session {
 public:
  using Session::Session;

  void minimize(const Tensor& loss, Optimizer& optimizer, bool last, const Location& location) override {
    Session::minimize(loss, optimizer, last, location);
    // What is only recorded computes no loss.
    if (&optimizer != of_ || is_stand_in || StepWatch::here() != nullptr) return;
    const at::Tensor part = In(loss)->detach().sum().to(at::kDouble) * share();
    sum_ = sum_.defined() ? sum_ + part : part;
    shares_ += share();
  }

  void begin(const Optimizer* of) {
    of_ = of;
    sum_ = at::Tensor();
    shares_ = 0;
  }
  /// Of all ranks.
  Option<double> mean() const {
    if (of_ == nullptr) return std::nullopt;
    double both[] = {sum_.defined() ? read_number(sum_) : 0, shares_};
    request.ranks.sum(both);
    return both[1] > 0 ? Option<double>(both[0] / both[1]) : std::nullopt;
  }

 private:
  const Optimizer* of_ = nullptr;
  at::Tensor sum_;  // f64[], where the loss is
  double shares_ = 0;
};

Rehearsal::Rehearsal(const RunRequest& request)
    : request_(unkept(request)),
      step_(train_step_of(request_)),
      stream_(streams_of(request_.data, Role::Train).front()),
      cx_(std::make_unique<Losses>(request_, std::vector<Role>{Role::Train})),
      feed_(make_feed(request_, stream_)),
      windows_(request_.trainer, feed_->batch_size() * request_.ranks.world(),
               [this](int64_t epoch) { return feed_->batches(epoch); }),
      window_(std::make_unique<WindowRunner>(request_, *cx_, step_, stream_, *feed_, at_)) {
  for (const auto& optimizer : request_.root.state().optimizers) optimizer->prepare();
  check_repeated_step(request_, step_, windows_);
  share_weights(request_);
  divide_among_ranks(request_);
  cx_->verb = "fit";
  cx_->agreement.begin(true, times_);
  feed_->read_ahead_to(-1);
  feed_->start(0, 0);
}

Rehearsal::~Rehearsal() = default;

Option<double> Rehearsal::run_window(const Optimizer* optimizer) {
  const ModeScope training(true, true);
  cx_->begin(optimizer);
  const auto left = [&] { return feed_->batches(at_.epoch) - at_.batch; };
  while (left() <= 0 || !window_->run(std::min(windows_.rows(at_.epoch, at_.global_step), left()), false)) {
    cx_->epoch = ++at_.epoch;
    at_.batch = 0;
    feed_->start(at_.epoch, 0);
  }
  cx_->global_step = ++at_.global_step;
  const Option<double> mean = cx_->mean();
  cx_->agreement.after_window();
  return mean;
}

int64_t Rehearsal::batch_bytes() const {
  int64_t bytes = 0;
  for (const Tensor& field : window_->batch().fields) {
    // The stream may lack a field of the batch.
    if (field.defined()) bytes += int64_t(In(field)->nbytes());
  }
  return bytes;
}

int Rehearsal::signal() const { return cx_->agreement.signal(); }

}  // namespace ltr
