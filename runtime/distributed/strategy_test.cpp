#include "runtime/distributed/strategy.h"

#include <doctest/doctest.h>

#include <map>

#include "runtime/settings/devices.h"

namespace ltr::distributed {

namespace {

using Settings = std::map<Str, Value>;

struct Reading {
  Strategy strategy;
  std::vector<Error> faults;
};

Reading read(const Settings& given, int64_t world, bool deterministic = true, bool on_cuda = false,
             const std::map<Str, Str>& typed = {}) {
  Settings all = {{"devices", Value::symbol("auto")},
                  {"nodes", 1},
                  {"strategy", {}},
                  {"mesh.replica", {}},
                  {"mesh.fsdp", {}},
                  {"shard.weights", {}},
                  {"recompute", Value::list({})},
                  {"backend", {}},
                  {"sync_batchnorm", true},
                  {"bucket", Value::bytes(25 << 20)},
                  {"precision.reduce", {}}};
  for (const auto& [name, value] : given) all.at(name) = value;
  Reading out;
  out.strategy = read_strategy({.topology = "t",
                                .where = {"a.ltr", 3, 1},
                                .setting = [&](const Str& name) -> const Value& { return all.at(name); },
                                .world = world,
                                .deterministic = deterministic,
                                .on_cuda = on_cuda,
                                .blocks = {{"Layer", true}, {"Stack", false}},
                                .typed = [&](const Str& name) { return typed.contains(name) ? typed.at(name) : ""; }},
                               out.faults);
  return out;
}

/// `ddp 2x4`, or the codes and texts of what is wrong.
Str shown(const Settings& given, int64_t world, bool on_cuda = false) {
  const Reading reading = read(given, world, true, on_cuda);
  Str text;
  for (const Error& fault : reading.faults) text += (text.empty() ? "" : "; ") + fault.code + " " + fault.message;
  const Strategy& strategy = reading.strategy;
  return text.empty() ? fmt::format("{} {}x{}", to_text(strategy.kind), strategy.replica, strategy.fsdp) : text;
}

Value word(const char* text) { return Value::symbol(text); }

}  // namespace

TEST_CASE("devices by text") {
  CHECK(read_devices("auto")->kind == "auto");
  CHECK(read_devices("cpu")->count == 0);
  CHECK(read_devices("cuda[8]")->kind == "cuda");
  CHECK(read_devices("cuda[8]")->count == 8);
  for (const char* text :
       {"gpu", "cpu[", "cpu[0]", "cpu[-1]", "cpu[4", "cpu[x]", "auto[2]", "", "cuda[4] ", "cuda[99999999]"}) {
    CAPTURE(text);
    CHECK(!read_devices(text));
  }
}

TEST_CASE("a strategy follows from mesh and shard, without those from the number of ranks") {
  CHECK(shown({}, 1) == "single 1x1");
  CHECK(shown({}, 4) == "ddp 4x1");
  CHECK(shown({{"devices", word("cpu")}}, 3) == "ddp 3x1");
  CHECK(shown({{"devices", word("cpu[4]")}}, 4) == "ddp 4x1");
  CHECK(shown({{"devices", word("cpu[2]")}, {"nodes", 3}}, 6) == "ddp 6x1");
  CHECK(shown({{"nodes", 3}}, 3) == "ddp 3x1");
  CHECK(shown({{"strategy", word("ddp")}}, 1) == "ddp 1x1");
  CHECK(shown({{"strategy", word("zero1")}}, 1) == "zero1 1x1");
  CHECK(shown({{"mesh.replica", 4}}, 4) == "ddp 4x1");
  CHECK(shown({{"strategy", word("zero1")}}, 2) == "zero1 1x2");
  CHECK(shown({{"strategy", word("zero2")}, {"mesh.fsdp", 2}}, 2) == "zero2 1x2");
  CHECK(shown({{"mesh.fsdp", 2}, {"shard.weights", "Layer"}}, 2) == "fsdp 1x2");
  CHECK(shown({{"mesh.replica", 2}, {"mesh.fsdp", 2}, {"shard.weights", "Layer"}}, 4) == "hsdp 2x2");
  CHECK(shown({{"mesh.fsdp", 1}, {"shard.weights", "Layer"}}, 1) == "fsdp 1x1");
  CHECK(shown({{"mesh.replica", 1}, {"mesh.fsdp", 1}, {"shard.weights", "Layer"}}, 1) == "hsdp 1x1");
}

TEST_CASE("numbers of ranks that differ are said, both of them") {
  CHECK(shown({{"devices", word("cpu[4]")}}, 1) == "R2008 the topology t asks for 4 ranks, but there is 1");
  CHECK(shown({{"devices", word("cpu[1]")}}, 4) == "R2008 the topology t asks for 1 rank, but there are 4");
  CHECK(shown({{"mesh.replica", 2}}, 3) == "R2008 the topology t asks for 2 ranks, but there are 3");
  CHECK(shown({{"mesh.replica", 8}, {"devices", word("cpu[2]")}}, 2) ==
        "R2008 the mesh of the topology t has 8 places, but it has 2 devices");
  // Machines without a number of devices have as many ranks as their part of the mesh.
  CHECK(shown({{"mesh.replica", 4}, {"nodes", 2}}, 4) == "ddp 4x1");
  CHECK(shown({{"mesh.replica", 4}, {"nodes", 2}, {"devices", word("cpu")}}, 2) ==
        "R2008 the topology t asks for 4 ranks, but there are 2");
  CHECK(shown({{"mesh.replica", 3}, {"nodes", 2}}, 3) ==
        "R2008 the mesh of the topology t has 3 places, which 2 machines cannot have in equal parts");
  CHECK(shown({{"mesh.replica", 4}, {"nodes", 2}, {"devices", word("cpu[4]")}}, 4) ==
        "R2008 the mesh of the topology t has 4 places, but it has 8 devices");
  const Settings some = {{"devices", word("cpu[2]")}, {"nodes", 3}, {"mesh.replica", {}}, {"mesh.fsdp", {}}};
  CHECK(asked_ranks([&](const Str& name) -> const Value& { return some.at(name); }) == 6);
}

TEST_CASE("settings that contradict each other have errors of their own") {
  const auto is = [](const Settings& given, int64_t world, const Str& text) {
    CHECK(shown(given, world) == "R2006 " + text);
  };
  is({{"strategy", word("fsdp")}}, 2, "strategy = fsdp does not say at which block weights are divided");
  is({{"strategy", word("hsdp")}, {"shard.weights", "Layer"}}, 4, "strategy = hsdp needs a mesh of two axes");
  is({{"strategy", word("hsdp")}, {"shard.weights", "Layer"}, {"mesh.fsdp", 4}}, 4,
     "strategy = hsdp needs a mesh of two axes");
  is({{"strategy", word("ddp")}, {"shard.weights", "Layer"}}, 2,
     "strategy = ddp keeps weights whole, but they are to be divided at Layer");
  is({{"strategy", word("ddp")}, {"mesh.fsdp", 2}}, 2,
     "strategy = ddp divides nothing, and the mesh has 2 ranks along fsdp");
  is({{"strategy", word("zero1")}, {"mesh.replica", 2}, {"mesh.fsdp", 2}}, 4,
     "strategy = zero1 has no axis replica, and the mesh has 2 ranks along it");
  is({{"mesh.fsdp", 2}}, 2, "the mesh has the axis fsdp, but nothing says what is divided along it");
  is({{"backend", word("nccl")}}, 2, "backend = nccl carries what lies on CUDA devices, and the devices are auto");
  is({{"bucket", word("auto")}}, 2,
     "bucket = auto measures which size is best, so equal runs differ in their last bits; trainer.deterministic is "
     "true");
  CHECK(shown({{"strategy", word("single")}}, 2) == "R2008 strategy = single runs on 1 rank, but there are 2");
}

TEST_CASE("buckets are measured where gradients are all that travels") {
  const Reading reading = read({{"bucket", word("auto")}}, 2, false);
  CHECK(reading.faults.empty());
  CHECK(reading.strategy.bucket_bytes == 0);
  const Reading divided = read({{"bucket", word("auto")}, {"strategy", word("zero1")}}, 2, false);
  REQUIRE(divided.faults.size() == 1);
  CHECK(divided.faults[0].message ==
        "bucket = auto is measured where gradients are all that travels, and strategy = zero1 divides by it");
}

TEST_CASE("blocks that are computed again are those of the program") {
  CHECK(read({{"recompute", Value::list({"Layer"})}}, 1).strategy.recompute == std::vector<Str>{"Layer"});
  CHECK(shown({{"recompute", Value::list({"Layer", "Stack"})}}, 1) ==
        "R2006 no topology of the program says `recompute at Stack`, so it was built without");
  const Reading unknown = read({{"recompute", Value::list({"Layr"})}}, 1);
  REQUIRE(unknown.faults.size() == 1);
  CHECK(unknown.faults[0].message == "there is no block Layr (the program has: Layer, Stack)");
  CHECK(unknown.faults[0].help == "did you mean Layer?");
  CHECK(shown({{"mesh.fsdp", 2}, {"shard.weights", "Layr"}}, 2) ==
        "R2006 there is no block Layr (the program has: Layer, Stack)");
}

TEST_CASE("what was typed is the place of its error, and the help speaks as a command does") {
  const Settings fsdp = {{"strategy", word("fsdp")}};
  const Error of_program = read(fsdp, 2).faults.at(0);
  CHECK(of_program.location.line == 3);
  CHECK(of_program.help == "`shard weights over fsdp at BLOCK`");
  const Error of_command = read(fsdp, 2, true, false, {{"strategy", "--set topology.strategy=fsdp"}}).faults.at(0);
  CHECK(of_command.location.line == 0);
  CHECK(of_command.message ==
        "--set topology.strategy=fsdp: strategy = fsdp does not say at which block weights are divided");
  CHECK(of_command.help == "--set topology.shard.weights=BLOCK");

  const Error world = read({{"devices", word("cpu[2]")}, {"nodes", 2}}, 2, true, false,
                           {{"devices", "--devices cpu[2]"}, {"nodes", "--set topology.nodes=2"}})
                          .faults.at(0);
  CHECK(world.message == "--devices cpu[2], --set topology.nodes=2 asks for 4 ranks, but there are 2");
  CHECK(world.location.line == 0);
  CHECK(world.help == "start as many processes, or ask for as many as there are");

  const Settings hsdp = {{"strategy", word("hsdp")}, {"shard.weights", "Layer"}, {"mesh.fsdp", 4}};
  const Error mesh = read(hsdp, 4, true, false, {{"mesh.fsdp", "--set topology.mesh.fsdp=4"}}).faults.at(0);
  CHECK(mesh.message == "--set topology.mesh.fsdp=4: strategy = hsdp needs a mesh of two axes");
  CHECK(mesh.help.starts_with("--set topology.mesh.replica=2 --set topology.mesh.fsdp=4"));
}

TEST_CASE("what is not written yet is refused by name") {
  CHECK(shown({{"backend", word("gloo")}}, 2, true) ==
        "R2008 backend = gloo between CUDA devices is not in this version");
}

TEST_CASE("everything else of a topology") {
  const Reading reading = read({{"devices", word("cpu[2]")},
                                {"nodes", 2},
                                {"sync_batchnorm", false},
                                {"bucket", Value::bytes(1024)},
                                {"precision.reduce", word("bf16")}},
                               4);
  const Strategy& strategy = reading.strategy;
  REQUIRE(reading.faults.empty());
  CHECK(strategy.replica == 4);
  CHECK(!strategy.sync_batchnorm);
  REQUIRE(strategy.warnings.size() == 1);
  CHECK(strategy.warnings[0].starts_with("sync_batchnorm = false"));
  CHECK(strategy.bucket_bytes == 1024);
  CHECK(strategy.reduce == DType::BF16);
  const Reading plain = read({}, 1);
  CHECK(plain.strategy.bucket_bytes == 25 * 1024 * 1024);
  CHECK(!plain.strategy.reduce);
  CHECK(read({{"sync_batchnorm", false}}, 1).strategy.warnings.empty());
  CHECK(shown({{"backend", word("nccl")}}, 2, true) == "ddp 2x1");
  CHECK(shown({{"backend", word("gloo")}}, 1, true) == "single 1x1");
  CHECK(shown({{"backend", word("gloo")}}, 2) == "ddp 2x1");
  CHECK(read({{"precision.reduce", word("f16")}}, 2).strategy.reduce == DType::F16);
}

}  // namespace ltr::distributed
