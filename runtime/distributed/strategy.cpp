#include "runtime/distributed/strategy.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "runtime/api/suggest.h"
#include "runtime/settings/devices.h"

namespace ltr::distributed {

namespace {

constexpr const char* kNames[] = {
#define LTR_STRATEGY(Enumerator, name) #name,
    LTR_STRATEGIES(LTR_STRATEGY, )
#undef LTR_STRATEGY
};

StrategyKind kind_of(const Str& name) {
  size_t i = 0;
  while (name != kNames[i]) ++i;
  return StrategyKind(i);
}

/// The size of an axis; nothing where the mesh does not have it.
Option<int64_t> axis(const TopologySetting& setting, const Str& name) {
  const Value& size = setting("mesh." + name);
  return size.is_none() ? Option<int64_t>() : Option<int64_t>(size.as_int());
}

/// The number of a topology that names no mesh.
Option<int64_t> asked_by_devices(const TopologySetting& setting) {
  const Devices devices = *read_devices(setting("devices").text);
  const int64_t nodes = setting("nodes").as_int();
  // Machines without a number of devices have one each, unless there is only one: that takes as many ranks as there
  // are.
  if (devices.count == 0 && nodes == 1) return std::nullopt;
  return std::max(devices.count, int64_t(1)) * nodes;
}

Str counted(int64_t count, const Str& noun) { return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s"); }

/// What is to be done: in a topology of the program, and on the command line.
struct Cure {
  Str in_program;
  Str in_options;
};

using Names = std::vector<const char*>;
const Names kCounts = {"devices", "nodes", "mesh.replica", "mesh.fsdp"};

/// Settings as a strategy.
class StrategyReader {
 public:
  StrategyReader(const StrategyRequest& request, std::vector<Error>& faults)
      : request_(request),
        setting_(request.setting),
        faults_(faults),
        replica_(axis(setting_, "replica")),
        fsdp_(axis(setting_, "fsdp")) {}

  Strategy run() {
    read_plain();
    check_numbers();
    if (choose_kind()) {
      check_mesh();
      check_block();
    }
    check_exchange();
    check_recompute();
    refuse_unwritten();
    return std::move(out_);
  }

 private:
  /// What was typed of these settings, as in a command; "" where the program says all of them.
  Str typed(const Names& about) const {
    std::vector<Str> words;
    for (const char* name : about) {
      if (const Str word = request_.typed(name); !word.empty()) words.push_back(word);
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }
  /// Where something was typed, that is the place.
  void add(const Fault& fault, const Names& about, const Str& text, const Cure& cure) {
    const Str words = typed(about);
    faults_.push_back(words.empty() ? with_help(error_at(request_.where, fault, text), cure.in_program)
                                    : with_help(error_at({}, fault, words + ": " + text), cure.in_options));
  }
  void contradict(const Names& about, const Str& text, const Cure& cure) {
    add(err::settings_contradict, about, text, cure);
  }
  void refuse(const Names& about, const Str& text, const Cure& cure) {
    add(err::topology_unavailable, about, text, cure);
  }
  bool has_backend(const Str& name) const {
    const Value& backend = setting_("backend");
    return !backend.is_none() && backend.text == name;
  }
  bool has_mesh() const { return replica_ || fsdp_; }
  Str kind_text() const { return fmt::format("strategy = {}", to_text(out_.kind)); }

  void read_plain() {
    out_.sync_batchnorm = setting_("sync_batchnorm").as_bool();
    const Value& bucket = setting_("bucket");
    out_.bucket_bytes = bucket.kind == Value::Kind::Bytes ? bucket.whole : 0;
    const Value& reduce = setting_("precision.reduce");
    if (!reduce.is_none()) out_.reduce = reduce.text == "f16" ? DType::F16 : DType::BF16;
    const Value& block = setting_("shard.weights");
    if (!block.is_none()) out_.block = block.text;
  }

  /// World, mesh and devices name the same number, as far as they name one.
  void check_numbers() {
    const Option<int64_t> asked = asked_ranks(setting_);
    if (!asked) return;
    const int64_t nodes = setting_("nodes").as_int();
    const int64_t devices = read_devices(setting_("devices").text)->count * nodes;  // 0: as many as there are ranks
    if (has_mesh() && devices > 0 && *asked != devices) {
      const Str help =
          "change the axes with --set topology.mesh.replica=N and --set topology.mesh.fsdp=N, or the devices with "
          "--devices";
      refuse(kCounts,
             fmt::format("the mesh of the topology {} has {}, but it has {}", request_.topology,
                         counted(*asked, "place"), counted(devices, "device")),
             {help, help});
    } else if (has_mesh() && *asked % nodes != 0) {
      const Str help =
          "change the axes with --set topology.mesh.replica=N and --set topology.mesh.fsdp=N, or --set "
          "topology.nodes=N";
      refuse(kCounts,
             fmt::format("the mesh of the topology {} has {}, which {} cannot have in equal parts", request_.topology,
                         counted(*asked, "place"), counted(nodes, "machine")),
             {help, help});
    } else if (*asked != request_.world) {
      refuse_world(*asked);
    }
  }

  void refuse_world(int64_t asked) {
    const Str words = typed(kCounts);
    const Str who = words.empty() ? "the topology " + request_.topology : words;
    const Str text = fmt::format("{} asks for {}, but there {} {}", who, counted(asked, "rank"),
                                 request_.world == 1 ? "is" : "are", request_.world);
    faults_.push_back(with_help(
        error_at(words.empty() ? request_.where : Location(), err::topology_unavailable, text),
        words.empty() ? "start as many processes, replace its devices with --devices, or choose another with --topology"
                      : "start as many processes, or ask for as many as there are"));
  }

  /// False after an error: nothing more can be said of mesh and blocks then.
  bool choose_kind() {
    const Value& given = setting_("strategy");
    if (!given.is_none()) {
      out_.kind = kind_of(given.text);
    } else if (fsdp_ && out_.block.empty()) {
      contradict({"mesh.fsdp", "shard.weights"},
                 "the mesh has the axis fsdp, but nothing says what is divided along it",
                 {"`shard weights over fsdp at BLOCK`, or `strategy = zero1` or `zero2`",
                  "--set topology.shard.weights=BLOCK, or --set topology.strategy=zero1 or zero2"});
      return false;
    } else if (fsdp_ || !out_.block.empty()) {
      out_.kind = replica_ ? StrategyKind::Hsdp : StrategyKind::Fsdp;
    } else {
      out_.kind = request_.world > 1 ? StrategyKind::Ddp : StrategyKind::Single;
    }
    return true;
  }

  /// What the axes are, and that the strategy can use them.
  void check_mesh() {
    const bool divides = out_.kind != StrategyKind::Single && out_.kind != StrategyKind::Ddp;
    out_.replica = has_mesh() ? replica_.value_or(1) : divides ? 1 : request_.world;
    out_.fsdp = has_mesh() ? fsdp_.value_or(1) : divides ? request_.world : 1;
    if (out_.kind == StrategyKind::Single && request_.world > 1) {
      refuse({"strategy"}, fmt::format("strategy = single runs on 1 rank, but there are {}", request_.world),
             {"use strategy = ddp", "--set topology.strategy=ddp, or start one process"});
      return;
    }
    if (out_.kind == StrategyKind::Hsdp && !(replica_ && fsdp_)) {
      contradict(
          {"strategy", "mesh.replica", "mesh.fsdp"}, "strategy = hsdp needs a mesh of two axes",
          {"`mesh = (replica = 2, fsdp = 4)`: parts within a node, copies between nodes",
           "--set topology.mesh.replica=2 --set topology.mesh.fsdp=4: parts within a node, copies between nodes"});
      return;
    }
    const bool copies = out_.kind == StrategyKind::Ddp || out_.kind == StrategyKind::Hsdp;
    if (!copies && out_.replica > 1) {
      contradict({"strategy", "mesh.replica"},
                 fmt::format("{} has no axis replica, and the mesh has {} along it", kind_text(),
                             counted(out_.replica, "rank")),
                 divides
                     ? Cure{"`mesh = (fsdp = N)`, or `strategy = hsdp`",
                            "--set topology.mesh.replica=1 --set topology.mesh.fsdp=N, or --set topology.strategy=hsdp"}
                     : Cure{"use strategy = ddp", "--set topology.strategy=ddp"});
    }
    if (!divides && out_.fsdp > 1) {
      contradict(
          {"strategy", "mesh.fsdp"},
          fmt::format("{} divides nothing, and the mesh has {} along fsdp", kind_text(), counted(out_.fsdp, "rank")),
          {"`mesh = (replica = N)`, or another strategy",
           "--set topology.mesh.fsdp=1 --set topology.mesh.replica=N, or another topology.strategy"});
    }
  }

  void check_block() {
    const bool gathers = out_.kind == StrategyKind::Fsdp || out_.kind == StrategyKind::Hsdp;
    if (gathers && out_.block.empty())
      contradict({"strategy", "shard.weights"},
                 fmt::format("{} does not say at which block weights are divided", kind_text()),
                 {"`shard weights over fsdp at BLOCK`", "--set topology.shard.weights=BLOCK"});
    if (!gathers && !out_.block.empty())
      contradict({"strategy", "shard.weights"},
                 fmt::format("{} keeps weights whole, but they are to be divided at {}", kind_text(), out_.block),
                 {"use strategy = fsdp, or --set topology.shard.weights=none",
                  "--set topology.strategy=fsdp, or --set topology.shard.weights=none"});
    if (gathers && !out_.block.empty()) find_block(out_.block, "shard.weights");
  }

  /// What carries gradients, and how.
  void check_exchange() {
    if (has_backend("nccl") && !request_.on_cuda)
      contradict({"backend", "devices"},
                 fmt::format("backend = nccl carries what lies on CUDA devices, and the devices are {}",
                             setting_("devices").text),
                 {"leave backend out: it is gloo here", "--set topology.backend=none: it is gloo here"});
    if (out_.bucket_bytes == 0 && out_.kind != StrategyKind::Single && out_.kind != StrategyKind::Ddp)
      contradict({"bucket", "strategy"},
                 fmt::format("bucket = auto is measured where gradients are all that travels, and {} divides by it",
                             kind_text()),
                 {"name a size, as bucket = 25 MiB", "name a size: --set topology.bucket=\"25 MiB\""});
    if (out_.bucket_bytes == 0 && request_.deterministic)
      contradict({"bucket"},
                 "bucket = auto measures which size is best, so equal runs differ in their last bits; "
                 "trainer.deterministic is true",
                 {"name a size, as bucket = 25 MiB, or set trainer.deterministic=false",
                  "name a size, as --set topology.bucket=\"25 MiB\", or --set trainer.deterministic=false"});
    if (!out_.sync_batchnorm && request_.world > 1)
      out_.warnings.push_back(
          "sync_batchnorm = false: batch norm sees the batch of one rank, so results depend on how many there are");
  }

  /// The block of the program that the setting `about` names; null after an error.
  const BlockInfo* find_block(const Str& name, const char* about) {
    std::vector<Str> names;
    for (const BlockInfo& block : request_.blocks) {
      if (name == block.name) return &block;
      names.emplace_back(block.name);
    }
    const Str near = nearest(name, names);
    const Str help = near.empty() ? "" : fmt::format("did you mean {}?", near);
    contradict({about}, fmt::format("there is no block {} (the program has: {})", name, fmt::join(names, ", ")),
               {help, help});
    return nullptr;
  }

  /// Calls that can be made again are compiled so.
  void check_recompute() {
    std::vector<Str> compiled;
    for (const BlockInfo& block : request_.blocks) {
      if (block.is_recomputed) compiled.emplace_back(block.name);
    }
    for (const auto& item : setting_("recompute").items) {
      const Str& name = item.value.text;
      const BlockInfo* const block = find_block(name, "recompute");
      if (block != nullptr && !block->is_recomputed) {
        const Str help =
            fmt::format("write `recompute at {}` into a topology{}", name,
                        compiled.empty() ? "" : fmt::format(", or choose among {}", fmt::join(compiled, ", ")));
        contradict({"recompute"},
                   fmt::format("no topology of the program says `recompute at {}`, so it was built without", name),
                   {help, help});
      }
      out_.recompute.push_back(name);
    }
  }

  /// What this version does not do yet, in one place.
  void refuse_unwritten() {
    if (has_backend("gloo") && request_.on_cuda && request_.world > 1)
      refuse({"backend"}, "backend = gloo between CUDA devices is not in this version",
             {"leave backend out: it is nccl there", "--set topology.backend=none: it is nccl there"});
  }

  const StrategyRequest& request_;
  const TopologySetting& setting_;
  std::vector<Error>& faults_;
  const Option<int64_t> replica_;
  const Option<int64_t> fsdp_;
  Strategy out_;
};

}  // namespace

const char* to_text(StrategyKind kind) { return kNames[size_t(kind)]; }

Option<int64_t> asked_ranks(const TopologySetting& setting) {
  const Option<int64_t> replica = axis(setting, "replica");
  const Option<int64_t> fsdp = axis(setting, "fsdp");
  if (!replica && !fsdp) return asked_by_devices(setting);
  return replica.value_or(1) * fsdp.value_or(1);
}

Strategy read_strategy(const StrategyRequest& request, std::vector<Error>& faults) {
  return StrategyReader(request, faults).run();
}

}  // namespace ltr::distributed
