#include "runtime/tensor/dtype.h"

#include <algorithm>
#include <cctype>

#include <fmt/ranges.h>

namespace ltr {

namespace {

struct StoredType {
  at::ScalarType type;
  const char* name;
};
constexpr StoredType kStoredTypes[] = {
    {at::kDouble, "F64"}, {at::kFloat, "F32"}, {at::kHalf, "F16"}, {at::kBFloat16, "BF16"}, {at::kLong, "I64"},
    {at::kInt, "I32"},    {at::kShort, "I16"}, {at::kChar, "I8"},  {at::kByte, "U8"},       {at::kBool, "BOOL"}};

}  // namespace

const char* to_text(DType dtype) {
  switch (dtype) {
#define LTR_ELEMENT(Name, name, ...) \
  case DType::Name: return #name;
#include "runtime/tables/elements.def"
#undef LTR_ELEMENT
  }
  return "";
}

std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i <= int(DType::Bool); ++i) {
    if (to_text(DType(i)) == name) return DType(i);
  }
  return std::nullopt;
}

std::optional<at::ScalarType> stored_type(std::string_view name) {
  for (const StoredType& row : kStoredTypes) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

const char* stored_name(at::ScalarType type) {
  for (const StoredType& row : kStoredTypes) {
    if (row.type == type) return row.name;
  }
  return "";
}

Str shape_text(at::ScalarType type, at::IntArrayRef sizes) {
  Str name = stored_name(type);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return fmt::format("{}[{}]", name, fmt::join(sizes, ", "));
}

}  // namespace ltr
