#include "runtime/tensor/dtype.h"

namespace ltr {

const char* to_text(DType dtype) {
  switch (dtype) {
    case DType::Float:
      return "float";
    case DType::F16:
      return "f16";
    case DType::BF16:
      return "bf16";
    case DType::F32:
      return "f32";
    case DType::F64:
      return "f64";
    case DType::I8:
      return "i8";
    case DType::I16:
      return "i16";
    case DType::I32:
      return "i32";
    case DType::I64:
      return "i64";
    case DType::U8:
      return "u8";
    case DType::Bool:
      return "bool";
  }
  return "";
}

}  // namespace ltr
