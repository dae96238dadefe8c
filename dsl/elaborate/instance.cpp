#include "dsl/elaborate/instance.h"

#include <algorithm>

namespace ltr::elaborate {

Value Value::of_int(int64_t whole) {
  Value value;
  value.kind = Kind::Int;
  value.whole = whole;
  return value;
}
Value Value::of_float(double real) {
  Value value;
  value.kind = Kind::Float;
  value.real = real;
  return value;
}
Value Value::of_bool(bool flag) {
  Value value;
  value.kind = Kind::Bool;
  value.whole = flag ? 1 : 0;
  return value;
}
Value Value::of_str(std::string text) {
  Value value;
  value.kind = Kind::Str;
  value.text = std::move(text);
  return value;
}
Value Value::none() {
  Value value;
  value.kind = Kind::None;
  return value;
}

const Value* Value::find(const std::string& name) const {
  for (size_t i = 0; i < names.size() && i < items.size(); ++i) {
    if (names[i] == name) return &items[i];
  }
  return nullptr;
}

const Value* Object::find(const std::string& name) const {
  for (const auto& [member, value] : members) {
    if (member == name) return &value;
  }
  return nullptr;
}

std::string below(const std::string& place, const std::string& name) {
  return place.empty() ? name : place + "." + name;
}

bool is_below(const std::string& path, const std::string& above) {
  return above.empty() || path == above || (path.starts_with(above) && path[above.size()] == '.');
}

std::vector<WeightId> Tree::weights_at(const std::string& path) const {
  std::vector<WeightId> found;
  for (size_t i = 0; i < weights.size(); ++i) {
    const Weight& weight = weights[i];
    const auto lies_there = [&](const std::string& place) { return is_below(place, path); };
    const bool is_there = lies_there(weight.path) || std::any_of(weight.ties.begin(), weight.ties.end(), lies_there);
    if (is_there && !weight.is_buffer && !weight.is_frozen) found.push_back(WeightId(i));
  }
  return found;
}

Size count_elements(const std::vector<Size>& dims) {
  int64_t count = 1;
  for (const Size& dim : dims) {
    if (!dim) return std::nullopt;
    count *= *dim;
  }
  return count;
}

}  // namespace ltr::elaborate
