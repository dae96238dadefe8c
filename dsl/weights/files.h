#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dsl/check/typed.h"

/// What must be known of files of weights.
namespace ltr::weights {

struct StoredTensor {
  std::string name;
  std::string dtype;  ///< as safetensors writes it: F32 BF16 I64 …
  std::vector<int64_t> shape;
};

struct WeightsFile {
  /// Why a file cannot be used.
  enum class Problem {
    None,
    NotThere,
    Damaged,      ///< no safetensors file: `reason`, at byte `offset`
    Unsupported,  ///< a form of PyTorch's files that is not read: `reason`, and `cure` what
                  ///< converts it
    NeedsCode,    ///< reading it as PyTorch does would call `callables`
  } problem = Problem::None;
  uint64_t offset = 0;
  std::string reason;
  std::string cure;
  std::vector<std::string> callables;
  std::vector<StoredTensor> tensors;  ///< by name
};

/// A weight or buffer of a block. One that shares another's tensor may be stored under either name.
struct WantedTensor {
  std::string name;
  std::string shared_with;
};

/// Which tensor of a file goes where.
struct LoadPlan {
  std::vector<std::pair<std::string, std::string>> loads;  ///< name in the block, name in the file
  std::vector<std::string> missing;                        ///< the file lacks them
  std::vector<std::string> unexpected;                     ///< the block lacks them
  std::vector<size_t> idle_rules;                          ///< their pattern matches nothing
  std::vector<std::string> frozen;                         ///< names in the block
  std::string rename_from, rename_to;                      ///< a `rename` that would make most names match, or ""
};

/// How files are looked into; nothing else opens them.
struct Files {
  virtual ~Files() = default;
  /// The header of a file, a `#PART` of PyTorch files included, as the source at `from` names it.
  virtual WeightsFile open(const std::string& path, const std::string& from) const = 0;
  /// Which of the tensors `stored` becomes which of `wanted`.
  virtual LoadPlan plan(const std::vector<WantedTensor>& wanted, const std::vector<std::string>& stored,
                        const std::vector<check::WeightRule>& rules) const = 0;
};

}  // namespace ltr::weights
