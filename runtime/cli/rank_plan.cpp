#include "runtime/cli/rank_plan.h"

#include <algorithm>
#include <filesystem>

#include "doors/memory.h"
#include "runtime/cli/cores.h"
#include "runtime/cli/prepare.h"
#include "runtime/settings/value_text.h"

namespace ltr::cli {

namespace {

// Of ranks that this program starts. Beyond these they would stand in each other's way before the first step.
constexpr int64_t kMostPerCore = 64;
constexpr int64_t kLeastBytes =
    int64_t(64) << 20;  // that one of a model of 131 weights has of its own, beside the libraries that all share

/// Ranks that have not met yet: enough to resolve settings.
class PlannedRanks final : public Ranks {
 public:
  PlannedRanks(int64_t rank, int64_t world) : rank_(rank), world_(world) {}
  int64_t rank() const override { return rank_; }
  int64_t world() const override { return world_; }
  std::vector<Str> texts(const Str& own) const override { return {own}; }

 private:
  int64_t rank_;
  int64_t world_;
};

[[noreturn]] void refuse(const Fault& fault, const Str& text, const Str& help) {
  throw Faults{{with_help(error_at({}, fault, text), help)}};
}

/// Ranks on this machine, and how few are enough for a restart.
struct Count {
  int64_t least = 1;
  int64_t most = 1;
};

/// `--nproc N` or `--nproc LEAST:MOST`, if it was given.
Option<Count> given_count(const CommandLine& line) {
  if (!line.has("nproc")) return std::nullopt;
  const Str text = line.get("nproc");
  const size_t colon = text.find(':');
  Str wanted;
  const Option<Value> least = parse_value(text.substr(0, colon), "int", wanted);
  const Option<Value> most = colon == Str::npos ? least : parse_value(text.substr(colon + 1), "int", wanted);
  if (!least || !most || least->whole < 1 || most->whole < least->whole)
    throw Faults{{error_at({}, err::wrong_type, "--nproc", '"' + text + '"',
                           "a count of ranks, 1 or more, or LEAST:MOST of them")}};
  return Count{least->whole, most->whole};
}

/// The settings of one world.
class Planner {
 public:
  Planner(const Program& program, const CommandLine& line, const Terminal& terminal, const distributed::Launch& launch)
      : program_(program), line_(line), terminal_(terminal), launch_(launch) {}

  RankPlan plan() {
    plan_.place = launch_.place;
    plan_.job = launch_.job;
    plan_.is_supervised = launch_.is_supervised;
    if (launch_.has_ranks)
      plan_joined();
    else
      plan_own();
    plan_.timeout_s = start_->settings.value("topology.timeout").real;
    plan_.out_dir = start_->out_dir();
    plan_.sharing = ranks_sharing(plan_.place);
    return plan_;
  }

 private:
  /// As a process with `local_rank` sees them.
  void resolve(int64_t rank, int64_t world, int64_t local_rank) {
    if (is_resolved_ && ranks_->world() == world && start_->local_rank == local_rank) return;
    start_.reset();
    ranks_.emplace(rank, world);
    start_.emplace(program_, line_, terminal_, *ranks_);
    start_->is_plan = true;
    start_->local_rank = local_rank;
    start_->resolve();
    is_resolved_ = true;
  }

  int64_t count_of(const char* path) const { return start_->settings.value(path).as_int(); }

  /// A launcher made this rank.
  void plan_joined() {
    const distributed::Place& place = launch_.place;
    resolve(place.rank, place.world, place.local_rank);
    if (!launch_.is_supervised) {
      if (const Option<Count> count = given_count(line_);
          count && (place.local_size < count->least || place.local_size > count->most))
        refuse(err::settings_contradict,
               fmt::format("--nproc {}, but the launcher {} started {} ranks on this machine", line_.get("nproc"),
                           place.launcher, place.local_size),
               "leave --nproc to it, or start the program by itself");
      if (count_of("topology.restarts") > 0 && place.rank == 0 && terminal_.has_warnings)
        print_err(fmt::format("warning: restarts = {} is for ranks that the program starts itself; here {} does\n",
                              count_of("topology.restarts"), place.launcher));
    }
  }

