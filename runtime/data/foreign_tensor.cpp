#include "runtime/data/foreign_tensor.h"

#include <cmath>

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

#include "doors/npy.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

using Json = nlohmann::json;

/// Collects the numbers of nested lists. Whole ones are kept exactly: a double ends at 2^53.
class Flattener {
 public:
  explicit Flattener(at::ScalarType type) : type_(type), is_whole_(at::isIntegralType(type, true)) {}

  at::Tensor run(const Json& json) {
    add(json);
    const at::Tensor wide = is_whole_ ? at::tensor(wholes_, at::kLong) : at::tensor(reals_, at::kDouble);
    return wide.view(sizes_).to(type_);
  }

 private:
  [[noreturn]] void refuse(const Json& json, const Str& why) const {
    Str place;
    for (const size_t index : place_) place += fmt::format("[{}]", index);
    throw Misfit{(place.empty() ? "" : place + " ") + "is " + shown(json) + ", " + why};
  }

  /// `doors::parse_json` bounds the depth.
  void add(const Json& json) {
    const size_t depth = place_.size();
    if (!json.is_array()) {
      if (!json.is_number() && !json.is_boolean()) refuse(json, "which is no number");
      if (depth != sizes_.size()) refuse(json, "but those before it are lists");
      is_closed_ = true;
      return add_number(json);
    }
    if (depth == sizes_.size()) {
      if (is_closed_) refuse(json, "but those before it are numbers");
      sizes_.push_back(int64_t(json.size()));
      is_closed_ = json.empty();
    } else if (sizes_[depth] != int64_t(json.size())) {
      refuse(json, fmt::format("of {} elements, but those before it have {}", json.size(), sizes_[depth]));
    }
    place_.push_back(0);
    for (const Json& item : json) {
      add(item);
      ++place_.back();
    }
    place_.pop_back();
  }

  void add_number(const Json& json) {
    if (!is_whole_) {
      reals_.push_back(json.is_boolean() ? double(json.get<bool>()) : json.get<double>());
      return;
    }
    int64_t whole = 0;
    bool fits = true;
    if (json.is_boolean()) {
      whole = json.get<bool>();
    } else if (json.is_number_float()) {
      const auto real = json.get<double>();
      fits = std::floor(real) == real && std::abs(real) <= double(int64_t(1) << 53);
      whole = fits ? int64_t(real) : 0;
    } else {
      fits = !json.is_number_unsigned() || json.get<uint64_t>() <= uint64_t(INT64_MAX);
      whole = fits ? json.get<int64_t>() : 0;
    }
    if (!fits || !holds(whole)) refuse(json, fmt::format("which is no {}", to_text(dtype_of(type_))));
    wholes_.push_back(whole);
  }

  bool holds(int64_t whole) const {
    if (type_ == at::kBool) return whole == 0 || whole == 1;
    return AT_DISPATCH_INTEGRAL_TYPES(type_, "holds", [&] {
      return whole >= int64_t(std::numeric_limits<scalar_t>::min()) &&
             whole <= int64_t(std::numeric_limits<scalar_t>::max());
    });
  }

  at::ScalarType type_;
  bool is_whole_;
  bool is_closed_ = false;  ///< the number of dims is known
  std::vector<size_t> place_;
  std::vector<int64_t> sizes_;
  std::vector<double> reals_;
  std::vector<int64_t> wholes_;
};

}  // namespace

Str shown(const Json& json) {
  constexpr size_t kShown = 40;
  // A file of another encoding is no reason to fail over the message.
  const Str text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= kShown) return text;
  size_t end = kShown;
  while ((uint8_t(text[end]) & 0xC0) == 0x80) --end;  // Not within a character.
  return text.substr(0, end) + "…";
}

at::Tensor tensor_of_json(const Json& json, at::ScalarType type) { return Flattener(type).run(json); }

at::Tensor tensor_of_npy(const Str& path) {
  const doors::NpyArray array = reading(path, [&] { return doors::read_npy(path); });
  const void* bytes = array.data.data();
  return borrow(static_cast<const std::byte*>(bytes), array.shape, stored_type(array.dtype).value()).clone();
}

at::Tensor as_type(const at::Tensor& stored, at::ScalarType type, const Str& path) {
  if (stored.is_floating_point() && at::isIntegralType(type, true)) {
    throw Misfit{fmt::format("{} holds {}, which become no {}", path, to_text(dtype_of(stored.scalar_type())),
                             to_text(dtype_of(type)))};
  }
  return stored.to(type);
}

at::Tensor tensor_of_npy(const Str& path, at::ScalarType type) { return as_type(tensor_of_npy(path), type, path); }

}  // namespace ltr
