#include "runtime/api/value_range.h"

#include <cmath>

#include "runtime/tables/ranges.h"

namespace ltr {

namespace {

/// The number in a value with or without a unit; nothing if it is none.
Option<double> number_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Int:
    case Value::Kind::Bytes: return double(value.whole);
    case Value::Kind::Float:
    case Value::Kind::Epochs:
    case Value::Kind::Seconds: return value.real;
    case Value::Kind::Steps: return std::floor(value.real);  // half a step is none
    case Value::Kind::Call:
      if (value.text == "fraction" && !value.items.empty()) return value.items[0].value.as_float();
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

Option<Str> broken_range(const Str& path, const Value& value) {
  if (value.kind == Value::Kind::Tuple || value.kind == Value::Kind::List) {
    for (size_t i = 0; i < value.items.size(); ++i) {
      for (const Str& own : {path, path + "[" + std::to_string(i) + "]"}) {
        if (Option<Str> rule = broken_range(own, value.items[i].value)) return rule;
      }
    }
    return std::nullopt;
  }
  const Option<double> number = number_of(value);
  const bool is_counted =
      value.kind == Value::Kind::Steps || value.kind == Value::Kind::Epochs || value.kind == Value::Kind::Seconds;
  return number ? broken_rule(path, *number, is_counted) : std::nullopt;
}

}  // namespace ltr
