#include "dsl/check/experiment/series.h"

#include <algorithm>
#include <charconv>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

bool ends_with_any(const std::string& name, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return name.ends_with(ending); });
}

Logged logged(const LogEntry& log) {
  Logged result;
  result.is_error = log.kind == "error";
  result.better = better_of(log);
  result.is_on_step = log.when == "step";
  result.is_each = !log.each.empty();
  result.length = log.length;
  result.span = log.span;
  if (result.better.empty() && !result.is_error && ends_with_any(log.name, {"acc", "accuracy"})) result.named = "max";
  return result;
}

/// `limit_val = 0`: the streams are there, and nobody goes through them.
bool leaves_out_val(const Program& program, const Experiment& experiment) {
  const SettingValue* limit = find_setting(experiment.trainer, "limit_val");
  if (limit == nullptr || !limit->value.type.is_host_number()) return false;
  const auto batches = evaluate(limit->value, program);
  return batches && batches->whole == 0;
}

bool is_series(const LogEntry& log) { return log.kind == "scalar" || log.kind == "metric" || log.kind == "error"; }

}  // namespace

std::string better_of(const LogEntry& log) {
  if (log.kind == "error" || !log.better.empty()) return log.better;
  // A metric that does not say which is better, `MeanMetric`, is told by its name as a number is.
  return ends_with_any(log.name, {"loss", "error", "perplexity"}) ? "min" : "";
}

SeriesOf logged_series(const Program& program, const Experiment& experiment) {
  SeriesOf series;
  const Object& model = program.models[experiment.model];
  const DataObject& data = program.datas[experiment.data];
  const bool has_no_val = leaves_out_val(program, experiment);
  for (const LogEntry& log : program.logs) {
    if (!is_series(log) || (log.owner != model.name && !is_listed(log.owner, experiment))) continue;
    Logged one = logged(log);
    if (log.role == kTestRole) one.absent = "step test runs after it";
    if (log.role == kValRole && has_no_val) one.absent = "`limit_val = 0` takes no batch of `val`";
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

std::pair<std::string, std::optional<int64_t>> without_index(const std::string& series) {
  const size_t open = series.find('[');
  if (open == std::string::npos) return {series, std::nullopt};
  int64_t index = 0;
  const char* end = series.data() + series.size() - 1;
  const auto read = std::from_chars(series.data() + open + 1, end, index);
  if (read.ec != std::errc() || read.ptr != end || *end != ']' || index < 0) return {series, std::nullopt};
  return {series.substr(0, open), index};
}

const Logged* find_logged(const SeriesOf& series, const std::string& name) {
  const auto found = series.find(without_index(name).first);
  return found != series.end() ? &found->second : nullptr;
}

bool is_listed(const std::string& callback, const Experiment& experiment) {
  return std::any_of(experiment.callbacks.begin(), experiment.callbacks.end(),
                     [&](const Expr& listed) { return listed.get<node::Call>()->name == callback; });
}

std::optional<Watched> watched_series(const node::Call& call, const Program& program) {
  for (const node::NamedArg& arg : call.args) {
    const ExprView& value = program.exprs[arg.value];
    if (const auto* series = value.get<node::Series>()) return Watched{series->name, value.span};
  }
  return std::nullopt;
}

std::optional<size_t> mode_argument(const node::Call& call, const Program& program) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].name == "mode" && program.exprs[call.args[i].value].is<node::Symbol>()) return i;
  }
  return std::nullopt;
}

}  // namespace ltr::check
