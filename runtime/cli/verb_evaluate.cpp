// `validate` and `test`: one pass, a table on stdout, a JSON file in the run.

#include <algorithm>
#include <fstream>

#include "doors/file.h"
#include "doors/number.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/verbs.h"
#include "runtime/train/signals.h"

namespace ltr::cli {

namespace {

/// One row per value, one column per stream.
Str table(const EvalReport& report) {
  std::vector<Str> names;
  size_t width = 7;
  for (const EvalReport::Stream& stream : report.streams) {
    for (const auto& [name, value] : stream.values) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      width = std::max(width, name.size());
    }
  }
  for (const auto& [name, value] : report.values) width = std::max(width, name.size());
  Str out;
  if (report.streams.size() > 1) {
    out += fmt::format("  {:<{}}", "", width);
    for (const EvalReport::Stream& stream : report.streams) out += fmt::format("  {:>12}", stream.name);
    out += "\n";
  }
  for (const Str& name : names) {
    out += fmt::format("  {:<{}}", name, width);
    for (const EvalReport::Stream& stream : report.streams) {
      const auto found =
          std::find_if(stream.values.begin(), stream.values.end(), [&](const auto& one) { return one.first == name; });
      out += fmt::format("  {:>12}", found == stream.values.end() ? "" : short_number(found->second));
    }
    out += "\n";
  }
  for (const auto& [name, value] : report.values)
    out += fmt::format("  {:<{}}  {:>12}\n", name, width, short_number(value));
  out += fmt::format("  {:<{}}", "samples", width);
  for (const EvalReport::Stream& stream : report.streams) out += fmt::format("  {:>12}", with_commas(stream.samples));
  return out + fmt::format("\n{}\n", seconds_text(report.total_s));
}

Str members(const std::vector<std::pair<Str, double>>& values) {
  Str out;
  for (const auto& [name, value] : values) {
    if (!out.empty()) out += ", ";
    out += doors::json_string(name) + ": " + doors::json_number(value);
  }
  return out;
}

/// What the file in the run and the event `end` have in common.
Str result_members(const EvalReport& report, const char* verb, const Str& weights) {
  Str out = fmt::format("\"verb\": \"{}\", \"weights\": {}, \"streams\": [", verb, doors::json_string(weights));
  for (const EvalReport::Stream& stream : report.streams) {
    if (&stream != &report.streams.front()) out += ", ";
    out +=
        fmt::format("{{\"name\": {}, \"samples\": {}, \"values\": {{", doors::json_string(stream.name), stream.samples);
    out += members(stream.values) + "}}";
  }
  out += "]";
  if (!report.values.empty()) out += fmt::format(", \"values\": {{{}}}", members(report.values));
  return out;
}

int run_evaluate(Start& start, Role role) {
  const char* verb = role == Role::Val ? "validate" : "test";
  start.resolve();
  start.set_up_device();
  Str run;
  const Str weights = find_weights(start, start.line.get("weights"), run);
  start.settings.set_run(run.empty() ? start.out_dir() : run, start.run_name());
  start.list_callbacks();
  start.know_from(weights);
  start.build();
  if (!weights.empty()) load_weights(*start.root, weights, !start.line.has("raw"));
  const std::unique_ptr<Progress> progress = make_progress(start.terminal);
  RunRequest request = start.request(*progress);
  request.run_dir = run;
  request.trained = trained_of(weights);
  progress->epoch(request.trained.epoch, 0);
  SignalWatch::enter(SignalPhase::Work);
  const EvalReport report = evaluate(request, role);
  SignalWatch::enter(SignalPhase::End);
  if (const int code = SignalWatch::exit_code(report.signal); code != 0) {
    // Values of a part of the data would be taken for those of all of it.
    print_err(fmt::format("{} was stopped: there is no result\n", verb));
    return code;
  }
  const Str result = result_members(report, verb, weights);
  if (start.terminal.is_json)
    print_out(json_event(
        "end", fmt::format("\"step\":{},\"epoch\":{},{}", request.trained.steps, request.trained.epoch, result)));
  else
    print_out(fmt::format("{} · {}\n{}", verb, weights.empty() ? "new weights" : weights, table(report)));
  if (request.writes()) {
    write_run_file(next_numbered(run + "/eval", Str(verb) + "-", ".json"),
                   fmt::format("{{\"time\": \"{}\", {}}}\n", time_text(), result));
  }
  return 0;
}

}  // namespace

int run_validate(Start& start) { return run_evaluate(start, Role::Val); }

int run_test(Start& start) { return run_evaluate(start, Role::Test); }

}  // namespace ltr::cli
