#pragma once

// Any file that holds weights: safetensors, whole or sharded, and what `torch.save` writes. Nothing
// in it is ever run (doors.md 1.1, 1.2).

#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "doors/mapping.h"
#include "doors/safetensors.h"
#include "doors/zip.h"

namespace ltr::doors {

/// Why a file of weights cannot be read.
struct WeightsError : std::runtime_error {
  enum class Kind {
    Damaged,      ///< not what its form asks for, at byte `offset`
    Unsupported,  ///< a form that is not read; `cure` converts it
    NeedsCode,    ///< PyTorch would call `callables`
  };
  WeightsError(Kind what, uint64_t at, const std::string& why) : std::runtime_error(why), kind(what), offset(at) {}
  Kind kind;
  uint64_t offset;
  std::string cure;
  std::vector<std::string> callables;
};

/// An open file; `TensorEntry::data` lives as long as it. Tensors of PyTorch files that are no
/// plain C-order views have `data` null until `bytes_of` copies them.
class WeightsFile {
 public:
  /// `path` is a safetensors file, a folder or index of shards, or a PyTorch file; `path#NAME` is
  /// one part of the latter, and of the others the tensors of one member, without its name in front. WeightsError for what cannot be used, std::system_error for what
  /// cannot be opened.
  static WeightsFile open(const std::string& path);
  /// Whether the file, without its `#NAME`, is there.
  static bool exists(const std::string& path);

  /// Sorted by name.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  /// The bytes of a tensor in C order. WeightsError if a PyTorch file says that they are not those that were written.
  const void* bytes_of(const TensorEntry& tensor);

 private:
  /// Where a tensor of a PyTorch file lies.
  struct View {
    const char* first;
    std::vector<int64_t> strides;  ///< empty: in C order
    ZipEntry storage;
  };

  void open_safetensors(const std::string& path);
  void open_shards(const std::string& index);
  void keep_member(const std::string& member);
  void open_torch(const std::string& path, const std::string& part);
  const void* copy_of(const TensorEntry& tensor, const View& view);

  std::vector<SafetensorsFile> shards_;
  std::deque<Mapping> mappings_;
  std::vector<TensorEntry> tensors_;
  std::map<std::string, View> views_;  ///< by tensor
  std::set<uint64_t> compared_;        ///< offsets of storages that have their CRC
  std::deque<std::string> copies_;
};

}  // namespace ltr::doors
