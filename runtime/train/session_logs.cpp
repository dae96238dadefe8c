#include <ATen/ATen.h>

#include "runtime/plan/recorder.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/image.h"
#include "runtime/train/session.h"

// What steps and hooks log.

namespace ltr {

using plan::is_rehearsed, plan::Recorder;

namespace {

std::vector<plan::StateValue> states_of(Recorder& recorder, Metric& metric) {
  std::vector<plan::StateValue> states;
  for (const Metric::State& one : metric.states()) states.push_back({one.tensor, recorder.id_of(*one.tensor)});
  return states;
}

}  // namespace

void Session::log(int slot, const Tensor& value) {
  if (is_rehearsed([&](Recorder& recorder) { return plan::TensorLogged{slot, recorder.id_of(value)}; })) return;
  if (keeps_logs()) logs.add(slot, size_t(stream), In(value), weight_);
}

void Session::log(int slot, double value) {
  if (is_rehearsed([&](Recorder&) { return plan::NumberLogged{slot, value}; })) return;
  if (keeps_logs()) logs.add(slot, size_t(stream), value, weight_);
}

void Session::log(int slot, Metric& metric) {
  if (is_rehearsed(
          [&](Recorder& recorder) { return plan::MetricLogged{slot, &metric, false, states_of(recorder, metric)}; }))
    return;
  if (!is_repeating_ && !is_stand_in) logs.add(slot, size_t(stream), metric);
}

void Session::log_image(int slot, Metric& metric) {
  if (is_rehearsed(
          [&](Recorder& recorder) { return plan::MetricLogged{slot, &metric, true, states_of(recorder, metric)}; }))
    return;
  log(slot, metric);
}

Str Session::tag_of(int slot) const {
  const LogInfo& info = request.program.logs[size_t(slot)];
  return fmt::format("{}/{}", role_name(info.role), info.name);
}

bool Session::shows(int slot) {
  if (request.recorder == nullptr || request.flags.bare || is_silent || is_stand_in) return false;
  // A round logs it for every batch, but a step has one: the first.
  const auto [place, is_first] = shown_.try_emplace(slot, global_step);
  if (!is_first && place->second == global_step) return false;
  place->second = global_step;
  return true;
}

void Session::log_image(int slot, const Tensor& image) {
  if (is_rehearsed([&](Recorder& recorder) { return plan::ImageLogged{slot, recorder.id_of(image)}; })) return;
  if (!shows(slot)) return;
  guarded([&] { request.recorder->image(global_step, tag_of(slot), image_of(In(image))); });
}

void Session::log_histogram(int slot, const Tensor& values) {
  if (is_rehearsed([&](Recorder& recorder) { return plan::HistogramLogged{slot, recorder.id_of(values)}; })) return;
  if (!shows(slot)) return;
  guarded([&] { request.recorder->histogram(global_step, tag_of(slot), histogram_of(In(values))); });
}

void Session::log_text(int slot, const Str& text) {
  if (is_rehearsed([&](Recorder&) { return plan::TextLogged{slot, text}; })) return;
  if (shows(slot)) request.recorder->text(global_step, tag_of(slot), text);
}

void Session::record_images() {
  for (auto& [tag, value] : logs.take_images()) {
    if (request.recorder == nullptr || request.flags.bare) continue;
    guarded([&] {
      const at::Tensor matrix = In(value);
      request.recorder->image(global_step, tag, heat_map(matrix));
      if (matrix.dim() == 2) request.recorder->matrix(global_step, tag, rows_of(matrix));
    });
  }
}

}  // namespace ltr
