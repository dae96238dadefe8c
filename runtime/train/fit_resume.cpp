#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "runtime/checkpoint/load.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/fit.h"

// What a checkpoint holds beside the weights, and how a run goes on from it.

namespace ltr {

namespace {

nlohmann::json save_state(const Callback::State& state) {
  const Str type = state.type;
  if (type == "int") return *static_cast<int64_t*>(state.address);
  if (type == "float") return exact(*static_cast<double*>(state.address));
  if (type == "bool") return *static_cast<bool*>(state.address);
  return *static_cast<Str*>(state.address);
}

void restore_state(const Callback::State& state, const nlohmann::json& saved) {
  const Str type = state.type;
  if (type == "int") {
    *static_cast<int64_t*>(state.address) = saved.get<int64_t>();
  } else if (type == "float") {
    *static_cast<double*>(state.address) = exact(saved);
  } else if (type == "bool") {
    *static_cast<bool*>(state.address) = saved.get<bool>();
  } else {
    *static_cast<Str*>(state.address) = saved.get<Str>();
  }
}

}  // namespace

nlohmann::json Fit::manifest() const {
  nlohmann::json manifest = {
      {"ltr", request_.program.compiler},
      {"program", request_.program.source_hash},
      {"experiment", request_.experiment.name},
      {"seed", settings_.seed},
      {"world", cx_.world},
      {"threads", at::get_num_threads()},
      {"epoch", at_.epoch},
      {"batch", at_.batch},
      {"step", at_.global_step},
      {"batch_counter", at_.batch_counter},
      {"samples", at_.samples},
      {"round_step", at_.round_step},
      {"round_time_s", exact(at_.round_time_s)},
      {"train_s", exact(at_.train_s)},
      {"skipped", cx_.skipped},
      {"logs", cx_.logs.save()},
      {"stopping", is_stopping_ || cx_.wants_stop},
      {"outcome", outcome_},
      {"reason", reason_},
  };
  if (kept_step_ == at_.global_step) {
    manifest["row_epoch"] = kept_epoch_;
    manifest["row"] = nlohmann::json::array();
    for (const auto& [name, value] : kept_row_) manifest["row"].push_back({name, exact(value)});
  }
  for (const auto& [name, value] : request_.settings) manifest["settings"][name] = value.to_text();
  for (const auto& optimizer : request_.root.state().optimizers) {
    nlohmann::json& row = manifest["optimizers"][optimizer->name()];
    row["rule"] = optimizer->describe().rule;
    if (optimizer->fixed_rate()) row["rate"] = exact(*optimizer->fixed_rate());
    row["plateaus"] = nlohmann::json::array();
    for (const optim::Plateau* plateau : optimizer->plateaus()) {
      const optim::Plateau::State& state = plateau->state;
      row["plateaus"].push_back({{"scale", exact(state.scale)},
                                 {"best", exact(state.best)},
                                 {"has_best", state.has_best},
                                 {"bad", state.bad},
                                 {"cooling", state.cooling}});
    }
  }
  manifest["early_stops"] = nlohmann::json::array();
  for (const EarlyStop& early : early_stops_) {
    manifest["early_stops"].push_back(
        {{"best", exact(early.state.best)}, {"has_best", early.state.has_best}, {"bad", early.state.bad}});
  }
  if (ema_ != nullptr) manifest["ema_updates"] = ema_->updates();
  manifest["keepers"] = nlohmann::json::array();
  for (const CheckpointKeeper& keeper : keepers_) manifest["keepers"].push_back(keeper.save());
  for (const UserCallback& user : cx_.hooks.callbacks()) {
    for (const Callback::State& state : user.callback->states()) {
      manifest["callbacks"][user.key][state.name] = save_state(state);
    }
  }
  return manifest;
}

CheckpointData Fit::snapshot(bool weights_only) const {
  CheckpointData data;
  for (const Entry& entry : request_.root.state().entries) data.weights.push_back({entry.path, aten(entry.tensor)});
  data.manifest = manifest();
  data.manifest["weights_only"] = weights_only;
  if (weights_only) return data;
  for (const auto& optimizer : request_.root.state().optimizers) {
    for (StateTensor& state : optimizer->state()) data.train.push_back({std::move(state.name), std::move(state.tensor)});
  }
  if (ema_ != nullptr) {
    for (auto& [name, average] : ema_->state()) data.train.push_back({std::move(name), average});
  }
  for (const Model::MetricMember& member : request_.model.metrics) {
    Metric& metric = member.of(request_.model, int64_t(train_stream_));
    if (!cx_.logs.has_data(metric)) continue;
    for (const Metric::State& state : metric.states()) {
      data.train.push_back({fmt::format("metric.{}.{}", member.name, state.name), aten(*state.tensor)});
    }
  }
  // A file of its own tells such a checkpoint from one of weights only.
  if (data.train.empty()) data.train.push_back({"none", at::zeros({1})});
  return data;
}

void Fit::resume() {
  const Str& path = request_.resume;
  const Str damage = verify_checkpoint(path);
  const nlohmann::json saved = read_manifest(path);
  if (!damage.empty()) throw error_here(err::checkpoint_damaged, path, damage);
  if (saved.value("weights_only", false)) {
    throw with_help(error_here(err::checkpoint_misfit, fmt::format("{} holds weights only", path)), "give it to --weights");
  }
  const Str experiment = saved.value("experiment", "");
  if (experiment != request_.experiment.name) {
    throw error_here(err::checkpoint_misfit, fmt::format("{} is of the experiment {}", path, experiment));
  }
  report_changes(saved);

  take_weights(request_.root, read_tensors(path + "/weights.safetensors"), path);
  const std::map<Str, at::Tensor> tensors = read_tensors(path + "/train.safetensors");
  const auto find = [&](const Str& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? at::Tensor() : found->second;
  };
  const NoGrad no_grad;
  for (const auto& optimizer : request_.root.state().optimizers) {
    optimizer->restore(find);
    if (!saved.contains("optimizers") || !saved["optimizers"].contains(optimizer->name())) continue;
    const nlohmann::json& row = saved["optimizers"][optimizer->name()];
    if (row.contains("rate")) optimizer->set_rate(exact(row["rate"]));
    const std::vector<optim::Plateau*> plateaus = optimizer->plateaus();
    for (size_t i = 0; i < std::min(plateaus.size(), row["plateaus"].size()); i++) {
      const nlohmann::json& state = row["plateaus"][i];
      plateaus[i]->state = {exact(state["scale"]), exact(state["best"]), state["has_best"], state["bad"], state["cooling"]};
    }
  }
  if (ema_ != nullptr) ema_->restore(find, saved.value("ema_updates", int64_t(0)));
  for (const Model::MetricMember& member : request_.model.metrics) {
    const Str prefix = fmt::format("metric.{}.", member.name);
    const auto first = tensors.lower_bound(prefix);
    if (first == tensors.end() || !first->first.starts_with(prefix)) continue;
    for (const Metric::State& state : member.of(request_.model, int64_t(train_stream_)).states()) {
      const at::Tensor tensor = find(prefix + state.name);
      if (tensor.defined()) *state.tensor = give(tensor);
    }
  }

  at_.epoch = saved.at("epoch");
  at_.batch = saved.at("batch");
  at_.global_step = saved.at("step");
  at_.batch_counter = saved.at("batch_counter");
  at_.samples = saved.at("samples");
  at_.round_step = saved.at("round_step");
  at_.round_time_s = exact(saved.at("round_time_s"));
  at_.train_s = exact(saved.at("train_s"));
  // A run that had decided to end ends again.
  is_stopping_ = saved.at("stopping");
  outcome_ = saved.at("outcome");
  reason_ = saved.at("reason");
  cx_.skipped = saved.at("skipped");
  cx_.global_step = at_.global_step;
  cx_.epoch = at_.epoch;
  cx_.logs.restore(saved.at("logs"));
  for (size_t i = 0; i < std::min(early_stops_.size(), saved["early_stops"].size()); i++) {
    const nlohmann::json& state = saved["early_stops"][i];
    early_stops_[i].state = {exact(state["best"]), state["has_best"], state["bad"]};
  }
  for (size_t i = 0; i < std::min(keepers_.size(), saved["keepers"].size()); i++) keepers_[i].restore(saved["keepers"][i]);
  for (UserCallback& user : cx_.hooks.callbacks()) {
    if (!saved.contains("callbacks") || !saved["callbacks"].contains(user.key)) continue;
    for (const Callback::State& state : user.callback->states()) {
      const nlohmann::json& row = saved["callbacks"][user.key];
      if (row.contains(state.name)) {
        restore_state(state, row[state.name]);
      } else {
        request_.progress.notice(fmt::format("{}.{} was not in the checkpoint and keeps its initial value", user.key, state.name));
      }
    }
  }
  if (saved.contains("row") && !saved["row"].empty()) {
    // The loggers cut from this step on, so its row is written again.
    for (const nlohmann::json& value : saved["row"]) row_.emplace_back(value[0].get<Str>(), exact(value[1]));
    cx_.epoch = saved["row_epoch"];
    flush_row();
    cx_.epoch = at_.epoch;
  }
  saved_step_ = at_.global_step;
  last_saved_ = path.substr(path.find_last_of('/') + 1);
  resumed_from_ = last_saved_;
  throughput_step_ = at_.global_step;
  cx_.path = path;
  cx_.run_hook(Hook::checkpoint_load);
}

void Fit::report_changes(const nlohmann::json& saved) const {
  std::vector<Str> changes;
  const auto compare = [&](const Str& name, const Str& before, const Str& now) {
    if (before != now) changes.push_back(fmt::format("{}: {} → {}", name, before, now));
  };
  compare("program", saved.value("program", "").substr(0, 12), Str(request_.program.source_hash).substr(0, 12));
  compare("seed", std::to_string(saved.value("seed", int64_t(0))), std::to_string(settings_.seed));
  compare("threads", std::to_string(saved.value("threads", 0)), std::to_string(at::get_num_threads()));
  for (const auto& [name, value] : request_.settings) {
    const bool only_ends = name == "trainer.epochs" || name == "trainer.steps" || name == "trainer.max_time";
    if (only_ends || !saved.contains("settings") || !saved["settings"].contains(name)) continue;
    compare(name, saved["settings"][name], value.to_text());
  }
  if (changes.empty()) return;
  const Str text = fmt::format("continues, not bit for bit: {}", fmt::join(changes, "; "));
  if (request_.flags.strict_resume) throw error_here(err::settings_contradict, text);
  request_.progress.notice(text);
}

}  // namespace ltr
