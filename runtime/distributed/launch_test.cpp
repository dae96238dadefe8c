#include <doctest/doctest.h>

#include <map>

#include "runtime/api/error.h"
#include "runtime/distributed/host_list.h"
#include "runtime/distributed/launch.h"

namespace ltr::distributed {

namespace {

using Variables = std::map<Str, Str>;

Environment recorded(const Variables& variables, const std::map<Str, Str>& files = {}) {
  const auto find = [](const std::map<Str, Str>& all) {
    return [all](const Str& name) {
      const auto found = all.find(name);
      return found == all.end() ? Option<Str>() : Option<Str>(found->second);
    };
  };
  return {find(variables), find(files), 4711};
}

/// `rank/world local/size node host:port`, with a star for who opens the meeting point; or what a machine knows.
Str text_of(const Launch& launch) {
  const Place& at = launch.place;
  const Str meeting = fmt::format("{}:{}{}", at.host, at.port, at.serves ? "*" : "");
  if (!launch.has_ranks) return fmt::format("{} node {}/{} {}", at.launcher, at.node, launch.nodes, meeting);
  return fmt::format("{} {}/{} {}/{} {} {}", at.launcher, at.rank, at.world, at.local_rank, at.local_size, at.node,
                     meeting);
}

Str found(const Variables& variables, const Str& forced = "") {
  return text_of(find_launch(recorded(variables), forced));
}

Str refusal(const Variables& variables, const Str& forced = "") {
  try {
    return "accepted: " + found(variables, forced);
  } catch (const Error& error) {
    return error.code + " " + error.message;
  }
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const Str& name) {
  variables.erase(name);
  return variables;
}

const Variables kOwn = {{"LTR_RANK", "1"},
                        {"LTR_WORLD", "2"},
                        {"LTR_LOCAL_RANK", "1"},
                        {"LTR_LOCAL_SIZE", "2"},
                        {"LTR_MASTER", "127.0.0.1:43211"}};
const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"GROUP_RANK", "1"},
                             {"MASTER_ADDR", "n0"},
                             {"MASTER_PORT", "29400"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"}};
const Variables kOpenmpi = {{"OMPI_COMM_WORLD_RANK", "3"},       {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"OMPI_COMM_WORLD_NODE_RANK", "3"},  {"PMIX_NAMESPACE", "prterun-n0-1234@1"}};
const Variables kSlurm = {{"SLURM_PROCID", "3"},
                          {"SLURM_NTASKS", "5"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "1"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_TASKS_PER_NODE", "2(x2),1"},
                          {"SLURM_JOB_NODELIST", "n[08-10]"},
                          {"SLURM_JOB_ID", "70423"},
                          {"SLURM_JOB_NAME", "train"}};

}  // namespace

TEST_CASE("each launcher's variables give the place of a rank") {
  CHECK(found({}) == "none node 0/1 127.0.0.1:0*");
  CHECK(found(kOwn) == "own 1/2 1/2 0 127.0.0.1:43211");
  CHECK(found(with(kOwn, {{"LTR_RANK", "0"}, {"LTR_LOCAL_RANK", "0"}})) == "own 0/2 0/2 0 127.0.0.1:43211*");
  CHECK(found(with(kOwn, {{"LTR_RANK", "0"}, {"LTR_LOCAL_RANK", "0"}, {"LTR_SUPERVISOR", "9"}})) ==
        "own 0/2 0/2 0 127.0.0.1:43211");
  CHECK(found(kTorchrun) == "torchrun 5/8 1/4 1 n0:29400");
  CHECK(found(with(without(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE"),
                   {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"GROUP_RANK", "0"}})) == "torchrun 0/8 0/4 0 n0:29400*");
  CHECK(found({{"RANK", "3"},
               {"WORLD_SIZE", "4"},
               {"LOCAL_RANK", "1"},
               {"NODE_RANK", "1"},
               {"AZUREML_NODE_COUNT", "2"},
               {"MASTER_ADDR", "10.0.0.4"},
               {"MASTER_PORT", "6105"}}) == "torchrun 3/4 1/2 1 10.0.0.4:6105");
  CHECK(found({{"HOROVOD_RANK", "1"},
               {"HOROVOD_SIZE", "2"},
               {"HOROVOD_LOCAL_RANK", "1"},
               {"HOROVOD_LOCAL_SIZE", "2"},
               {"HOROVOD_GLOO_RENDEZVOUS_PORT", "1"},
               {"MASTER_PORT", "29501"}}) == "horovod 1/2 1/2 0 127.0.0.1:29501");
  CHECK(found(with(kOpenmpi, {{"MASTER_PORT", "29502"}})) == "openmpi 3/4 3/4 0 127.0.0.1:29502");
  CHECK(found({{"PMI_RANK", "1"},
               {"PMI_SIZE", "2"},
               {"MPI_LOCALRANKID", "1"},
               {"MPI_LOCALNRANKS", "2"},
               {"MASTER_PORT", "29503"}}) == "mpich 1/2 1/2 0 127.0.0.1:29503");
  CHECK(found({{"MV2_COMM_WORLD_RANK", "2"},
               {"MV2_COMM_WORLD_SIZE", "4"},
               {"MV2_COMM_WORLD_LOCAL_RANK", "0"},
               {"MV2_COMM_WORLD_LOCAL_SIZE", "2"},
               {"MASTER_ADDR", "n0"},
               {"MASTER_PORT", "29504"}}) == "mpich 2/4 0/2 1 n0:29504");
  CHECK(found(kSlurm) == "slurm 3/5 1/2 1 n08:15423");
  CHECK(found(with(kSlurm, {{"SLURM_STEP_NODELIST", "n[09-10]"}, {"SLURM_STEP_TASKS_PER_NODE", "1,4"}})) ==
        "slurm 3/5 1/4 1 n09:15423");
}

TEST_CASE("launchers that make one process for each machine give its index") {
  CHECK(found({{"LTR_NODES", "2"}, {"JOB_COMPLETION_INDEX", "1"}, {"LTR_MASTER", "train-0.train:29500"}}) ==
        "node node 1/2 train-0.train:29500");
  CHECK(found({{"LTR_NODES", "2"}, {"LTR_NODE_RANK", "0"}, {"LTR_MASTER", "[::1]:29500"}}) ==
        "node node 0/2 ::1:29500*");
  CHECK(
      found({{"PET_NNODES", "2"}, {"PET_NODE_RANK", "1"}, {"PET_MASTER_ADDR", "w-0"}, {"PET_MASTER_PORT", "29400"}}) ==
      "node node 1/2 w-0:29400");
  CHECK(find_launch(recorded({{"PET_NNODES", "1"}, {"PET_NODE_RANK", "0"}, {"PET_NPROC_PER_NODE", "4"}})).local_size ==
        4);
  CHECK(found({{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "m"}, {"MASTER_PORT", "23456"}}) ==
        "node node 1/3 m:23456");
  const std::map<Str, Str> files = {
      {"/opt/ml/input/config/resourceconfig.json", R"({"current_host": "algo-2", "hosts": ["algo-1", "algo-2"]})"}};
  CHECK(text_of(find_launch(recorded({}, files))) == "sagemaker node 1/2 algo-1:29500");
}

TEST_CASE("LSF's first compute host is the meeting point") {
  const Variables lsf = {{"JSM_NAMESPACE_RANK", "3"},
                         {"JSM_NAMESPACE_SIZE", "4"},
                         {"JSM_NAMESPACE_LOCAL_RANK", "1"},
                         {"LSB_JOBID", "12345"},
                         {"LSB_DJOB_RANKFILE", "/ranks"}};
  CHECK(text_of(find_launch(recorded(lsf, {{"/ranks", "batch1\na01\na01\na02\na02\n"}}))) == "lsf 3/4 1/2 1 a01:10345");
  CHECK(refusal(lsf) == "R2008 launcher lsf: the file /ranks cannot be read");
}

TEST_CASE("the first launcher of the table wins, unless one is forced") {
  CHECK(found(with(kSlurm, kOpenmpi)).starts_with("openmpi"));
  CHECK(found(with(kOpenmpi, kOwn)).starts_with("own"));
  CHECK(found(with(kSlurm, kOpenmpi), "slurm").starts_with("slurm"));
  CHECK(found(kSlurm, "none") == "none node 0/1 127.0.0.1:0*");
  // A rank of ours is called with what its supervisor was called with.
  CHECK(found(with(kOwn, {{"LTR_SUPERVISOR", "9"}}), "none").starts_with("own 1/2"));
  CHECK(refusal({}, "slrm") ==
        "R2003 --launcher is \"slrm\", but one of own, torchrun, horovod, openmpi, mpich, lsf, slurm, sagemaker, node, "
        "none is wanted");
  CHECK(refusal({}, "slurm") == "R2008 launcher slurm: SLURM_PROCID is not set");
}

TEST_CASE("SLURM's variables outside of srun make no ranks") {
  CHECK(found(without(kSlurm, "SLURM_STEP_ID")).starts_with("none"));
  CHECK(found(with(kSlurm, {{"SLURM_JOB_NAME", "bash"}})).starts_with("none"));
  CHECK(found(with(kSlurm, {{"SLURM_PTY_PORT", "1"}})).starts_with("none"));
  // Started with PMI's variables, too.
  CHECK(found(with(kSlurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "5"}})).starts_with("slurm"));
}

