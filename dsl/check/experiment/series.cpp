#include "dsl/check/experiment/series.h"

#include <algorithm>

namespace ltr::check {

namespace {

bool ends_with_any(const std::string& name, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* ending) { return name.ends_with(ending); });
}

Logged logged(const LogEntry& log) {
  Logged result;
  result.is_error = log.kind == "error";
  result.better = log.better;
  result.is_on_step = log.when == "step";
  result.span = log.span;
  if (log.kind != "scalar") return result;
  if (ends_with_any(log.name, {"loss", "error", "perplexity"})) result.better = "min";
  if (ends_with_any(log.name, {"acc", "accuracy"})) result.named = "max";
  return result;
}

bool is_series(const LogEntry& log) {
  return log.kind == "scalar" || log.kind == "metric" || log.kind == "error";
}

}  // namespace

SeriesOf logged_series(const Program& program, const Experiment& experiment) {
  SeriesOf series;
  const Object& model = program.models[experiment.model];
  const DataObject& data = program.datas[experiment.data];
  for (const LogEntry& log : program.logs) {
    if (!is_series(log) || (log.owner != model.name && !is_listed(log.owner, experiment))) continue;
    Logged one = logged(log);
    if (log.role == "test") one.absent = "step test runs after it";
    bool has_stream = false;
    for (const StreamDecl& stream : data.streams) {
      if (stream.role != log.role) continue;
      has_stream = true;
      const bool is_whole = log.is_whole || stream.name.empty();
      const std::string name = log.role + "." + (is_whole ? "" : stream.name + ".") + log.name;
      const auto [place, is_new] = series.try_emplace(name, one);
      // Logged at several places, it is recorded wherever one of them says so.
      if (!is_new) place->second.is_on_step = place->second.is_on_step && one.is_on_step;
    }
    if (has_stream) continue;
    one.absent = "data `" + data.object.name + "` has no `" + log.role + "` stream";
    series.try_emplace(log.role + "." + log.name, one);
  }
  for (const Member& member : model.members) {
    if (member.kind == MemberKind::Optimizer) series["lr." + member.name] = {};
  }
  return series;
}

bool is_listed(const std::string& callback, const Experiment& experiment) {
  return std::any_of(experiment.callbacks.begin(), experiment.callbacks.end(),
                     [&](const Expr& listed) { return listed.name == callback; });
}

const Expr* watched_series(const Expr& call) {
  const auto watched = std::find_if(call.args.begin(), call.args.end(),
                                    [](const Expr& arg) { return arg.kind == ExprKind::Series; });
  return watched == call.args.end() ? nullptr : &*watched;
}

std::optional<size_t> mode_argument(const Expr& call) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.formats[i] == "mode" && call.args[i].kind == ExprKind::Symbol) return i;
  }
  return std::nullopt;
}

}  // namespace ltr::check
