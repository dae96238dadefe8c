#pragma once

// What the ranks of a run hold apart: sums of the epoch under way, states of metrics and callbacks. A checkpoint has the
// first rank's whole state, and of every other one what differs. What they must hold alike, weights and what optimizers
// keep, is compared.

#include "runtime/checkpoint/folder.h"
#include "runtime/train/ranks.h"

namespace ltr {

/// Brings what differs of the other ranks' `data` into the first one's; all call it. R1002, on all of them, if weights,
/// averages or states of optimizers are not the same on all: it names rank and tensor.
void gather_states(const Ranks& ranks, CheckpointData& data);

/// The state that a checkpoint has of one rank.
struct RankState {
  nlohmann::json manifest;
  StoredState stored;
};
/// Of `rank`; of the first one where the checkpoint has no such rank, without what it alone summed.
RankState state_of_rank(const nlohmann::json& manifest, const StoredState& stored, int64_t rank);

}  // namespace ltr
