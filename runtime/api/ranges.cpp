#include "runtime/api/ranges.h"

#include <cmath>
#include <string_view>

namespace ltr {

namespace {

struct Range {
  const char* path;
  std::string_view op;
  double bound;
};
constexpr Range kRanges[] = {
#define LTR_RANGE(path, op, bound) {path, op, bound},
#include "runtime/api/ranges.def"
#undef LTR_RANGE
};

bool keeps(double value, const Range& range) {
  if (range.op == ">=") return value >= range.bound;
  if (range.op == "<=") return value <= range.bound;
  return range.op == ">" ? value > range.bound : value < range.bound;
}

/// The number in a value with or without a unit; nothing if it is none.
Option<double> number_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Int:
    case Value::Kind::Bytes:
      return double(value.whole);
    case Value::Kind::Float:
    case Value::Kind::Epochs:
    case Value::Kind::Seconds:
      return value.real;
    case Value::Kind::Steps:
      return std::floor(value.real);  // half a step is none
    case Value::Kind::Call:
      if (value.text == "fraction" && !value.items.empty()) return value.items[0].value.as_float();
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

Option<Str> broken_range(const Str& path, const Value& value) {
  if (value.kind == Value::Kind::Tuple || value.kind == Value::Kind::List) {
    for (const Argument& item : value.items) {
      if (Option<Str> rule = broken_range(path, item.value)) return rule;
    }
    return std::nullopt;
  }
  const Option<double> number = number_of(value);
  if (!number) return std::nullopt;
  const Str name = path.substr(path.rfind('.') + 1);
  for (const Range& range : kRanges) {
    if (path == range.path && !keeps(*number, range)) return fmt::format("{} {} {}", name, range.op, range.bound);
  }
  return std::nullopt;
}

}  // namespace ltr
