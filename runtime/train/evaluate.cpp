#include <algorithm>

#include "runtime/tensor/mode.h"
#include "runtime/train/alike.h"
#include "runtime/train/fit.h"
#include "runtime/train/predictor.h"

namespace ltr {

namespace {

struct RoleHooks {
  Hook epoch_start, epoch_end, batch_start, batch_end;
};

RoleHooks hooks_of(Role role) {
  switch (role) {
    case Role::Val: return {Hook::val_epoch_start, Hook::val_epoch_end, Hook::val_batch_start, Hook::val_batch_end};
    case Role::Test:
      return {Hook::test_epoch_start, Hook::test_epoch_end, Hook::test_batch_start, Hook::test_batch_end};
    case Role::Train:
    case Role::Predict: break;
  }
  return {Hook::predict_epoch_start, Hook::predict_epoch_end, Hook::predict_batch_start, Hook::predict_batch_end};
}

}  // namespace

void pass(Session& cx, const StepInfo& step, const std::vector<size_t>& streams, int64_t batches,
          std::vector<int64_t>* samples) {
  const RoleHooks hooks = hooks_of(step.role);
  const ModeScope evaluation(false, false);
  const BatchWeight weight(cx.request);
  Progress& progress = cx.request.progress;
  const int64_t batch_index_before = cx.batch_index;
  const int64_t stream_before = cx.stream;
  int64_t done = 0;
  cx.agreement.begin_round(cx.request.root.state().divides_weights());
  for (const size_t stream : streams) {
    const std::unique_ptr<Feed> feed = make_feed(cx.request, stream, batches);
    int64_t seen = 0;
    Batch batch;
    feed->start(0, 0);
    while (next_of(cx, *feed, batch)) {
      const int64_t number = feed->number();
      if (batches >= 0 && number >= batches) break;
      cx.batch_index = number;
      cx.stream = int64_t(stream);
      cx.stream_name = stream_name(cx.request.data, stream);
      if (step.role == Role::Predict) {
        const Tensors& given = cx.request.params_of(step).tensors;
        batch.fields.resize(cx.request.data.batch.size());
        batch.fields.insert(batch.fields.end(), given.begin(), given.end());
      }
      if (batch.is_stand_in) {
        cx.stand_in(step, batch, stream, uint64_t(number));
      } else {
        cx.batch_size = batch.size;
        cx.set_row(1, true, weight.of(batch));
        const Session::BatchScope hooked(cx, batch);
        cx.run_hook(hooks.batch_start);
        blaming(*feed, 0, number, [&] { cx.run_step(step, batch, stream, uint64_t(number)); });
        cx.run_hook(hooks.batch_end);
        seen += batch.size;
        progress.round_batch(++done, batch.size);
      }
      if (cx.agreement.calls_off()) break;
    }
    if (samples != nullptr) samples->push_back(seen);
    if (cx.agreement.is_called_off()) break;
  }
  cx.batch_index = batch_index_before;
  cx.stream = stream_before;
}

EvalReport evaluate(RunRequest& request, Role role) {
  const Times::Clock::time_point begin = Times::Clock::now();
  const StepInfo* step = find_step(request.experiment, role);
  const std::vector<size_t> streams = streams_of(request.data, role);
  if (step == nullptr || streams.empty()) {
    throw error_at(
        request.experiment.location, err::settings_contradict,
        fmt::format("the experiment {} has no {} step and stream", request.experiment.name, role_name(role)));
  }
  check_alike(request);
  share_weights(request);
  Session cx(request, {role});
  cx.listeners.finish();
  EvalReport report;
  cx.verb = role == Role::Val ? "validate" : role_name(role);
  cx.take_left_out(take_left_out());  // those that were met when the data was opened
  cx.run_hook(Hook::run_start);
  request.progress.begin(role_name(role), -1, -1);
  request.progress.round_begin(role, -1);
  cx.run_hook(hooks_of(role).epoch_start);
  std::vector<int64_t> samples;
  pass(cx, *step, streams, request.flags.fast_dev_run > 0 ? request.flags.fast_dev_run : -1, &samples);
  cx.agreement.meet();
  report.signal = cx.agreement.signal();
  Named values;
  cx.finish_epoch(role, hooks_of(role).epoch_end, values);
  cx.record_images();
  request.progress.round_end(role, cx.epoch, cx.global_step, values);
  // Doubles are exact for what can be counted.
  std::vector<double> all_samples(samples.begin(), samples.end());
  request.ranks.sum(all_samples);
  for (size_t i = 0; i < samples.size(); i++) {
    Str prefix = stream_name(request.data, streams[i]) + "/";
    std::replace(prefix.begin(), prefix.end(), '.', '/');
    EvalReport::Stream& row = report.streams.emplace_back();
    row.name = request.data.streams[streams[i]].name;
    row.samples = int64_t(all_samples[i]);
    std::erase_if(values, [&](const auto& one) {
      if (!one.first.starts_with(prefix)) return false;
      row.values.emplace_back(one.first.substr(prefix.size()), one.second);
      return true;
    });
  }
  // What hooks log of several streams belongs to the role.
  for (const auto& [name, value] : values)
    report.values.emplace_back(name.substr(Str(role_name(role)).size() + 1), value);
  cx.tell_metric_inputs(role);
  cx.tell_left_out();
  cx.run_hook(Hook::run_end);
  request.progress.end();
  report.total_s = seconds_since(begin);
  return report;
}

PredictReport predict(RunRequest& request, const std::function<bool(Batch&, size_t& stream)>& next,
                      const std::function<void(const Outputs& outputs)>& sink) {
  const Times::Clock::time_point begin = Times::Clock::now();
  check_alike(request);
  share_weights(request);
  Predictor predictor(request);
  PredictReport report;
  request.progress.begin("predict", -1, -1);
  request.progress.round_begin(Role::Predict, -1);
  predictor.begin();
  Batch batch;
  size_t stream = 0;
  while (next(batch, stream)) {
    const bool is_here = batch.size != kNoBatch;
    const Outputs own = is_here ? predictor.predict(batch, stream) : Outputs();
    for (const Outputs& outputs : request.ranks.gather(own)) sink(outputs);
    if (!is_here) continue;
    report.batches++;
    report.samples += batch.size;
    request.progress.round_batch(report.batches, batch.size);
  }
  predictor.end();
  double counts[] = {double(report.batches), double(report.samples)};
  request.ranks.sum(counts);
  report.batches = int64_t(counts[0]);
  report.samples = int64_t(counts[1]);
  request.progress.round_end(Role::Predict, 0, 0, {});
  request.progress.end();
  report.total_s = seconds_since(begin);
  return report;
}

}  // namespace ltr
