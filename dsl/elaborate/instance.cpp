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

bool Object::lies_below(const std::string& above) const { return path && is_below(*path, above); }

std::vector<WeightId> Tree::weights_at(const std::string& path) const {
  std::vector<WeightId> found;
  for (const auto& [place, id] : places) {
    if (is_below(place, path) && !weights[id].is_buffer && !weights[id].is_frozen) found.push_back(id);
  }
  // A tied one is met at each of its places.
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Size count_elements(const std::vector<Size>& dims) {
  int64_t count = 1;
  for (const Size& dim : dims) {
    if (!dim || __builtin_mul_overflow(count, *dim, &count)) return std::nullopt;
  }
  return count;
}

}  // namespace ltr::elaborate
