// `--help`.

#include <algorithm>

#include "runtime/cli/faults.h"
#include "runtime/cli/verbs.h"
#include "runtime/settings/value_text.h"

namespace ltr::cli {

namespace {

/// Keeps the defaults that `resolve` declares.
class Defaults : public RunSettings {
 public:
  Value hparam(const HparamInfo& info, const Value& given, const Value* set) override {
    defaults[info.name] = given;
    return RunSettings::hparam(info, given, set);
  }
  std::map<Str, Value> defaults;
};

Str hparam_text(const Program& program, const std::vector<HparamInfo>& hparams) {
  if (hparams.empty()) return "";
  Defaults settings;
  try {
    program.experiments[0].resolve(settings);
  } catch (const Error&) {
    settings.faults.clear();  // Only the defaults are wanted.
  }
  Str out = "\nhparams\n";
  for (const HparamInfo& info : hparams) {
    Str flag = info.name;
    out += fmt::format("  --{:<16} {} = {}", flag, info.type, show(settings.defaults[info.name]));
    if (info.where[0] != '\0') out += fmt::format(" where {}", info.where);
    out += fmt::format("   {}\n", place(info.location));
    if (info.doc[0] != '\0') out += fmt::format("  {:<18} {}\n", "", info.doc);
  }
  return out;
}

/// What the steps that `verb` runs are given: those of the experiment that `words` name, or of the first that has some.
Str params_text(const Program& program, const VerbInfo& verb, const std::vector<Str>& words) {
  Str out;
  const auto is_named = [&](const ExperimentInfo& experiment) { return !words.empty() && words[0] == experiment.name; };
  const bool names_one = std::ranges::any_of(program.experiments, is_named);
  for (const Role role : verb.roles) {
    const auto has_params = [&](const ExperimentInfo& experiment) {
      const StepInfo* step = names_one && !is_named(experiment) ? nullptr : find_step(experiment, role);
      return step != nullptr && !step->params.empty();
    };
    const auto found = std::ranges::find_if(program.experiments, has_params);
    if (found == program.experiments.end()) continue;
    const StepInfo& step = *find_step(*found, role);
    out += fmt::format("\nparameters of step {}\n", step.name);
    for (const StepParam& param : step.params) {
      out += fmt::format("  --{:<16} {}{}   {}\n", param.name, param.type,
                         param.initial[0] == '\0' ? "" : Str(" = ") + param.initial, place(param.location));
    }
  }
  return out;
}

}  // namespace

Str help_text(const Program& program, const CommandLine& line, const std::vector<HparamInfo>& hparams) {
  Str out;
  if (line.verb.empty()) {
    out = fmt::format("usage: ./{} VERB [EXPERIMENT] [options]\n\nverbs\n", program.name);
    for (const VerbInfo& verb : verb_table()) {
      if (verb.is_served() && verb.doc[0] != '\0') out += fmt::format("  {:<12} {}\n", verb.name, verb.doc);
    }
    out += "\nexperiments\n";
    for (const ExperimentInfo& experiment : program.experiments) {
      out += fmt::format("  {:<20} {} on {}   {}\n", experiment.name, experiment.model, experiment.data,
                         place(experiment.location));
    }
    return out + fmt::format("\n./{} VERB --help lists the options and hparams\n", program.name);
  }
  out = fmt::format("usage: ./{} {} [EXPERIMENT] [options]\n\noptions\n", program.name, line.verb);
  for (const OptionInfo& info : option_table()) {
    if (!info.belongs_to(line.verb)) continue;
    // A word behind one that may have none would name an experiment.
    const Str argument = info.argument;
    const Str left =
        fmt::format("--{}{}", info.name, info.is_optional() ? fmt::format("[={}", argument.substr(1)) : " " + argument);
    out += fmt::format("  {:<22} {}{}\n", left, info.doc, info.is_served() ? "" : " (not in this version)");
  }
  out += hparam_text(program, hparams);
  if (const VerbInfo* verb = find_verb(line.verb)) out += params_text(program, *verb, line.words);
  return out;
}

}  // namespace ltr::cli
