#pragma once

// A checkpoint is a folder (runtime.md 8.1). It is written beside its place and renamed, so that it is whole or absent;
// its manifest, written last, holds the size and SHA-256 of the other files and of itself.

#include <nlohmann/json.hpp>

#include <ATen/core/Tensor.h>

#include <map>
#include <string_view>
#include <vector>

#include "ltr/api.h"

namespace ltr {

struct NamedTensor {
  Str name;
  at::Tensor tensor;
};

/// What a checkpoint holds.
struct CheckpointData {
  std::vector<NamedTensor> weights;  ///< `weights.safetensors`: weights and buffers by path
  std::vector<NamedTensor> averages; ///< `averages.safetensors`, the state_dict of averaged weights; empty without Ema
  std::vector<NamedTensor> train;    ///< `train.safetensors`; empty if only weights are kept
  nlohmann::json manifest;           ///< everything else, without the files' digests
};

inline constexpr int kCheckpointVersion = 2;
/// In front of the name of an averaged weight, where it stands beside others.
inline constexpr std::string_view kAveraged = "ema.";

/// Writes `folder/name` and gives its path; whoever looks for it finds all of it, but the disk may not have it yet. An
/// older folder of that name is replaced. R1004, without a place in the program,
/// if there is no room for all of it or the disk fails; what was there before stays.
Str write_checkpoint(const Str& folder, const Str& name, const CheckpointData& data);

/// Waits until the checkpoint `name` and its name are on the disk; std::system_error if they do not get there.
void sync_checkpoint(const Str& folder, const Str& name);

/// Points the link `folder/link` at the checkpoint `name`; a one-line file where links are impossible.
void point_link(const Str& folder, const Str& link, const Str& name);
/// Where `folder/link` points, "" if nowhere.
Str read_link(const Str& folder, const Str& link);

/// A safetensors file.
void write_tensors(const Str& path, const std::vector<NamedTensor>& tensors);

/// What is wrong with a checkpoint folder, "" if all of it verifies.
Str verify_checkpoint(const Str& path);
/// Its manifest; R2010 if there is none, R2011 with the reason if it is damaged, R2012 if it is newer than this program.
nlohmann::json read_manifest(const Str& path);
/// R2011 if `file` lies in a checkpoint and is not as its manifest says.
void verify_member(const Str& file);
/// Tensors of a safetensors or PyTorch file, by name; R2010 if it is missing or of no use, R2011 if it is damaged.
std::map<Str, at::Tensor> read_tensors(const Str& file);

/// Names of the checkpoints in `folder`, by step, oldest first.
std::vector<Str> checkpoint_names(const Str& folder);
void remove_checkpoint(const Str& folder, const Str& name);
/// Puts back or removes what writers that died left behind. Only for who holds the lock of the run: then every writer but
/// the caller is dead.
void remove_leftovers(const Str& folder);

}  // namespace ltr
