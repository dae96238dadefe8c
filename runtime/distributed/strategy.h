#pragma once

// How the ranks of a run work together (runtime.md 13.2): what the settings `topology.*` mean for a number of ranks.

#include <functional>

#include "ltr/program.h"
#include "runtime/api/error.h"
#include "runtime/tables/strategies.h"

namespace ltr::distributed {

enum class StrategyKind : uint8_t {
#define LTR_STRATEGY(Enumerator, name) Enumerator,
  LTR_STRATEGIES(LTR_STRATEGY, )
#undef LTR_STRATEGY
};
const char* to_text(StrategyKind kind);

struct Strategy {
  StrategyKind kind = StrategyKind::Single;
  // The mesh: `replica * fsdp` ranks. Along `replica` each holds the same, along `fsdp` its part.
  int64_t replica = 1;
  int64_t fsdp = 1;
  Str block;  ///< fsdp, hsdp: weights are gathered for one block of this name at a time
  bool sync_batchnorm = true;
  int64_t bucket_bytes = 25 * 1024 * 1024;  ///< 0: `auto`, to be measured
  std::vector<Str> recompute;               ///< blocks whose results are computed again in the backward pass
  Option<DType> reduce;                     ///< gradients cross ranks in this type, narrower than theirs
  std::vector<Str> warnings;                ///< to be told at the start of training
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
  bool deterministic = true;           ///< `trainer.deterministic = true`
  bool on_cuda = false;                ///< the devices are CUDA's, or `auto` found some
  std::vector<BlockInfo> blocks = {};  ///< of the program
  /// What the command line or a file says of `topology.NAME`, as it was typed; "" where the program says it.
  std::function<Str(const Str& name)> typed = [](const Str&) { return Str(); };
};

/// The strategy of `request.world` ranks. Settings that contradict each other are R2006, numbers of ranks that differ and
/// what this version has not R2008; all of them go to `faults`, and the strategy is then of no use.
Strategy read_strategy(const StrategyRequest& request, std::vector<Error>& faults);

}  // namespace ltr::distributed
