#pragma once

// Arguments of a callback's call, with their defaults.

#include "ltr/api.h"
#include "runtime/api/error.h"

namespace ltr {

inline const Value* argument(const Value& call, const char* name) {
  const Value* value = call.find(name);
  return value != nullptr && !value->is_none() ? value : nullptr;
}
inline Str text_argument(const Value& call, const char* name, const char* initial) {
  const Value* value = argument(call, name);
  return value != nullptr ? value->as_str() : initial;
}
inline int64_t int_argument(const Value& call, const char* name, int64_t initial) {
  const Value* value = argument(call, name);
  return value != nullptr ? value->as_int() : initial;
}
inline double float_argument(const Value& call, const char* name, double initial) {
  const Value* value = argument(call, name);
  return value != nullptr ? value->as_float() : initial;
}
inline bool bool_argument(const Value& call, const char* name, bool initial) {
  const Value* value = argument(call, name);
  return value != nullptr ? value->as_bool() : initial;
}
inline Option<double> optional_argument(const Value& call, const char* name) {
  const Value* value = argument(call, name);
  return value != nullptr ? Option<double>(value->as_float()) : std::nullopt;
}

}  // namespace ltr