TEST_CASE("MASTER_ADDR and MASTER_PORT win over what is derived") {
  CHECK(found(with(kSlurm, {{"MASTER_ADDR", "head"}, {"MASTER_PORT", "29999"}})) == "slurm 3/5 1/2 1 head:29999");
  CHECK(refusal(with(kSlurm, {{"MASTER_PORT", "0"}})) ==
        "R2008 launcher slurm: MASTER_PORT is 0, but a port is wanted: 1 to 65535");
}

TEST_CASE("processes of mpirun meet at a port of their job, or by a file") {
  const Launch one = find_launch(recorded(kOpenmpi)),
               same = find_launch(
                   recorded(with(kOpenmpi, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}})));
  CHECK(one.place.port == same.place.port);
  CHECK(one.place.port >= 20000);
  CHECK(one.place.port < 30000);
  CHECK(find_launch(recorded(with(kOpenmpi, {{"PMIX_NAMESPACE", "prterun-n0-99@1"}}))).place.port != one.place.port);
  // One daemon started all of them.
  CHECK(find_launch(recorded(without(kOpenmpi, "PMIX_NAMESPACE"))).job == "4711");
  const Variables two_nodes =
      with(kOpenmpi, {{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  CHECK(find_launch(recorded(two_nodes)).place.host == "");
  CHECK(find_launch(recorded(two_nodes)).job == "prterun-n0-1234@1");
  CHECK(found(with(two_nodes, {{"AZ_BATCH_MASTER_NODE", "10.0.0.4:6000"}})) == "openmpi 3/4 1/2 1 10.0.0.4:6000");
  CHECK(find_launch(recorded(with(two_nodes, {{"AZ_BATCHAI_MPI_MASTER_NODE", "10.0.0.5"}}))).place.host == "10.0.0.5");
}

TEST_CASE("variables that are half set or contradict each other are named") {
  const Str start = "R2008 launcher torchrun: ";
  CHECK(refusal(with(kTorchrun, {{"RANK", "8"}})) == start + "RANK is 8, but WORLD_SIZE is 8");
  CHECK(refusal(with(kTorchrun, {{"RANK", "-1"}})) == start + "RANK is \"-1\", but a whole number is wanted");
  CHECK(refusal(with(kTorchrun, {{"WORLD_SIZE", "two"}})) ==
        start + "WORLD_SIZE is \"two\", but a whole number is wanted");
  CHECK(refusal(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}})) == start + "LOCAL_WORLD_SIZE is 9, but WORLD_SIZE is 8");
  CHECK(refusal(with(kTorchrun, {{"LOCAL_RANK", "4"}})) == start + "LOCAL_RANK is 4, but LOCAL_WORLD_SIZE is 4");
  CHECK(refusal(without(kTorchrun, "MASTER_ADDR")) == start + "MASTER_ADDR is not set");
  CHECK(refusal({{"WORLD_SIZE", "2"}}) == "R2008 launcher node: RANK is not set");
  CHECK(refusal(with(kOwn, {{"LTR_MASTER", "nowhere"}})) ==
        "R2008 launcher own: LTR_MASTER is \"nowhere\", but HOST:PORT is wanted");
  CHECK(refusal(without(kOwn, "LTR_WORLD")) == "R2008 launcher own: LTR_WORLD is not set");
  CHECK(refusal(with(kSlurm, {{"SLURM_JOB_NODELIST", "n[1-"}})) ==
        "R2008 launcher slurm: SLURM_JOB_NODELIST is \"n[1-\", which is no list of hosts");
  CHECK(refusal({{"PET_NNODES", "1:2"}, {"PET_NODE_RANK", "0"}}) ==
        "R2008 launcher node: PET_NNODES is \"1:2\", but a whole number is wanted");
}

