#include "runtime/distributed/launch.h"

#include <unistd.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "doors/file.h"
#include "doors/json.h"
#include "runtime/api/error.h"
#include "runtime/api/suggest.h"
#include "runtime/distributed/host_list.h"
#include "runtime/distributed/whole.h"

namespace ltr::distributed {

namespace {

constexpr int kUsualPort = 29500;  // torchrun's, too
constexpr const char* kSageMakerFile = "/opt/ml/input/config/resourceconfig.json";
constexpr uint64_t kMostFileBytes = 16 << 20;

/// The variables as one launcher sets them; what is wrong with them is R2008.
class Variables {
 public:
  Variables(const Environment& environment, const char* launcher) : environment_(environment), launcher_(launcher) {}

  Option<Str> text_if(const Str& name) const {
    const Option<Str> text = environment_.variable(name);
    return text && !text->empty() ? text : std::nullopt;
  }
  bool has(const Str& name) const { return text_if(name).has_value(); }
  Str text(const Str& name) const {
    const Option<Str> found = text_if(name);
    if (!found) refuse(fmt::format("{} is not set", name));
    return *found;
  }
  Option<int64_t> number_if(const Str& name) const {
    const Option<Str> found = text_if(name);
    if (!found) return std::nullopt;
    const Option<int64_t> number = whole_number(*found);
    if (!number) refuse(fmt::format("{} is \"{}\", but a whole number is wanted", name, *found));
    return number;
  }
  int64_t number(const Str& name) const {
    text(name);
    return *number_if(name);
  }
  bool has_file(const Str& path) const { return environment_.file(path).has_value(); }
  Str file(const Str& path) const {
    const Option<Str> found = environment_.file(path);
    if (!found) refuse(fmt::format("the file {} cannot be read", path));
    return *found;
  }
  int64_t parent() const { return environment_.parent; }

  /// A rank and how many there are, by the variables of these names.
  void fill(int64_t& index, int64_t& size, const Str& index_name, const Str& size_name) const {
    index = number(index_name);
    size = number(size_name);
    if (size < 1) refuse(fmt::format("{} is {}, but there is at least this process", size_name, size));
    if (index >= size) refuse(fmt::format("{} is {}, but {} is {}", index_name, index, size_name, size));
  }
  /// `host:port`.
  void fill_meeting(Place& place, const Str& name) const {
    const Str address = text(name);
    const size_t colon = address.rfind(':');
    const Option<int64_t> port = colon == Str::npos ? std::nullopt : whole_number(address.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535 || colon == 0)
      refuse(fmt::format("{} is \"{}\", but HOST:PORT is wanted", name, address));
    place.host = address.substr(0, colon);
    if (place.host.front() == '[' && place.host.back() == ']') place.host = place.host.substr(1, place.host.size() - 2);
    place.port = int(*port);
  }
  int port(const Str& name) const {
    const int64_t port = number(name);
    if (port < 1 || port > 65535) refuse(fmt::format("{} is {}, but a port is wanted: 1 to 65535", name, port));
    return int(port);
  }
  /// What MASTER_ADDR and MASTER_PORT say, where they say it, has the last word over what is derived.
  void fill_meeting(Place& place, const Str& host, int64_t port) const {
    place.host = text_if("MASTER_ADDR").value_or(host);
    place.port = has("MASTER_PORT") ? this->port("MASTER_PORT") : int(port);
  }
  /// Jobs whose processes start minutes apart say it.
  Option<double> seconds_to_join() const {
    const Option<int64_t> seconds = number_if("LTR_JOIN_TIMEOUT");
    if (seconds && *seconds < 1) refuse("LTR_JOIN_TIMEOUT is 0, but a number of seconds is wanted, 1 or more");
    return seconds ? Option<double>(double(*seconds)) : std::nullopt;
  }
  [[noreturn]] void refuse(const Str& what) const {
    throw with_help(error_at({}, err::topology_unavailable, fmt::format("launcher {}: {}", launcher_, what)),
                    "start it with that launcher as a whole, or let it stand by itself with --launcher none");
  }