  /// Nobody made ranks on this machine.
  void plan_own() {
    const Option<Count> given = given_count(line_);
    const int64_t local = given ? given->most : launch_.local_size > 0 ? launch_.local_size : ranks_of_settings();
    const int64_t world = local * launch_.nodes;
    check_room(local);
    plan_.least = given ? given->least : local;
    // What all of them are to run with is known before the first starts.
    for (int64_t fewer = plan_.least; fewer < local; fewer++) resolve(0, fewer * launch_.nodes, fewer - 1);
    // Of those of one machine the last one wants the most devices.
    resolve(0, world, local - 1);
    warn_of_cores(local);
    plan_.restarts = line_.verb == "fit" ? count_of("topology.restarts") : 0;
    if (plan_.least < local) check_fewer();
    plan_.is_supervisor = world > 1 || plan_.restarts > 0;
    if (plan_.is_supervisor) refuse_pipes(line_);
    plan_.place.rank = launch_.place.node * local;
    plan_.place.world = world;
    plan_.place.local_size = local;
  }

  /// How many the settings ask for on this machine. What is wrong with them is not said here: they hold for a world that is
  /// not known yet.
  int64_t ranks_of_settings() {
    try {
      resolve(0, launch_.nodes, 0);
    } catch (const Faults&) {
      // They are found again with all ranks.
    }
    const auto setting = [&](const Str& name) -> const Value& { return start_->settings.value("topology." + name); };
    const Option<Devices> devices = read_devices(show(setting("devices")));
    if (!devices) return 1;
    if (devices->count > 0) return devices->count;
    const int64_t asked = distributed::asked_ranks(setting).value_or(launch_.nodes);
    return std::max(asked / std::max(count_of("topology.nodes"), launch_.nodes), int64_t(1));
  }

  /// Ranks may become fewer where this process starts all of them again.
  void check_fewer() const {
    const Str given = "--nproc " + line_.get("nproc");
    if (launch_.nodes > 1)
      refuse(err::settings_contradict,
             fmt::format("{} on {} machines: each would go on with a number of its own", given, launch_.nodes),
             "name one number, or let torchrun count machines: `torchrun --nnodes LEAST:MOST`");
    if (plan_.restarts == 0)
      refuse(err::settings_contradict, given + " is for restarts with fewer ranks, and there are none",
             "add `--restarts N`, or name one number");
  }

  /// What would swamp the machine is refused before any of it starts.
  static void check_room(int64_t local) {
    const int64_t cores = own_cores(), memory = doors::own_memory();
    const int64_t most = std::max(std::min(cores * kMostPerCore, memory / kLeastBytes), int64_t(1));
    if (local <= most) return;
    refuse(err::topology_unavailable,
           fmt::format("{} ranks on this machine, which has {} and {} of memory: it has room for {} at most",
                       with_commas(local), plural(cores, "core"), bytes_text(double(memory)), with_commas(most)),
           fmt::format("--nproc {} is one for each core; more than {} for each, or with less than {} of memory for "
                       "each, are not started",
                       cores, kMostPerCore, bytes_text(double(kLeastBytes))));
  }

  void warn_of_cores(int64_t local) const {
    if (local > own_cores() && terminal_.has_warnings)
      print_err(
          fmt::format("warning: {} ranks share {}: each waits for the others\n", local, plural(own_cores(), "core")));
  }

  const Program& program_;
  const CommandLine& line_;
  const Terminal& terminal_;
  const distributed::Launch& launch_;
  Option<PlannedRanks> ranks_;
  Option<Start> start_;
  bool is_resolved_ = false;
  RankPlan plan_;
};

}  // namespace

void refuse_pipes(const CommandLine& line) {
  for (const GivenOption& given : line.options) {
    if (!given.text || std::filesystem::is_regular_file(given.value)) continue;
    throw Faults{{with_help(
        error_at({}, err::wrong_type, given.shown, '"' + given.value + '"', "a file that every rank can read"),
        "write the settings to a file first, or give each of them with --set")}};
  }
}

RankPlan plan_ranks(const Program& program, const CommandLine& line, const Terminal& terminal,
                    const distributed::Launch& launch) {
  return Planner(program, line, terminal, launch).plan();
}

}  // namespace ltr::cli