TEST_CASE("how long ranks wait until all have come") {
  CHECK(find_launch(recorded(kTorchrun)).place.join_s == 60);
  CHECK(find_launch(recorded(with(kTorchrun, {{"LTR_JOIN_TIMEOUT", "900"}}))).place.join_s == 900);
  CHECK(refusal(with(kSlurm, {{"LTR_JOIN_TIMEOUT", "0"}})) ==
        "R2008 launcher slurm: LTR_JOIN_TIMEOUT is 0, but a number of seconds is wanted, 1 or more");
  CHECK(refusal(with(kSlurm, {{"LTR_JOIN_TIMEOUT", "5 min"}})) ==
        "R2008 launcher slurm: LTR_JOIN_TIMEOUT is \"5 min\", but a whole number is wanted");
}

TEST_CASE("keys of one attempt are not those of the next") {
  CHECK(find_launch(recorded(kTorchrun)).place.prefix == "/worker/attempt_2/ltr/");
  CHECK(find_launch(recorded(kOwn)).place.prefix == "ltr/0/");
  CHECK(find_launch(recorded(with(kOwn, {{"LTR_ATTEMPT", "3"}}))).place.prefix == "ltr/3/");
}

TEST_CASE("the choice is described in one line") {
  CHECK(describe_launch(find_launch(recorded(kSlurm)).place) ==
        "launcher slurm: 5 ranks on 3 nodes, meeting n08:15423");
}

TEST_CASE("lists of hosts are expanded") {
  const auto hosts = [](const Str& list) {
    return expand_hosts(list) ? fmt::format("{}", fmt::join(*expand_hosts(list), " ")) : Str("none");
  };
  CHECK(hosts("n0") == "n0");
  CHECK(hosts("n[01-03,7],m2") == "n01 n02 n03 n7 m2");
  CHECK(hosts("n[098-101]") == "n098 n099 n100 n101");
  CHECK(hosts("r[1-2]n[1-2]-ib") == "r1n1-ib r1n2-ib r2n1-ib r2n2-ib");
  for (const Str wrong : {"", "n[1", "n1]", "n[2-1]", "n[a-b]", "n[]", "a,,b", "n[1-99999999999]", "n[[1]]"})
    CHECK(hosts(wrong) == "none");
}

}  // namespace ltr::distributed
