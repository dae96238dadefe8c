// `describe` and `config`: what a program is and would do.

#include <algorithm>
#include <fstream>
#include <set>

#include "doors/json.h"
#include "runtime/cli/faults.h"
#include "runtime/cli/model_table.h"
#include "runtime/cli/report.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/settings_schema.h"
#include "runtime/cli/step_params.h"
#include "runtime/cli/verbs.h"
#include "runtime/data/paths.h"
#include "runtime/data/rows.h"
#include "runtime/data/stream.h"
#include "runtime/settings/value_text.h"
#include "runtime/tensor/device.h"

namespace ltr::cli {

namespace {

Str fields_text(const Str& what, const Schema& fields) {
  std::vector<Str> parts;
  for (const FieldInfo& field : fields) parts.push_back(fmt::format("{}: {}", field.name, type_text(field)));
  return fmt::format("{} {}\n", what, fmt::join(parts, ", "));
}

/// What records hold as they lie in their files, each kind once, and what batches do. Of `zip` and the like there are several sources.
Str types_text(const Start& start) {
  Str out;
  for (const Data::RoleStream& one : start.data->streams) {
    const StreamState* source = one.stream.state()->source();
    const Str line = source == nullptr ? "" : fields_text("record", source->schema());
    if (out.find(line) == Str::npos) out += line;
  }
  return out + fields_text("batch", start.data->batch);
}

/// The files of the data, and what is known of them without reading them through.
Str files_text() {
  Str out;
  for (const OpenedFile& file : opened_files()) {
    if (file.records < 0) continue;
    out += fmt::format("  {}  {}, {}", file.path, plural(file.records, "record"), bytes_text(double(file.bytes)));
    if (!file.files.empty()) out += fmt::format(" in {}", plural(int64_t(file.files.size()), "file"));
    if (!file.classes.empty()) {
      const auto [least, most] = std::minmax_element(file.classes.begin(), file.classes.end());
      out += fmt::format(", {} of {}", plural(int64_t(file.classes.size()), "class"), with_commas(*least));
      if (*least != *most) out += " to " + with_commas(*most);
    }
    out += "\n";
  }
  return out.empty() ? "" : "files\n" + out;
}

Str streams_text(const Start& start) {
  Str out;
  for (const StreamSize& size : stream_sizes(start)) {
    out += fmt::format("  {:<12}  {:>12} samples  {:>8} batches of {}\n", size.name, with_commas(size.samples),
                       with_commas(size.batches), size.batch_size);
  }
  return out;
}

/// `sweep  lr = log_uniform(0.001, 1), size in [8, 16], trials = 20, minimize = val.loss`
Str sweep_text(const Value& sweep) {
  if (sweep.is_none()) return "";
  std::vector<Str> parts;
  for (const Argument& one : sweep.items)
    parts.push_back(
        fmt::format("{} {} {}", one.name, one.value.kind == Value::Kind::List ? "in" : "=", one.value.to_text()));
  return fmt::format("sweep  {}\n", fmt::join(parts, ", "));
}

/// How steps are computed, which a batch through each of them shows. Nothing of it stays.
Str steps_text(Start& start) {
  Unheard progress;
  RunRequest request = start.request(progress);
  // A device captures what it does in the second run.
  request.flags.fast_dev_run = accelerator() == nullptr ? 1 : 3;
  request.flags.bare = true;
  request.flags.explain = true;
  give_predict_params(start, request);
  return fit(request).steps_text;
}

/// What optimizers and data are set to, which they say as they are made.
void know_model(Start& start) {
  try {
    start.set_up_device();
    start.build();
  } catch (const Error& error) {
    // Where there is no data, settings can be looked at all the same.
    if (error.code.starts_with("R2")) throw;
    print_err(fmt::format("note: settings of `model` and `data` are neither listed nor checked: {}\n", error.message));
  }
}

}  // namespace

int run_describe(Start& start) {
  start.resolve();
  start.set_up_device();
  start.build();
  const std::unique_ptr<Progress> progress = make_progress(start.terminal);
  RunRequest request = start.request(*progress);
  Str out = headline(start, "", request) + model_table(start) + optimizer_table(start) + files_text() +
            types_text(start) + streams_text(start) + sweep_text(start.settings.sweep()) +
            plan_line(start, planned_steps(request));
  std::set<Str> told;  // A rule of the library is asked wherever it is used.
  for (const ObligationInfo& one : start.program.obligations) {
    Str line = fmt::format("  {:<12} {}  {}\n", one.fate, one.text, place(one.location));
    if (Str(one.fate) != "proven" && told.insert(line).second) out += line;
  }
  progress->end();
  if (start.line.has("plan")) out += "\n" + steps_text(start);
  print_out(out);
  return 0;
}

int run_config(Start& start) {
  start.resolve();
  know_model(start);
  if (start.line.has("schema")) {
    print_out(settings_schema(start.settings, start.experiment->name));
    return 0;
  }
  if (start.line.has("diff")) {
    const Str run = find_run(start.out_dir(), start.experiment->name, start.run_name(), start.line.get("diff"));
    if (run.empty())
      throw error_at(
          {}, err::checkpoint_misfit,
          fmt::format("no run {} of {} in {}", start.line.get("diff"), start.experiment->name, start.out_dir()));
    std::ifstream file(run + "/config.json");
    const nlohmann::json old = doors::try_json(Str(std::istreambuf_iterator<char>(file), {}));
    if (!old.is_object()) throw error_at({}, err::bad_config_file, run + "/config.json", "is no JSON object");
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    for (const Resolved& setting : start.settings.resolved()) {
      const nlohmann::json now = doors::try_json(to_json(setting.value));
      const nlohmann::json before = old.contains(setting.path) ? old[setting.path]["value"] : nlohmann::json();
      if (now == before) continue;
      all[setting.path] = {{"before", before}, {"now", now}};
      if (!start.terminal.is_json) print_out(fmt::format("{:<32} {} → {}\n", setting.path, before.dump(), now.dump()));
    }
    if (start.terminal.is_json) print_out(all.dump() + "\n");
    return 0;
  }
  if (start.terminal.is_json) {
    print_out(start.settings.to_json());
    return 0;
  }
  size_t width = 8;
  for (const Resolved& setting : start.settings.resolved()) width = std::max(width, setting.path.size());
  for (const Resolved& setting : start.settings.resolved()) {
    print_out(fmt::format("{:<{}}  {:<20}  {}{}\n", setting.path, width, show(setting.value), setting.from,
                          setting.at.empty() ? "" : "  " + setting.at));
  }
  return 0;
}

}  // namespace ltr::cli
