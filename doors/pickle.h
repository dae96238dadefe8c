#pragma once

// Reads what `torch.save` pickles (doors.md 1.2), without running anything: calls of known names
// build values, calls of all others are kept as what they are.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ltr::doors {

/// Index into `Pickle::values`; lists and dicts may hold themselves.
using PickleId = uint32_t;

struct PickleValue {
  enum class Kind {
    None,
    Bool,
    Int,
    Float,
    Str,
    Tuple,
    List,
    Dict,     ///< items are key, value, key, value …
    Global,   ///< `text` is "module.name"
    Object,   ///< made of class `text` from items; its state is the last item where `whole` is 1
    Call,     ///< an unknown function `text` on items
    Storage,  ///< `text` is its key, `dtype` its element type, `whole` its count
    Tensor,   ///< items[0] is its storage; `whole` its offset
  } kind = Kind::None;
  int64_t whole = 0;
  double real = 0;
  std::string text;
  std::string dtype;
  std::vector<PickleId> items;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;
  std::vector<std::string> calls;  ///< names of unknown functions that it would call, sorted, each once

  const PickleValue& at(PickleId id) const { return values[id]; }
  /// The value of a dict under a text key, or null.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;
};

/// A byte that is none of the opcodes that are read, or one that does not fit what stands before
/// it.
struct PickleError : std::runtime_error {
  PickleError(uint64_t at, const std::string& reason) : std::runtime_error(reason), offset(at) {}
  uint64_t offset;
};

/// Within the bounds of limits.h.
Pickle read_pickle(std::string_view bytes);

}  // namespace ltr::doors
