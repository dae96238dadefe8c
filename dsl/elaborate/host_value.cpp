#include "dsl/elaborate/host_value.h"

#include <algorithm>

namespace ltr::elaborate {

std::optional<host::Number> number_of(const Value& value) {
  if (value.kind == Value::Kind::Bool) return value.whole != 0;
  if (value.kind == Value::Kind::Int) return value.whole;
  if (value.kind == Value::Kind::Float) return value.real;
  return std::nullopt;
}

Value of_number(const host::Number& number) {
  if (const bool* flag = std::get_if<bool>(&number)) return Value::of_bool(*flag);
  if (const int64_t* whole = std::get_if<int64_t>(&number)) return Value::of_int(*whole);
  return Value::of_float(std::get<double>(number));
}

std::optional<bool> equal(const Value& a, const Value& b) {
  if (a.kind == Value::Kind::Unknown || b.kind == Value::Kind::Unknown) return std::nullopt;
  if (a.kind == Value::Kind::None || b.kind == Value::Kind::None) return a.kind == b.kind;
  if (a.kind == Value::Kind::Str && b.kind == Value::Kind::Str) return a.text == b.text;
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  if (a.kind == Value::Kind::Bool && b.kind == Value::Kind::Bool) return a.whole == b.whole;
  if (a.kind == Value::Kind::List && b.kind == Value::Kind::List) {
    if (a.items.size() != b.items.size()) return false;
    for (size_t i = 0; i < a.items.size(); ++i) {
      const auto same = equal(a.items[i], b.items[i]);
      if (!same || !*same) return same;
    }
    return true;
  }
  return std::nullopt;
}

Size count_between(const Value& from, const Value& to) {
  if (from.kind != Value::Kind::Int || to.kind != Value::Kind::Int) return std::nullopt;
  int64_t count = 0;
  if (__builtin_sub_overflow(to.whole, from.whole, &count)) return std::nullopt;
  return std::max<int64_t>(count, 0);
}

std::optional<Value> part_of(Value list, const Value& first, const Value& end) {
  const auto length = int64_t(list.items.size());
  const auto place = [&](const Value& at, int64_t otherwise) -> Size {
    if (at.kind == Value::Kind::None) return otherwise;
    if (at.kind != Value::Kind::Int) return std::nullopt;
    return at.whole < 0 ? at.whole + length : at.whole;
  };
  const Size from = place(first, 0), to = place(end, length);
  if (list.kind != Value::Kind::List || !from || !to || *from < 0 || *to < *from || *to > length) return std::nullopt;
  list.items = {list.items.begin() + *from, list.items.begin() + *to};
  return list;
}

void take_dims(Value& tensor, const std::vector<Value>& args) {
  const Value* dims = nullptr;
  for (const Value& arg : args) {
    if (arg.kind == Value::Kind::Tensor || (dims != nullptr && arg.kind == Value::Kind::List)) return;
    if (arg.kind == Value::Kind::List) dims = &arg;
  }
  if (dims == nullptr || dims->items.size() != tensor.dims.size()) return;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    if (!tensor.dims[i] && dims->items[i].kind == Value::Kind::Int) tensor.dims[i] = dims->items[i].whole;
  }
}

}  // namespace ltr::elaborate