 private:
  const Environment& environment_;
  const char* launcher_;
};

/// A number that a name always gives: FNV-1a.
uint64_t hash_of(const Str& name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ uint8_t(c)) * 0x100000001b3u;
  return hash;
}

/// A process of a launcher that numbers its ranks node by node.
Launch rank_by(const Variables& given, const Str& rank, const Str& world, const Str& local_rank,
               const Str& local_size) {
  Launch launch;
  Place& place = launch.place;
  given.fill(place.rank, place.world, rank, world);
  given.fill(place.local_rank, place.local_size, local_rank, local_size);
  if (place.local_size > place.world)
    given.refuse(fmt::format("{} is {}, but {} is {}", local_size, place.local_size, world, place.world));
  place.node = place.rank / place.local_size;
  place.serves = place.rank == 0;
  return launch;
}

bool is_own(const Variables& given) { return given.has("LTR_RANK"); }

Launch read_own(const Variables& given) {
  Launch launch = rank_by(given, "LTR_RANK", "LTR_WORLD", "LTR_LOCAL_RANK", "LTR_LOCAL_SIZE");
  launch.is_supervised = given.has("LTR_SUPERVISOR");
  launch.place.node = given.number_if("LTR_NODE_RANK").value_or(launch.place.node);
  launch.place.prefix = fmt::format("ltr/{}/", given.number_if("LTR_ATTEMPT").value_or(0));
  // A supervisor keeps the meeting point, so that it outlives every rank.
  launch.place.serves = launch.place.serves && !launch.is_supervised;
  if (launch.place.world > 1 || launch.is_supervised) given.fill_meeting(launch.place, "LTR_MASTER");
  return launch;
}

bool is_torchrun(const Variables& given) {
  return given.has("RANK") && given.has("WORLD_SIZE") && given.has("LOCAL_RANK");
}

Launch read_torchrun(const Variables& given) {
  Launch launch;
  Place& place = launch.place;
  if (given.has("LOCAL_WORLD_SIZE")) {
    launch = rank_by(given, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE");
  } else {
    // Azure's, which tells how many machines there are; others that say nothing are on one.
    given.fill(place.rank, place.world, "RANK", "WORLD_SIZE");
    const int64_t nodes = std::max<int64_t>(1, given.number_if("AZUREML_NODE_COUNT").value_or(1));
    place.local_size = std::max<int64_t>(1, place.world / nodes);
    place.local_rank = given.number("LOCAL_RANK");
    if (place.local_rank >= place.local_size)
      given.refuse(
          fmt::format("LOCAL_RANK is {}, but there are {} ranks on {} nodes", place.local_rank, place.world, nodes));
    place.node = place.rank / place.local_size;
    place.serves = place.rank == 0;
  }
  place.node = given.number_if("GROUP_RANK").value_or(place.node);
  place.host = given.text("MASTER_ADDR");
  place.port = given.port("MASTER_PORT");
  if (given.text_if("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True") {
    place.serves = false;
    place.prefix = fmt::format("/worker/attempt_{}/ltr/", given.number_if("TORCHELASTIC_RESTART_COUNT").value_or(0));
  }
  return launch;
}

/// Where the processes of an MPI launcher meet (doors.md 5.3): they are told nothing about it.
Launch with_meeting(const Variables& given, Launch launch) {
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "HOROVOD_GLOO_RENDEZVOUS_PORT"}) {
    if (launch.job.empty()) launch.job = given.text_if(name).value_or("");
  }
  const bool is_one_node = launch.place.local_size == launch.place.world;
  // One daemon starts all processes of a machine.
  if (launch.job.empty() && is_one_node) launch.job = std::to_string(given.parent());
  const auto port = int64_t(20000 + hash_of(launch.job) % 10000);
  if (is_one_node) {
    given.fill_meeting(launch.place, "127.0.0.1", port);
  } else if (given.has("AZ_BATCH_MASTER_NODE") && !given.has("MASTER_ADDR")) {
    given.fill_meeting(launch.place, "AZ_BATCH_MASTER_NODE");
  } else {
    given.fill_meeting(launch.place, given.text_if("AZ_BATCHAI_MPI_MASTER_NODE").value_or(""), port);
  }
  return launch;
}

bool is_horovod(const Variables& given) { return given.has("HOROVOD_RANK"); }

Launch read_horovod(const Variables& given) {
  return with_meeting(given,
                      rank_by(given, "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE"));
}

bool is_openmpi(const Variables& given) { return given.has("OMPI_COMM_WORLD_RANK"); }

Launch read_openmpi(const Variables& given) {
  return with_meeting(given, rank_by(given, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"));
}

/// SLURM may start processes with PMI's variables, too; it tells their place on the machine in its own way.
bool is_mpich(const Variables& given) {
  return given.has("MV2_COMM_WORLD_RANK") ||
         (given.has("PMI_RANK") && (given.has("MPI_LOCALRANKID") || !given.has("SLURM_PROCID")));
}

Launch read_mpich(const Variables& given) {
  if (given.has("MV2_COMM_WORLD_RANK")) {
    return with_meeting(given, rank_by(given, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
                                       "MV2_COMM_WORLD_LOCAL_SIZE"));
  }
  return with_meeting(given, rank_by(given, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"));
}

bool is_lsf(const Variables& given) { return given.has("JSM_NAMESPACE_RANK"); }

Launch read_lsf(const Variables& given) {
  Launch launch;
  Place& place = launch.place;
  given.fill(place.rank, place.world, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE");
  place.local_rank = given.number("JSM_NAMESPACE_LOCAL_RANK");
  std::istringstream lines(given.file(given.text("LSB_DJOB_RANKFILE")));
  std::vector<Str> hosts;
  for (Str host; lines >> host;) hosts.push_back(host);
  // The first line is the machine that jsrun was called on, which computes nothing.
  if (hosts.size() < 2)
    given.refuse(fmt::format("LSB_DJOB_RANKFILE, {}, names no compute host", given.text("LSB_DJOB_RANKFILE")));
  const auto nodes = int64_t(std::set<Str>(hosts.begin() + 1, hosts.end()).size());
  place.local_size = std::max((place.world + nodes - 1) / nodes, place.local_rank + 1);
  place.node = place.rank / place.local_size;
  place.serves = place.rank == 0;
  given.fill_meeting(place, hosts[1], 10000 + given.number("LSB_JOBID") % 1000);
  return launch;
}

/// In a job's script, and in a shell that srun opened, SLURM sets the variables of ranks that it has not started.
bool is_slurm(const Variables& given) {
  const Str name = given.text_if("SLURM_JOB_NAME").value_or("");
  const bool is_shell = name == "bash" || name == "interactive" || given.has("SLURM_PTY_PORT");
  return given.has("SLURM_PROCID") && given.has("SLURM_NTASKS") && given.has("SLURM_STEP_ID") && !is_shell;
}

/// The ranks of node `node` by `2(x3),1`: 2 2 2 1.
Option<int64_t> tasks_of(const Str& list, int64_t node) {
  std::istringstream pieces(list);
  for (Str piece; std::getline(pieces, piece, ',');) {
    const size_t open = piece.find("(x");
    const Option<int64_t> tasks = whole_number(piece.substr(0, open));
    const Option<int64_t> times =
        open == Str::npos ? 1 : whole_number(piece.substr(open + 2, piece.find(')') - open - 2));
    if (!tasks || !times) return std::nullopt;
    if (node < *times) return tasks;
    node -= *times;
  }
  return std::nullopt;
}

Launch read_slurm(const Variables& given) {
  Launch launch;
  Place& place = launch.place;
  given.fill(place.rank, place.world, "SLURM_PROCID", "SLURM_NTASKS");
  place.local_rank = given.number("SLURM_LOCALID");
  place.node = given.number_if("SLURM_NODEID").value_or(0);
  // A step may have a part of the job's nodes and tasks.
  const Str tasks_name = given.has("SLURM_STEP_TASKS_PER_NODE") ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
  const Option<int64_t> tasks = tasks_of(given.text(tasks_name), place.node);
  if (!tasks || place.local_rank >= *tasks)
    given.refuse(fmt::format("{} is \"{}\" for task {} of node {}", tasks_name, given.text(tasks_name),
                             place.local_rank, place.node));
  place.local_size = *tasks;
  place.serves = place.rank == 0;
  const Str nodes_name = given.has("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const Option<std::vector<Str>> hosts = expand_hosts(given.text(nodes_name));
  if (!hosts) given.refuse(fmt::format("{} is \"{}\", which is no list of hosts", nodes_name, given.text(nodes_name)));
  given.fill_meeting(place, hosts->front(), 15000 + given.number("SLURM_JOB_ID") % 10000);
  return launch;
}

/// A machine of several, which is to make its ranks itself.
Launch node_of(int64_t node, int64_t nodes) {
  Launch launch;
  launch.has_ranks = false;
  launch.nodes = nodes;
  launch.place.node = node;
  launch.place.serves = node == 0;
  return launch;
}

bool is_sagemaker(const Variables& given) { return given.has_file(kSageMakerFile); }

Launch read_sagemaker(const Variables& given) {
  const nlohmann::json config = doors::try_json(given.file(kSageMakerFile));
  const bool has_hosts = config.is_object() && config.contains("hosts") && config["hosts"].is_array();
  const nlohmann::json hosts = has_hosts ? config["hosts"] : nlohmann::json::array();
  const auto found = std::find(hosts.begin(), hosts.end(),
                               config.is_object() ? config.value("current_host", nlohmann::json()) : nlohmann::json());
  if (found == hosts.end() || !found->is_string())
    given.refuse(fmt::format("{} does not have `current_host` among `hosts`", kSageMakerFile));
  Launch launch = node_of(found - hosts.begin(), int64_t(hosts.size()));
  given.fill_meeting(launch.place, hosts[0].get<Str>(), kUsualPort);
  return launch;
}

bool is_node(const Variables& given) {
  return given.has("LTR_NODES") || given.has("PET_NNODES") || given.has("RANK") || given.has("WORLD_SIZE");
}

Launch read_node(const Variables& given) {
  int64_t node = 0;
  int64_t nodes = 1;
  if (given.has("LTR_NODES")) {
    given.fill(node, nodes, given.has("LTR_NODE_RANK") ? "LTR_NODE_RANK" : "JOB_COMPLETION_INDEX", "LTR_NODES");
    Launch launch = node_of(node, nodes);
    if (nodes > 1) given.fill_meeting(launch.place, "LTR_MASTER");
    return launch;
  }
  const bool is_pet = given.has("PET_NNODES");
  given.fill(node, nodes, is_pet ? "PET_NODE_RANK" : "RANK", is_pet ? "PET_NNODES" : "WORLD_SIZE");
  Launch launch = node_of(node, nodes);
  // `auto` leaves it to the devices of the topology.
  const Str local = is_pet ? given.text_if("PET_NPROC_PER_NODE").value_or("auto") : "auto";
  if (local != "auto" && local != "cpu" && local != "gpu") launch.local_size = given.number("PET_NPROC_PER_NODE");
  if (nodes == 1) return launch;
  launch.place.host = given.text(is_pet ? "PET_MASTER_ADDR" : "MASTER_ADDR");
  launch.place.port = given.port(is_pet ? "PET_MASTER_PORT" : "MASTER_PORT");
  return launch;
}

bool is_always(const Variables&) { return true; }

Launch read_none(const Variables&) { return node_of(0, 1); }

/// In the order in which they are looked for: launchers that start others set their own variables in front of theirs.
struct Row {
  const char* name;
  bool (*is_here)(const Variables& given);
  Launch (*read)(const Variables& given);
};
constexpr Row kRows[] = {
    {"own", is_own, read_own},
    {"torchrun", is_torchrun, read_torchrun},
    {"horovod", is_horovod, read_horovod},
    {"openmpi", is_openmpi, read_openmpi},
    {"mpich", is_mpich, read_mpich},
    {"lsf", is_lsf, read_lsf},
    {"slurm", is_slurm, read_slurm},
    {"sagemaker", is_sagemaker, read_sagemaker},
    {"node", is_node, read_node},
    {"none", is_always, read_none},
};

const Row& find_row(const Environment& environment, const Str& forced) {
  std::vector<Str> names;
  for (const Row& row : kRows) {
    names.emplace_back(row.name);
    const bool is_wanted = forced.empty() ? row.is_here(Variables(environment, row.name)) : forced == row.name;
    if (is_wanted) return row;
  }
  const Str near = nearest(forced, names);
  throw with_help(error_at({}, err::wrong_type, "--launcher", '"' + forced + '"',
                           Str("one of ") + fmt::format("{}", fmt::join(names, ", "))),
                  near.empty() ? "" : fmt::format("did you mean {}?", near));
}

}  // namespace

Environment process_environment() {
  return {[](const Str& name) {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? Option<Str>() : Option<Str>(value);
          },
          [](const Str& path) -> Option<Str> {
            try {
              return doors::read_plain_file(path, kMostFileBytes);
            } catch (const std::exception&) {
              return std::nullopt;  // whoever needs it says that it is missing
            }
          },
          ::getppid()};
}

Launch find_launch(const Environment& environment, const Str& forced) {
  // A rank that we started has what its supervisor was called with: that has been decided.
  const bool is_decided = Variables(environment, "own").has("LTR_SUPERVISOR");
  const Row& row = find_row(environment, is_decided ? "own" : forced);
  Launch launch = row.read(Variables(environment, row.name));
  launch.place.launcher = row.name;
  launch.place.join_s = Variables(environment, row.name).seconds_to_join().value_or(launch.place.join_s);
  return launch;
}

Str describe_launch(const Place& place) {
  const int64_t nodes = (place.world + place.local_size - 1) / place.local_size;
  return fmt::format("launcher {}: {} rank{} on {} node{}, meeting {}", place.launcher, place.world,
                     place.world == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s", place.meeting());
}

}  // namespace ltr::distributed
