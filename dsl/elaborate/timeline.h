#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "dsl/elaborate/cluster.h"
#include "runtime/tables/strategies.h"

/// How long one update takes on several devices: computing and messages on two lines that wait for each other.
namespace ltr::elaborate {

enum class Strategy {
#define LTR_STRATEGY(Enumerator, name) Enumerator,
  LTR_STRATEGIES(LTR_STRATEGY, )
#undef LTR_STRATEGY
};
const char* to_text(Strategy strategy);
/// By name, nothing if there is none.
std::optional<Strategy> find_strategy(const std::string& name);

/// A strategy on its mesh, whose axis `fsdp` is the inner one.
struct Layout {
  Strategy strategy = Strategy::Single;
  int64_t replica = 1, fsdp = 1;
  int64_t per_node = 1;  ///< devices of a node
  int64_t ranks() const { return replica * fsdp; }
  int64_t on_node() const { return std::min(ranks(), per_node); }
};

/// A part of the backward pass, and the gradients that are whole after it.
struct Piece {
  double seconds = 0;
  double gradient_bytes = 0;
};

/// What is gathered at once when weights are divided: one block, or what stands outside of all of them.
struct Unit {
  double weight_bytes = 0;
  double gradient_bytes = 0;
  double forward_s = 0;
  double backward_s = 0;
};

/// One update on one device.
struct Work {
  std::vector<Piece> backward;  ///< in its order
  Unit rest;                    ///< outside of the blocks: gathered at the start and kept
  std::vector<Unit> units;      ///< in order of the forward pass
  double update_s = 0;          ///< by the optimizers, of all weights
  double wire = 1;              ///< size of a gradient between ranks, over its size
  double bucket_bytes = 25.0 * 1024 * 1024;
  int64_t accumulate = 1;  ///< batches of an update
  int64_t passes = 1;      ///< backward passes of an update
  bool is_core = false;    ///< what computes

  double forward_s() const;
};

/// Seconds of one update, of `work` as a device of `cluster` does it beside the others of `layout`.
double step_s(const Work& work, const Layout& layout, const Cluster& cluster);

}  // namespace ltr::elaborate
