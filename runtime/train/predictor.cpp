#include "runtime/train/predictor.h"

#include "runtime/tensor/mode.h"
#include "runtime/train/feed.h"

namespace ltr {

namespace {

const StepInfo& predict_step_of(const RunRequest& request) {
  const StepInfo* step = find_step(request.experiment, Role::Predict);
  if (step == nullptr) {
    throw error_at(request.experiment.location, err::settings_contradict,
                   fmt::format("the model {} has no step predict", request.experiment.model));
  }
  return *step;
}

}  // namespace

Predictor::Predictor(RunRequest& request)
    : request_(request), step_(predict_step_of(request)), cx_(request, {Role::Predict}) {
  cx_.listeners.finish();
  cx_.verb = "predict";
}

Predictor::~Predictor() = default;

void Predictor::begin() {
  cx_.run_hook(Hook::run_start);
  cx_.run_hook(Hook::predict_epoch_start);
}

void Predictor::end() {
  cx_.run_hook(Hook::predict_epoch_end);
  cx_.run_hook(Hook::run_end);
}

const Outputs& Predictor::predict(const Batch& batch, size_t stream) {
  const ModeScope evaluation(false, false);
  cx_.batch_index = batches_;
  cx_.batch_size = batch.size;
  const auto& streams = request_.data.streams;
  // What flags give belongs to no stream.
  const bool is_of_stream = stream < streams.size() && streams[stream].role == Role::Predict;
  cx_.stream_name = is_of_stream ? stream_name(request_.data, stream) : role_name(Role::Predict);
  cx_.predicted.clear();
  const Session::BatchScope hooked(cx_, batch);
  cx_.run_hook(Hook::predict_batch_start);
  cx_.run_step(step_, batch, stream, uint64_t(batches_));
  cx_.run_hook(Hook::predict_batch_end);
  check_outputs(batch);
  batches_++;
  return cx_.predicted;
}

// Rows of all outputs stand side by side, one for each record. What one tensor alone lacks, check has said.
void Predictor::check_outputs(const Batch& batch) const {
  if (cx_.predicted.empty()) throw error_at(step_.location, err::settings_contradict, "step predict returned nothing");
  const Output& first = cx_.predicted.front();
  for (const Output& one : cx_.predicted) {
    if (one.value.size(0) == first.value.size(0)) continue;
    throw error_at(step_.location, err::settings_contradict,
                   fmt::format("step predict returned {} rows of {}, but {} of {}", first.value.size(0), first.name,
                               one.value.size(0), one.name));
  }
  for (const int field : step_.fields) {
    if (size_t(field) >= request_.data.batch.size()) continue;  // given by a flag: no record
    const int64_t records = batch.fields[size_t(field)].size(0);
    if (records == first.value.size(0)) return;
    throw error_at(
        step_.location, err::settings_contradict,
        fmt::format("step predict returned {} rows of {} for a batch of {}", first.value.size(0), first.name, records));
  }
}

}  // namespace ltr
