#pragma once

// A checkpoint is a folder (runtime.md 8.1). It is written beside its place and renamed, so that it is whole or absent;
// its manifest, written last, holds the size and SHA-256 of the other files and of itself.

#include <nlohmann/json.hpp>

#include <ATen/core/Tensor.h>

#include <map>
#include <string_view>
#include <vector>

#include "ltr/program.h"
#include "runtime/checkpoint/tensors.h"

namespace ltr {

/// Which elements of a tensor one rank has, of a tensor that ranks divide.
struct Slice {
  int64_t begin = 0;
  int64_t end = 0;
  std::vector<int64_t> sizes;  ///< of the whole
  at::ScalarType type = at::kFloat;
  bool is_written = true;  ///< by this rank, where several have the same
};
struct SlicedTensor {
  Str name;
  at::Tensor tensor;  ///< undefined where this rank has nothing
  Slice slice;
};

/// What one of several ranks writes of a checkpoint.
struct CheckpointShare {
  int64_t rank = 0;
  int64_t world = 1;
  bool has_weights = false;  ///< weights and averages are in a file of each rank, and an index says what is where
  std::vector<NamedTensor> weights;  ///< beside those that the first rank has
  std::vector<NamedTensor> averages;
  std::vector<SlicedTensor> slices;  ///< `train-RANK.safetensors`
};

/// What a checkpoint holds.
struct CheckpointData {
  std::vector<NamedTensor> weights;  ///< `weights.safetensors`: weights and buffers by path
  std::vector<NamedTensor>
      averages;  ///< `averages.safetensors`, the state_dict of averaged weights; empty without Ema and Swa
  std::vector<NamedTensor> train;  ///< `train.safetensors`; empty if only weights are kept
  nlohmann::json manifest;         ///< everything else, without the files' digests
  CheckpointShare share;           ///< of this rank, where they divide something
};

inline constexpr int kCheckpointVersion = 2;
/// In front of the name of an averaged weight, where it stands beside others.
inline constexpr std::string_view kAveraged = "ema.";

/// Writes `folder/name`: the first rank opens it, then each one that has something writes what is its own, and the first one
/// closes it with what all of them said of their files. Then whoever looks for it finds all of it, but the disk may not have it
/// yet; an older folder of that name is replaced. R1004, without a place in the program, if there is no room for all of it or
/// the disk fails; what was there before stays.
void open_checkpoint(const Str& folder, const Str& name);
nlohmann::json write_share(const Str& folder, const Str& name, const CheckpointData& data);
/// Waits until what was written so far of a checkpoint that is open is on the disk.
void sync_open(const Str& folder, const Str& name);
Str close_checkpoint(const Str& folder, const Str& name, const CheckpointData& data,
                     const std::vector<nlohmann::json>& shares);

/// Waits until the checkpoint `name` and its name are on the disk; std::system_error if they do not get there.
void sync_checkpoint(const Str& folder, const Str& name);

/// Points the link `folder/link` at the checkpoint `name`; a one-line file where links are impossible.
void point_link(const Str& folder, const Str& link, const Str& name);
/// Where `folder/link` points, "" if nowhere.
Str read_link(const Str& folder, const Str& link);

/// What is wrong with a checkpoint folder, "" if all of it verifies.
Str verify_checkpoint(const Str& path);
/// Its manifest; R2010 if there is none, R2011 with the reason if it is damaged, R2012 if it is newer than this program.
nlohmann::json read_manifest(const Str& path);
/// Whether what the checkpoint is of computes what `experiment` of `program` does: comments, names of files and the other
/// experiments may differ. Older checkpoints know the text alone.
bool computes_alike(const nlohmann::json& manifest, const Program& program, const ExperimentInfo& experiment);
/// The file in a checkpoint that has, or knows where lie, the tensors of `kind`: `weights`, `averages`.
Str tensors_file(const Str& path, const Str& kind);
/// The tensors that ranks wrote in parts. R2011 if some of one is missing.
std::map<Str, PartedTensor> read_slices(const Str& path);
/// R2011 if `file` lies in a checkpoint and is not as its manifest says.
void verify_member(const Str& file);

/// Names of the checkpoints in `folder`, by step, oldest first.
std::vector<Str> checkpoint_names(const Str& folder);
void remove_checkpoint(const Str& folder, const Str& name);
/// Puts back or removes what writers that died left behind. Only for who holds the lock of the run: then every writer but
/// the caller is dead.
void remove_leftovers(const Str& folder);

}  // namespace ltr
