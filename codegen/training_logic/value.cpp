#include "codegen/training_logic/value.h"

#include <algorithm>

#include "runtime/tables/weight_name.h"

namespace ltr::training_logic {

namespace {

template <class Map>
bool same_keys(const Map& left, const Map& right) {
  return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(),
                                                   [](const auto& a, const auto& b) { return a.first == b.first; });
}

template <class T>
void add_new(std::vector<T>& into, const std::vector<T>& from) {
  for (const T& one : from) {
    if (std::find(into.begin(), into.end(), one) == into.end()) into.push_back(one);
  }
}

}  // namespace

Scope Scope::below(std::string_view name) const {
  Scope inner{root, {}};
  inner.path.reserve(path.size() + 1 + name.size());
  if (!path.empty()) inner.path.append(path) += '.';
  inner.path += name;
  return inner;
}

bool Scope::holds(const Scope& other) const {
  if (root != other.root) return false;
  return path.empty() || other.path == path ||
         (other.path.size() > path.size() && other.path.starts_with(path) && other.path[path.size()] == '.');
}

std::string Scope::name_of(const Scope& other) const {
  return weight_name(path.empty() ? other.path : other.path.substr(path.size() + 1));
}

bool Value::holds_input() const {
  return is_of_input || std::any_of(parts.begin(), parts.end(), [](const Known& part) { return part->holds_input(); });
}

std::optional<Span> Value::held_noise() const {
  if (noise) return noise;
  for (const Known& part : parts) {
    if (const auto held = part->held_noise()) return held;
  }
  return std::nullopt;
}

void WeightSet::insert(WeightId weight) {
  const size_t word = weight / 64;
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] |= uint64_t(1) << weight % 64;
}

void WeightSet::insert(const WeightSet& others) {
  if (words_.size() < others.words_.size()) words_.resize(others.words_.size());
  for (size_t i = 0; i < others.words_.size(); ++i) words_[i] |= others.words_[i];
}

bool Value::same_as(const Value& other) const {
  return is_unknown == other.is_unknown && varies == other.varies && is_of_input == other.is_of_input &&
         noise.has_value() == other.noise.has_value() && is_none == other.is_none && constant == other.constant &&
         leaves == other.leaves && reached == other.reached && activation.function == other.activation.function &&
         objects == other.objects && identity == other.identity && optimizer == other.optimizer &&
         weights.size() == other.weights.size() && same_keys(paths, other.paths) && same_keys(cuts, other.cuts) &&
         parts.size() == other.parts.size() &&
         std::equal(parts.begin(), parts.end(), other.parts.begin(),
                    [](const Known& a, const Known& b) { return a->same_as(*b); });
}

Places turned(Places places) {
  switch (places) {
    case Places::Any: return Places::Any;
    case Places::Own: return Places::Filled;
    case Places::Filled: return Places::Own;
    case Places::Above: return Places::NotAbove;
    case Places::NotAbove: return Places::Above;
    case Places::Before: return Places::After;
    case Places::After: return Places::Before;
  }
  return Places::Any;
}

std::optional<double> number_of(const Value& value) {
  if (!value.constant) return std::nullopt;
  if (const auto* whole = std::get_if<int64_t>(&*value.constant)) return double(*whole);
  const auto* real = std::get_if<double>(&*value.constant);
  return real != nullptr ? std::optional(*real) : std::nullopt;
}

void depend(Value& into, const Value& from) {
  into.is_unknown = into.is_unknown || from.is_unknown;
  into.varies = into.varies || from.varies;
  into.is_of_input = into.is_of_input || from.is_of_input;
  into.is_of_all_records = into.is_of_all_records || from.is_of_all_records;
  into.paths.insert(from.paths.begin(), from.paths.end());
  into.reached.insert(from.reached);
  into.cuts.insert(from.cuts.begin(), from.cuts.end());
  if (!into.lost_term) into.lost_term = from.lost_term;
  for (const Known& part : from.parts) depend(into, *part);
}

