#include "runtime/cli/prepare.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>

#include <ATen/Parallel.h>

#include "runtime/api/suggest.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/cli/config_file.h"
#include "runtime/cli/cores.h"
#include "runtime/cli/model_table.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/step_params.h"
#include "runtime/data/loader.h"
#include "runtime/data/paths.h"
#include "runtime/data/stream.h"
#include "runtime/distributed/scheduler.h"
#include "runtime/settings/value_text.h"
#include "runtime/tensor/determinism.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/feed.h"
#include "runtime/train/metric_states.h"
#include "runtime/train/root_state.h"

namespace ltr::cli {

namespace {

Backend backend_of(const Str& name, std::vector<Error>& faults) {
  if (name == "native") return Backend::Native;
  if (name == "torch") return Backend::Torch;
  if (name != "auto") faults.push_back(error_at({}, err::wrong_type, "--backend", name, "auto, native or torch"));
  return Backend::Auto;
}

namespace fs = std::filesystem;

/// The topologies of the program that need no GPU.
std::vector<Str> fitting_topologies(const Program& program) {
  std::vector<Str> names;
  for (const TopologyInfo& topology : program.topologies) {
    RunSettings settings;
    topology.resolve(settings);
    settings.add_defaults();
    const Str precision = show(settings.value("topology.precision"));
    const bool is_cuda = read_devices(show(settings.value("topology.devices")))->kind == "cuda";
    if (!is_cuda && !needs_gpu(precision)) names.emplace_back(topology.name);
  }
  return names;
}

/// A count of threads: `auto` or a number.
int64_t thread_count(const Value& value, int64_t automatic) {
  return value.kind == Value::Kind::Int ? value.whole : automatic;
}

}  // namespace

Start::Start(const Program& of, CommandLine given, Terminal on, const Ranks& those)
    : program(of), line(std::move(given)), terminal(on), ranks(those), settings(those.world()) {
  // Which rank speaks where the verb has none of them is decided before.
  if (!ranks.is_first()) mute_output(true);
}

Start::~Start() = default;

void Start::check() const {
  if (!settings.faults.empty()) throw Faults{settings.faults};
}

void Start::choose_experiment() {
  std::vector<Str> names;
  for (const ExperimentInfo& one : program.experiments) names.emplace_back(one.name);
  if (names.empty()) {
    throw Faults{{with_help(error_at({}, err::which_experiment, "none"),
                            "`experiment NAME { data = …, model = … }` in the program says what is trained")}};
  }
  if (line.words.size() > 1) {
    throw Faults{{error_at({}, err::unknown_option,
                           fmt::format("for the word {}; the experiment is {}", line.words[1], line.words[0]))}};
  }
  Str wanted = line.words.empty() ? "" : line.words[0];
  if (wanted.empty() && names.size() == 1) wanted = names[0];
  if (wanted.empty() && std::find(names.begin(), names.end(), program.name) != names.end()) wanted = program.name;
  for (const ExperimentInfo& one : program.experiments) {
    if (wanted == one.name) experiment = &one;
  }
  if (experiment != nullptr) return;
  Error fault = with_help(error_at({}, err::which_experiment, fmt::format("{}", fmt::join(names, ", "))),
                          fmt::format("name one of them: `{} {}`", line.verb, names[0]));
  const Str near = nearest(wanted, names);
  if (!wanted.empty())
    fault.message =
        fmt::format("no experiment {}{} This program has: {}", wanted,
                    near.empty() ? Str(".") : fmt::format("; did you mean {}?", near), fmt::join(names, ", "));
  throw Faults{{fault}};
}

void Start::choose_topology() {
  const Str wanted = line.get("topology", experiment->topology);
  std::vector<Str> names;
  for (const TopologyInfo& one : program.topologies) {
    names.emplace_back(one.name);
    if (wanted == one.name) topology = &one;
  }
  if (topology != nullptr || wanted.empty()) return;
  const Str near = nearest(wanted, names);
  Str known = "this program declares none";
  if (!names.empty()) known = fmt::format("there are: {}", fmt::join(names, ", "));
  settings.faults.push_back(error_at({}, err::topology_unavailable,
                                     fmt::format("no topology {}{} ({})", wanted,
                                                 near.empty() ? "" : fmt::format("; did you mean {}?", near), known)));
}

void Start::give_option(GivenOption& given) {
  const Str at = Str(given.from) == "env" ? "LTR_ARGS" : given.shown + " " + given.value;
  if (given.name == "set") {
    const size_t equals = given.value.find('=');
    if (equals == Str::npos || equals == 0) {
      settings.faults.push_back(error_at({}, err::wrong_type, "--set", '"' + given.value + '"', "PATH=VALUE"));
      return;
    }
    const Str path = given.value.substr(0, equals);
    settings.give(path, {given.value.substr(equals + 1), given.from, at, path});
    return;
  }
  Str path = given.name;
  Str value = given.value;
  bool is_setting = false;
  for (const OptionInfo& info : option_table()) {
    if (given.name != info.name) continue;
    is_setting = info.setting[0] != '\0' && info.is_served();
    if (is_setting) path = info.setting;
  }
  const bool is_seed = given.name == "seed";
  if (is_seed && value == "random") {
    value = ranks.of_first(std::to_string(std::random_device()() & 0x7FFFFFFFu));
    given.value = value;  // a run that goes on takes the number
  }
  std::vector<HparamInfo> hparams;
  const std::vector<Str> names = option_names(program, hparams);
  const bool is_hparam =
      std::any_of(hparams.begin(), hparams.end(), [&](const HparamInfo& info) { return given.name == info.name; });
  if (is_seed && !is_hparam) path = "trainer.seed";
  if (is_setting || is_hparam || is_seed) settings.give(path, {value, given.from, at, given.shown});
}

void Start::give_settings() {
  for (const GivenOption& given : line.options) {
    if (!given.text) continue;
    try {
      give_config(*given.text, given.value, settings);
    } catch (const Error& error) {
      settings.faults.push_back(error);
    }
  }
  for (GivenOption& given : line.options) give_option(given);
  if (line.has("no-bar") || line.has("quiet")) terminal.has_bar = false;
  if (line.has("fast-dev-run")) {
    Str wanted;
    const Str text = line.get("fast-dev-run");
    const Option<Value> count = parse_value(text.empty() ? "1" : text, "int", wanted);
    if (count && count->whole >= 1)
      flags.fast_dev_run = count->whole;
    else
      settings.faults.push_back(error_at({}, err::wrong_type, "--fast-dev-run", text, "a count of batches"));
  }
  flags.bare = line.has("bare");
  flags.strict_resume = line.has("strict-resume");
  flags.accept_data = line.has("accept-data");
  flags.mock_data = line.has("mock-data");
  const Str kind = line.get("profile", "simple");
  if (!kind.empty() && kind != "simple" && kind != "trace" && kind != "memory")
    settings.faults.push_back(error_at({}, err::wrong_type, "--profile", kind, "simple, trace or memory"));
  flags.memory = line.has("profile") && kind == "memory";
  flags.trace = line.has("profile") && kind == "trace";
  flags.profile = line.has("profile") && !flags.memory;
  flags.backend = backend_of(line.get("backend", "auto"), settings.faults);
}

void Start::read_trainer() {
  trainer = TrainerSettings([this](const char* path) { return settings.value(path); });
  if (trainer.times_algorithms() && trainer.deterministic == "true") {
    settings.faults.push_back(
        with_help(error_at(experiment->location, err::settings_contradict,
                           "trainer.benchmark chooses convolutions by timing, so two runs may differ, which "
                           "trainer.deterministic excludes"),
                  "--set trainer.deterministic=false, or leave benchmark out"));
  }
}

void Start::check_topology() {
  const Location where = topology != nullptr ? topology->location : experiment->location;
  const Str name = topology != nullptr ? topology->name : "default";
  const Devices devices = *read_devices(show(settings.value("topology.devices")));
  precision = show(settings.value("topology.precision"));
  const auto typed = [&](const Str& path) { return settings.typed("topology." + path); };
  const DeviceWish wish{.devices = devices,
                        .precision = precision,
                        .local_rank = local_rank,
                        .location = where,
                        .topology = name,
                        .typed_devices = typed("devices"),
                        .typed_precision = typed("precision"),
                        .fitting = [this] { return fitting_topologies(program); }};
  try {
    if (is_plan)
      check_devices(wish);
    else
      device = choose_device(wish);
  } catch (const Error& error) {
    settings.faults.push_back(error);
    return;  // of devices that are not there, no more is said
  }
  const auto setting = [&](const Str& path) -> const Value& { return settings.value("topology." + path); };
  const int64_t world = is_alone ? distributed::asked_ranks(setting).value_or(1) : ranks.world();
  const bool is_deterministic = trainer.deterministic == "true";
  strategy = distributed::read_strategy(
      {name, where, setting, world, is_deterministic, device.accelerator != nullptr, program.blocks, typed},
      settings.faults);
  const Option<Str> elsewhere =
      distributed::not_scheduled(show(settings.value("topology.scheduler")), distributed::process_environment());
  if (elsewhere) strategy.warnings.push_back(fmt::format("the topology {} has {}", name, *elsewhere));
}

void Start::list_callbacks() {
  constexpr std::pair<const char*, BarStyle> kStyles[] = {
      {"auto", BarStyle::Auto}, {"bar", BarStyle::Bar}, {"lines", BarStyle::Lines}, {"none", BarStyle::None}};
  experiment->list_callbacks(settings);
  terminal.style = BarStyle::None;  // where it is off
  for (const Value& call : settings.callbacks()) {
    if (call.text != "ProgressBar") continue;
    const Value *rate = call.find("rate"), *word = call.find("style");
    if (rate != nullptr) terminal.bar_rate = rate->as_int();
    for (const auto& [name, style] : kStyles) {
      if (word != nullptr && word->text == name) terminal.style = style;
    }
  }
  if (line.has("no-bar") && terminal.style == BarStyle::Bar) terminal.style = BarStyle::Lines;
}

void Start::resolve() {
  std::destroy_at(&settings);
  std::construct_at(&settings, ranks.world());
  choose_experiment();
  choose_topology();
  give_settings();
  try {
    experiment->resolve(settings);
  } catch (const Error& error) {
    // Arithmetic on settings that are faulty already fails too: those come first.
    settings.faults.push_back(error);
    check();
  }
  if (topology != nullptr) topology->resolve(settings);
  settings.add_defaults();
  list_callbacks();
  settings.check_unused(false);
  // A value that could not be read is its default from here on, so that all faults are found in one run.
  read_trainer();
  check_topology();
  // OMP_NUM_THREADS is what one rank computes with; to the threads that read data it says nothing.
  const int64_t computing = std::getenv("OMP_NUM_THREADS") != nullptr ? 1 : sharing;
  threads = thread_count(settings.value("topology.threads"), std::max(at::get_num_threads() / computing, int64_t(1)));
  workers = thread_count(settings.value("topology.workers"),
                         std::clamp(own_cores() / sharing - threads, int64_t(1), int64_t(8)));
  prefetch = settings.value("topology.prefetch").as_int();
  check();
}

void Start::set_up_device() {
  if (std::exchange(is_device_set_up_, true)) return;
  at::set_num_threads(int(threads));
  if (device.accelerator != nullptr) {
    use_accelerator(device.accelerator, device.index);
    ranks.meet_on(*device.accelerator);
    set_determinism(trainer.deterministic, [this](const Str& op) {
      if (terminal.has_warnings)
        print_err(fmt::format("warning: {} has no deterministic form: equal runs may differ in last digits\n", op));
    });
    device.accelerator->set_modes({precision == "tf32", trainer.deterministic != "false", trainer.times_algorithms()});
  }
  set_precision(precision);
}

void Start::let_go() {
  on_device.reset();
  model = nullptr;
  root.reset();
  data.reset();
}

void Start::build() {
  open_data();
  root = std::make_unique<ModelRoot>(
      trainer.seed, [this](const char* path, const char* type, const Value& given, const Location& where) {
        return settings.get(path, type, given, where, "optimizer" + Str(path).substr(Str(path).rfind('.')));
      });
  // Data is opened and read in host memory; whatever the model makes lies where it computes.
  on_device.emplace(compute_device());
  model = experiment->make_model(settings, *data, root->scope());
  check();
  root->finish();
  for (const Model::MetricMember& member : model->metrics) check_beginnings(member.name, member.of(*model, 0));
  for (const Str& block : strategy.recompute) {
    if (!root->recompute_at(block))
      strategy.warnings.push_back(fmt::format("recompute at {}: the model has no such block", block));
  }
  settings.check_unused(true);
  check();
  at({});  // What comes now is asked for by options, not by a line of the program.
}

/// What ranks divide under a strategy.
DivisionPlan division_of(const distributed::Strategy& strategy) {
  using distributed::StrategyKind;
  switch (strategy.kind) {
    case StrategyKind::Single:
    case StrategyKind::Ddp: return {};
    case StrategyKind::Zero1: return {.what = Divides::States};
    case StrategyKind::Zero2: return {.what = Divides::Gradients};
    case StrategyKind::Fsdp:
    case StrategyKind::Hsdp: return {.what = Divides::Weights, .block = strategy.block, .replicas = strategy.replica};
  }
  return {};
}

RunRequest Start::request(Progress& progress) {
  RunRequest out{.program = program,
                 .experiment = *experiment,
                 .data = *data,
                 .model = *model,
                 .root = *root,
                 .trainer = trainer,
                 .callbacks = settings.callbacks(),
                 .progress = progress,
                 .run_name = run_name(),
                 .flags = flags,
                 .ranks = ranks};
  for (const Str& note : root->state().notes) progress.notice(note);
  if (experiment->backward_flops >= 0 && why_not_counted(*this).empty())
    out.flops = experiment->forward_flops + experiment->backward_flops;
  out.workers = workers;
  out.prefetch = prefetch;
  out.precision = precision;
  out.travel.bucket_bytes = strategy.bucket_bytes;
  if (strategy.reduce) out.travel.type = aten(*strategy.reduce);
  out.sync_batchnorm = strategy.sync_batchnorm;
  out.division = division_of(strategy);
  for (const OpenedFile& file : opened_files()) {
    if (!file.doubt.empty()) progress.notice(file.doubt);
    // Weights come from the checkpoint, whatever file they once came from.
    if (file.records >= 0) out.data_files.push_back({file.path, file.bytes, file.fingerprint});
  }
  for (const Resolved& setting : settings.resolved()) {
    // How many threads read data changes no bit; how many compute is kept by the run.
    // Nor do how long ranks wait, how often they begin again and who starts them, how others are served, and what is shown.
    static const std::set<Str> kFree = {"topology.workers",          "topology.prefetch", "topology.threads",
                                        "topology.timeout",          "topology.restarts", "topology.scheduler",
                                        "topology.scheduler.requeue"};
    static constexpr std::string_view kShown[] = {"callbacks.ProgressBar.", "callbacks.Summary.", "loggers.", "serve."};
    const bool is_shown =
        std::ranges::any_of(kShown, [&](std::string_view one) { return setting.path.starts_with(one); });
    if (!is_shown && !kFree.contains(setting.path)) out.settings.emplace_back(setting.path, setting.value);
  }
  for (const StepInfo& step : experiment->steps) {
    if (step.role == Role::Predict) continue;            // has what its own verb gives it
    if (streams_of(*data, step.role).empty()) continue;  // never runs, so it needs nothing
    StepParams params = read_step_params(*this, step).params;
    for (size_t i = 0; i < params.values.size(); ++i)
      out.settings.emplace_back(fmt::format("step {}.{}", step.name, step.params[i].name), params.values[i]);
    out.step_params[size_t(step.role)] = std::move(params);
  }
  return out;
}

std::vector<Str> option_names(const Program& program, std::vector<HparamInfo>& hparams) {
  std::vector<Str> names;
  if (!program.experiments.empty()) {
    // All experiments declare the same hparams; only their names are wanted here, so faults do not count.
    RunSettings probe;
    try {
      program.experiments[0].resolve(probe);
    } catch (const Error&) {
      probe.faults.clear();
    }
    hparams = probe.hparams();
    for (const HparamInfo& info : hparams) names.emplace_back(info.name);
  }
  for (const ExperimentInfo& experiment : program.experiments) {
    for (const StepInfo& step : experiment.steps) {
      for (const StepParam& param : step.params) {
        if (std::find(names.begin(), names.end(), param.name) == names.end()) names.emplace_back(param.name);
      }
    }
  }
  return names;
}

std::vector<StreamSize> stream_sizes(const Start& start) {
  std::vector<StreamSize> sizes;
  for (size_t i = 0; i < start.data->streams.size(); ++i) {
    data::LoaderOptions options = loader_options(*start.data, i, start.trainer);
    if (options.limit.batches == 0 || options.limit.fraction == 0) continue;
    options.mock = start.flags.mock_data;
    // What is counted in batches is counted by each rank.
    if (options.limit.batches > 0) options.limit.batches *= start.ranks.world();
    if (options.steps_per_epoch > 0) options.steps_per_epoch *= start.ranks.world();
    const data::Loader loader(start.data->streams[i].stream, options);
    sizes.push_back({options.name, loader.samples(), loader.batches(0), loader.batch_size()});
  }
  return sizes;
}

StreamSize train_size(const Start& start) {
  const std::vector<size_t> streams = streams_of(*start.data, Role::Train);
  if (streams.empty()) return {};
  data::LoaderOptions options = loader_options(*start.data, streams.front(), start.trainer);
  options.limit = {};
  options.mock = start.flags.mock_data;
  const data::Loader loader(start.data->streams[streams.front()].stream, options);
  return {options.name, loader.is_endless() ? kEndless : loader.samples(), loader.batches(0), loader.batch_size()};
}

void take_given_weights(Start& start) {
  const Str which = start.line.get("weights");
  if (which.empty() || which == "new") return;
  Str run;
  load_weights(*start.root, find_weights(start, which, run), !start.line.has("raw"));
}

Str find_weights(const Start& start, const Str& which, Str& run) {
  if (which == "new") return "";
  std::error_code failed;
  const bool is_name = which == "best" || which == "last" || which.empty();
  if (!is_name) {
    if (!fs::exists(which, failed))
      throw error_at({}, err::checkpoint_misfit, fmt::format("--weights {}: there is no such file", which));
    if (!fs::is_directory(which, failed)) return which;
    if (fs::exists(which + "/checkpoint.json", failed)) {
      const fs::path folder = fs::absolute(which).parent_path().parent_path();
      if (fs::exists(folder / "run.json", failed)) run = folder.string();
      return which;
    }
    if (!fs::exists(which + "/run.json", failed)) {
      throw error_at({}, err::checkpoint_misfit, fmt::format("--weights {}: neither a checkpoint nor a run", which));
    }
    run = which;
  } else {
    const Str wanted = start.line.get("run");
    run = find_run(start.out_dir(), start.experiment->name, start.run_name(), wanted);
    if (run.empty()) {
      throw with_help(
          error_at({}, err::checkpoint_misfit,
                   wanted.empty()
                       ? fmt::format("no run of {} in {}", runs_meant(start.experiment->name, start.run_name()),
                                     start.out_dir())
                       : fmt::format("no run {} of {} in {}", wanted, start.experiment->name, start.out_dir())),
          "train one with fit, or name weights with --weights");
    }
  }
  std::vector<Str> notices;
  Str path = find_checkpoint(run, which == "last" ? "last" : "best", &notices);
  if (path.empty() && which != "last" && which != "best") path = find_checkpoint(run, "last", &notices);
  for (const Str& notice : notices) print_err("note: " + notice + "\n");
  if (path.empty()) throw no_checkpoint(run, which, start.out_dir(), start.experiment->name, start.run_name());
  const nlohmann::json manifest = read_manifest(path);
  if (!computes_alike(manifest, start.program, *start.experiment))
    print_err(fmt::format("note: the program changed since this checkpoint: {} → {}\n",
                          manifest.value("program", "").substr(0, 12), Str(start.program.source_hash).substr(0, 12)));
  return path;
}

Trained trained_of(const Str& weights) {
  std::error_code failed;
  if (weights.empty() || !fs::exists(weights + "/checkpoint.json", failed)) return {};
  const nlohmann::json manifest = read_manifest(weights);
  const auto epoch = manifest.value("epoch", int64_t(0));
  const bool is_between = manifest.value("batch", int64_t(0)) == 0 && manifest.value("begun", int64_t(0)) == 0;
  return {manifest.value("step", int64_t(0)), is_between ? std::max<int64_t>(epoch - 1, 0) : epoch};
}

}  // namespace ltr::cli
