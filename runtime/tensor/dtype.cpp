#include "runtime/tensor/dtype.h"

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
    case DType::Float: return "float";
    case DType::F16: return "f16";
    case DType::BF16: return "bf16";
    case DType::F32: return "f32";
    case DType::F64: return "f64";
    case DType::I8: return "i8";
    case DType::I16: return "i16";
    case DType::I32: return "i32";
    case DType::I64: return "i64";
    case DType::U8: return "u8";
    case DType::Bool: return "bool";
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

}  // namespace ltr
