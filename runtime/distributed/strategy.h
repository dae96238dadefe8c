#pragma once

// How the ranks of a run work together (runtime.md 13.2): what the settings `topology.*` mean for a number of ranks.

#include <functional>

#include "runtime/api/error.h"
#include "runtime/distributed/devices.h"

namespace ltr::distributed {

enum class StrategyKind : uint8_t { Single, Ddp, Zero1, Zero2, Fsdp, Hsdp };
const char* to_text(StrategyKind kind);

enum class Backend : uint8_t { Gloo, Nccl };

struct Strategy {
  StrategyKind kind = StrategyKind::Single;
  Devices devices;
  int64_t nodes = 1;
  // The mesh: `replica * fsdp` ranks. Along `replica` each holds the same, along `fsdp` its part.
  int64_t replica = 1;
  int64_t fsdp = 1;
  Str block;  ///< fsdp, hsdp: weights are gathered for one block of this name at a time
  Backend backend = Backend::Gloo;
  bool sync_batchnorm = true;
  int64_t bucket_bytes = 25 * 1024 * 1024;  ///< 0: `auto`, to be measured
  std::vector<Str> recompute;  ///< blocks whose results are computed again in the backward pass
  Option<DType> reduce;                     ///< gradients cross ranks in this type, narrower than theirs
  double timeout_s = 600;
  int64_t restarts = 0;
  std::vector<Str> warnings;  ///< to be told at the start of training

  int64_t ranks() const { return replica * fsdp; }
};

/// The value of the setting `topology.NAME`.
using TopologySetting = std::function<const Value&(const Str& name)>;

/// How many ranks a topology asks for: the places of its mesh, else its devices on all nodes. Nothing where it names no
/// number: then it takes as many as there are.
Option<int64_t> asked_ranks(const TopologySetting& setting);

struct StrategyRequest {
  Str topology;    ///< its name, for messages
  Location where;  ///< of its declaration
  TopologySetting setting;
  int64_t world = 1;
  bool deterministic = true;  ///< `trainer.deterministic = true`
  std::vector<const char*> recomputed = {};  ///< blocks that topologies of the program name in `recompute at`
};

/// The strategy of `request.world` ranks. Settings that contradict each other are R2006, numbers of ranks that differ and
/// what this version has not R2008; all of them go to `faults`, and the strategy is then of no use.
Strategy read_strategy(const StrategyRequest& request, std::vector<Error>& faults);

}  // namespace ltr::distributed
