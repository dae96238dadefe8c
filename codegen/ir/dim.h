#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ltr::ir {

/// The size of an axis: a `Dim` of the module. Equal sizes of one module have equal ids.
struct DimId {
  uint32_t index = 0;
  auto operator<=>(const DimId&) const = default;
};

/// A number, a name of the program, or how a size is made of two others.
struct Dim {
  enum class Kind : uint8_t {
    Unknown,  ///< `?`
    Leading,  ///< `...`: any number of axes in front of the others
    Number,
    Name,
    Negative,  ///< of `left`
    Sum,
    Difference,
    Product,
    Power,  ///< of `left`, to `number`
    Exact,  ///< a quotient that is whole
    Floor,
    Ceil,
    Remainder,
    Min,
    Max,
    Element,  ///< of the list that `left` names, at `right`
  };
  Kind kind = Kind::Unknown;
  int64_t number = 0;
  std::string name;
  DimId left;
  DimId right;
  bool operator==(const Dim&) const = default;
};

/// The sizes that the types of one module have.
class DimStore {
 public:
  const Dim& operator[](DimId id) const { return dims_[id.index]; }
  DimId add(Dim dim);
  DimId leading() { return add({.kind = Dim::Kind::Leading}); }
  DimId number(int64_t value) { return add({.kind = Dim::Kind::Number, .number = value}); }
  DimId name(std::string name) { return add({.kind = Dim::Kind::Name, .name = std::move(name)}); }
  DimId negative(DimId of);
  DimId binary(Dim::Kind kind, DimId left, DimId right) { return add({.kind = kind, .left = left, .right = right}); }
  DimId power(DimId base, int64_t exponent) {
    return add({.kind = Dim::Kind::Power, .number = exponent, .left = base});
  }

  /// The value of a number.
  std::optional<int64_t> constant(DimId id) const;

 private:
  std::vector<Dim> dims_ = {Dim{}};  ///< a `DimId{}` is unknown
  struct Hash {
    size_t operator()(const Dim& dim) const;
  };
  std::unordered_map<Dim, DimId, Hash> known_ = {{Dim{}, DimId{}}};
};

/// `2 * D - 1`, `floor((H - kernel) / 2)`; reads back with `read_dim`.
std::string to_text(DimId id, const DimStore& dims);

/// Reads a dim at `position` and moves behind it; nothing if there is none.
std::optional<DimId> read_dim(std::string_view text, size_t& position, DimStore& dims);

}  // namespace ltr::ir
