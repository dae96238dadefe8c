#include "runtime/train/norm_pass.h"

#include "runtime/tensor/mode.h"
#include "runtime/tensor/norm_means.h"
#include "runtime/train/kept_metrics.h"
#include "runtime/train/session.h"

namespace ltr {

namespace {

/// Steps run op by op: no plan knows of means.
RunRequest forward_only(RunRequest request) {
  request.callbacks.clear();
  request.recorder = nullptr;
  request.run_dir.clear();
  request.flags.bare = true;
  request.flags.backend = Backend::Torch;
  return request;
}

}  // namespace

/// A session in which a step changes nothing but buffers.
class NormPass::Forward final : public Session {
 public:
  using Session::Session;

  void minimize(const Tensor&, Optimizer&, bool, const Location&) override {}
  void backward(const Tensor&, const Location&) override {}
  void log(int, const Tensor&) override {}
  void log(int, double) override {}
  void log(int, Metric&) override {}
  void log_image(int, const Tensor&) override {}
  void log_image(int, Metric&) override {}
  void log_histogram(int, const Tensor&) override {}
  void log_text(int, const Str&) override {}
  void print(const Str&) override {}
  void stop(const Str&) override {}
  void end_epoch(const Str&) override {}
  void save(const Str&) override {}
  const Tensor& into_metric(const char*, const Tensor& input) override { return input; }
  void zero_grad(Optimizer&) override {}
  void step(Optimizer&) override {}
  void clip_norm(Optimizer&, double) override {}
  void clip_value(Optimizer&, double) override {}
  void set_lr(Optimizer&, double) override {}
};

NormPass::NormPass(const RunRequest& request)
    : request_(forward_only(request)),
      step_(*find_step(request_.experiment, Role::Train)),
      stream_(streams_of(request_.data, Role::Train).front()),
      cx_(std::make_unique<Forward>(request_, std::vector<Role>{Role::Train})) {
  cx_->verb = "fit";
  cx_->agreement.begin(true, times_);
}

NormPass::~NormPass() = default;

bool NormPass::run(const Position& at, int64_t epoch) {
  const std::unique_ptr<Feed> feed = make_feed(request_, stream_);
  const int64_t batches = feed->batches(epoch);
  const ModeScope forward(true, false);
  const KeptMetrics kept(request_.model, int64_t(stream_));
  NormMeans means;
  cx_->epoch = epoch;
  cx_->global_step = at.global_step;
  feed->read_ahead_to(epoch + 1);
  feed->start(epoch, 0);
  Batch batch;
  for (int64_t row = 0; row < batches && feed->next(batch); row = feed->number() + 1) {
    const int64_t number = feed->number();
    cx_->batch_index = number;
    cx_->batch_size = batch.size;
    cx_->begin_window(step_, false);
    if (batch.is_stand_in) {
      cx_->stand_in(step_, batch, stream_, uint64_t(number));
    } else {
      const Session::BatchScope shown(*cx_, batch);
      blaming(*feed, epoch, number, [&] { cx_->run_step(step_, batch, stream_, uint64_t(number)); });
    }
    cx_->finish_window();
    cx_->agreement.after_window();
    if (means.buffers().empty()) break;
    if (cx_->agreement.signal() != 0) return false;
  }
  buffers_ = means.buffers();
  return true;
}

}  // namespace ltr