Value join(const Value& left, const Value& right) {
  Value value;
  value.is_unknown = left.is_unknown || right.is_unknown;
  value.varies = left.varies || right.varies;
  value.is_of_input = left.is_of_input || right.is_of_input;
  value.is_of_all_records = left.is_of_all_records || right.is_of_all_records;
  value.noise = left.noise ? left.noise : right.noise;
  value.is_none = left.is_none && right.is_none;
  value.may_be_none = left.is_none != right.is_none || left.may_be_none || right.may_be_none;
  value.is_uniform_draw = left.is_uniform_draw || right.is_uniform_draw;
  value.is_field = left.is_field && right.is_field;
  value.names_others = left.names_others && right.names_others;
  value.is_counted = left.is_counted && right.is_counted;
  value.is_ones = left.is_ones && right.is_ones;
  if (left.places == right.places) value.places = left.places;
  if (left.element == right.element) value.element = left.element;
  if (left.identity == right.identity) value.identity = left.identity;
  if (left.order_of == right.order_of) value.order_of = left.order_of;
  if (left.rows == right.rows) value.rows = left.rows;
  value.is_zero_or_one = left.is_zero_or_one && right.is_zero_or_one;
  if (left.filled == right.filled) value.filled = left.filled;
  if (left.hidden == right.hidden) value.hidden = left.hidden;
  if (left.fill == right.fill) value.fill = left.fill;
  if (left.draw == right.draw) value.draw = left.draw;
  if (left.total == right.total) value.total = left.total;
  value.may_count = left.may_count || right.may_count;
  if (left.constant == right.constant) value.constant = left.constant;
  if (left.range == right.range) value.range = left.range;
  value.paths = left.paths;
  value.paths.insert(right.paths.begin(), right.paths.end());
  value.cuts = left.cuts;
  value.cuts.insert(right.cuts.begin(), right.cuts.end());
  value.leaves = left.leaves;
  value.leaves.insert(right.leaves.begin(), right.leaves.end());
  value.reached = left.reached;
  value.reached.insert(right.reached);
  if (left.lost_term && right.lost_term) value.lost_term = left.lost_term;
  value.is_share = left.is_share && right.is_share;
  if (left.negated.has_value() == right.negated.has_value() && right.loss != library::Id::None) {
    value.loss = left.loss;
    value.is_of_target = left.is_of_target && right.is_of_target;
    value.is_of_given = left.is_of_given && right.is_of_given;
    value.is_each = left.is_each && right.is_each;
    value.negated = left.negated;
    value.negated_name = left.negated_name;
  }
  if (left.activation.function == right.activation.function) value.activation = left.activation;
  value.weights = left.weights;
  value.weights.insert(value.weights.end(), right.weights.begin(), right.weights.end());
  value.objects = left.objects;
  add_new(value.objects, right.objects);
  value.closures = left.closures;
  add_new(value.closures, right.closures);
  if (left.optimizer == right.optimizer) value.optimizer = left.optimizer;
  value.is_unknown = value.is_unknown || left.optimizer != right.optimizer;
  if (left.scope == right.scope) value.scope = left.scope;
  if (left.parts.size() == right.parts.size() && left.is_uniform == right.is_uniform) {
    value.is_uniform = left.is_uniform;
    for (size_t i = 0; i < left.parts.size(); ++i)
      value.parts.push_back(new Value(join(*left.parts[i], *right.parts[i])));
  } else {
    // Lists of different lengths: any element may be any of them.
    Known any;
    for (const Value* side : {&left, &right}) {
      for (const Known& part : side->parts) any = any ? Known(new Value(join(*any, *part))) : part;
    }
    if (any) value.parts.push_back(std::move(any));
    value.is_uniform = true;
  }
  return value;
}

Value severed(Value value, const Cut& cut) {
  for (const auto& [path, span] : value.paths) value.cuts.try_emplace(path.to.owner, cut);
  // Who cuts what was cut before wants it so.
  for (auto& [owner, known] : value.cuts) {
    if (cut.is_meant) known = cut;
  }
  value.paths.clear();
  value.leaves.clear();
  value.reached.clear();
  for (Known& part : value.parts) part = new Value(severed(*part, cut));
  return value;
}

Value renamed(Value value, Snapshot from, VersionId to) {
  const auto now = [&](Snapshot one) { return one == from ? Snapshot{one.owner, to} : one; };
  boost::container::flat_map<Path, Span> paths;
  for (const auto& [path, span] : value.paths) paths.emplace(Path{now(path.to), now(path.through)}, span);
  value.paths = std::move(paths);
  boost::container::flat_set<Snapshot> leaves;
  for (const Snapshot& leaf : value.leaves) leaves.insert(now(leaf));
  value.leaves = std::move(leaves);
  for (Known& part : value.parts) part = new Value(renamed(*part, from, to));
  return value;
}

}  // namespace ltr::training_logic
