#include "runtime/callbacks/round_records.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <ATen/ATen.h>

#include "doors/file.h"
#include "runtime/callbacks/arguments.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/train/root_state.h"
#include "runtime/train/session.h"

namespace ltr {

RoundRecords::RoundRecords(const Str& name, const Value& call, const FitView& view, int64_t n, Predicts predicts)
    : view_(view), stream_name_(text_argument(call, "stream", "val")), most_(n) {
  const RunRequest& request = view_.request;
  const std::vector<size_t> streams = streams_of(request.data, Role::Val);
  const auto found = std::ranges::find_if(streams, [&](size_t stream) {
    // `val` is the first of several, too.
    return stream_name_ == "val" || stream_name(request.data, stream) == stream_name_;
  });
  if (found == streams.end()) {
    Str known;
    for (const size_t stream : streams) known += (known.empty() ? "" : ", ") + stream_name(request.data, stream);
    throw with_help(error_at(call.location, err::settings_contradict,
                             fmt::format("callbacks.{}.stream: no round goes over {}", name, stream_name_)),
                    known.empty() ? "the data has no val stream" : "rounds go over " + known);
  }
  stream_ = *found;
  stream_name_ = stream_name(request.data, stream_);

  step_ = find_step(request.experiment, Role::Predict);
  Str lacking;
  if (step_ == nullptr) {
    lacking = fmt::format("the model {} has no step predict", request.experiment.model);
  } else if (streams_of(request.data, Role::Predict).empty()) {
    lacking = "the data has no predict stream, so step predict takes its inputs from the command line";
  } else if (request.root.state().divides_weights()) {
    lacking = "the ranks divide the weights, and one alone cannot predict";
  } else if (request.params_of(*step_).values.size() != step_->params.size()) {
    lacking = "step predict has parameters that only the command line gives";
  }
  if (!lacking.empty()) {
    if (predicts == Predicts::Must)
      throw error_at(call.location, err::settings_contradict, fmt::format("callbacks.{}: {}", name, lacking));
    step_ = nullptr;
  }
  const Value* every = argument(call, "every");
  in_steps_ = every != nullptr && every->kind == Value::Kind::Steps;
  if (every == nullptr) return;
  if (!in_steps_ && every->kind != Value::Kind::Epochs)
    throw error_at(call.location, err::wrong_type, fmt::format("callbacks.{}.every", name), every->to_text(),
                   "steps or epochs");
  every_ = std::max<int64_t>(int64_t(every->real), 1);
  parts_ = EpochParts::of(*every, view_.windows);
}

Str RoundRecords::tag() const {
  Str out = stream_name_;
  std::ranges::replace(out, '.', '/');
  return out;
}

bool RoundRecords::is_read(size_t field) const {
  return step_ != nullptr && std::ranges::find(step_->fields, int(field)) != step_->fields.end();
}

void RoundRecords::hear(Hook hook, Context& cx) {
  if (!view_.request.writes()) return;
  if (hook == Hook::val_epoch_start) {
    // A round behind the last update of a period is one of it.
    const int64_t turn = parts_ ? parts_->over(cx.global_step - 1) : (in_steps_ ? cx.global_step : cx.epoch) / every_;
    due_ = turn == turn_ ? -1 : turn;
    records_.clear();
  } else if (due_ >= 0 && hook == Hook::val_batch_end) {
    if (size_t(cx.stream) == stream_ && int64_t(records_.size()) < most_) take(cx);
  } else if (due_ >= 0 && !records_.empty()) {
    turn_ = due_;
    show(records_);
    records_.clear();
  }
}

void RoundRecords::take(Context& cx) {
  Batch batch = *cx.batch;
  std::vector<at::Tensor> outputs;
  if (step_ != nullptr) {
    // Where a fit hears hooks, they come from its session.
    auto& session = static_cast<Session&>(cx);
    const Tensors& given = view_.request.params_of(*step_).tensors;
    for (const int field : step_->fields) {
      if (size_t(field) < schema().size() && !batch.fields[size_t(field)].defined())
        throw error_at(step_->location, err::settings_contradict,
                       fmt::format("step predict reads {}, which the stream {} lacks", schema()[size_t(field)].name,
                                   stream_name_));
    }
    Batch with_params = batch;
    with_params.fields.resize(schema().size());
    with_params.fields.insert(with_params.fields.end(), given.begin(), given.end());
    session.predicted.clear();
    session.run_step(*step_, with_params, stream_, uint64_t(cx.batch_index));
    names_.clear();
    are_texts_.clear();
    for (const Output& one : session.predicted) {
      names_.emplace_back(one.name);
      are_texts_.push_back(one.is_texts);
      outputs.push_back(on_host(aten(one.value).detach()));
    }
  }
  std::vector<at::Tensor> fields;
  for (const Tensor& field : batch.fields) fields.push_back(field.defined() ? on_host(aten(field)) : at::Tensor());
  const int64_t rows = std::min(batch.size, most_ - int64_t(records_.size()));
  const auto row_of = [](const std::vector<at::Tensor>& all, int64_t row) {
    std::vector<at::Tensor> out;
    for (const at::Tensor& one : all)
      out.push_back(one.defined() && one.dim() > 0 && row < one.size(0) ? one[row].clone() : at::Tensor());
    return out;
  };
  for (int64_t row = 0; row < rows; ++row) records_.push_back({row_of(fields, row), row_of(outputs, row)});
}

void RoundRecords::write(const Str& name, const Str& ending, const Str& bytes) const {
  const Str folder = view_.request.run_dir + "/samples";
  try {
    std::filesystem::create_directories(folder);
    doors::write_file_atomically(fmt::format("{}/{}-step{:07}{}", folder, name, view_.at.global_step, ending), bytes);
  } catch (const std::system_error& error) {
    view_.request.progress.warning(fmt::format("samples are not written: {}", error.what()));
  }
}

}  // namespace ltr
