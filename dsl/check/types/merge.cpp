// Types that meet: of two branches, of a value and the place that it goes to.

#include <algorithm>

#include "dsl/check/types/types.h"

namespace ltr::check {

namespace {

Type optional_of(const Type& type) {
  if (type.kind == Kind::Option) return type;
  Type option = Type::of(Kind::Option);
  option.fields.push_back({"", type});
  return option;
}

std::optional<Type> merge_tensors(const Type& left, const Type& right, Context& cx) {
  if (left.element != right.element || left.dims.size() != right.dims.size()) return std::nullopt;
  Type type = left;
  for (size_t i = 0; i < left.dims.size(); ++i) {
    if (left.dims[i] == right.dims[i]) continue;
    if (left.dims[i].group != 0 || right.dims[i].group != 0) return std::nullopt;
    type.dims[i].size = cx.program.atoms.unknown();
  }
  return type;
}

/// Lists of which one does not say its elements one by one have one element type in common.
std::optional<Type> merge_lists(const Type& left, const Type& right, Context& cx) {
  std::optional<Type> element;
  for (const Type* side : {&left, &right}) {
    for (const TypeField& field : side->fields) {
      element = element ? merge(*element, field.type, cx) : field.type;
      if (!element) return std::nullopt;
    }
  }
  Type type = Type::of(Kind::List);
  type.uniform = true;
  if (element) type.fields.push_back({"", *element});
  if (left.value && left.value == right.value) type.value = left.value;
  return type;
}

/// The type that elements of several kinds have in common: `float` of ints and floats, an option beside `none`. Nothing where
/// all are of one kind, or one has nothing in common with the others.
std::optional<Type> common_element(const Type& list, Context& cx) {
  if (list.fields.empty()) return std::nullopt;
  const Kind first = list.fields[0].type.kind;
  if (std::ranges::all_of(list.fields, [&](const TypeField& field) { return field.type.kind == first; }))
    return std::nullopt;
  std::optional<Type> common = list.fields[0].type;
  for (const TypeField& field : list.fields) common = common ? merge(*common, field.type, cx) : std::nullopt;
  return common;
}

}  // namespace

bool are_each_by_each(const Type& left, const Type& right) {
  return left.kind == Kind::List && right.kind == Kind::List && !left.uniform && !right.uniform &&
         left.fields.size() == right.fields.size();
}

std::optional<Type> merge(const Type& left, const Type& right, Context& cx) {
  if (left == right) return left;
  if (left.kind == Kind::None) return optional_of(right);
  if (right.kind == Kind::None) return optional_of(left);
  if (left.kind == Kind::Option || right.kind == Kind::Option) {
    const Type& inner_left = left.kind == Kind::Option ? left.fields[0].type : left;
    const Type& inner_right = right.kind == Kind::Option ? right.fields[0].type : right;
    if (const auto inner = merge(inner_left, inner_right, cx)) return optional_of(*inner);
    return std::nullopt;
  }
  if (left.kind == Kind::Int && right.kind == Kind::Int) return Type::host_int(cx.program.atoms.unknown());
  if (left.is_host_number() && right.is_host_number() && left.kind != Kind::Bool && right.kind != Kind::Bool) {
    return Type::of(Kind::Float);
  }
  // Of two functions a run cannot choose one: which it is stands in the type.
  if (left.kind != right.kind || left.kind == Kind::Function) return std::nullopt;
  if (left.is_tensor()) return merge_tensors(left, right, cx);
  const bool is_one_empty = left.fields.empty() || right.fields.empty();
  if (left.kind == Kind::List && !are_each_by_each(left, right) && (left.uniform != right.uniform || is_one_empty))
    return merge_lists(left, right, cx);
  if (left.fields.size() != right.fields.size() || left.decl != right.decl) return std::nullopt;
  Type type = left;
  for (size_t i = 0; i < left.fields.size(); ++i) {
    const TypeField* other = left.kind == Kind::Record ? right.find(left.fields[i].name, i) : &right.fields[i];
    const auto field = other != nullptr ? merge(left.fields[i].type, other->type, cx) : std::nullopt;
    if (!field) return std::nullopt;
    type.fields[i].type = *field;
  }
  if (type.kind == Kind::List && left.value != right.value) type.value.reset();
  // What comes of two branches is one list, where it can be.
  const auto common = type.kind == Kind::List && !type.uniform ? common_element(type, cx) : std::nullopt;
  if (common) {
    type.uniform = true;
    type.fields = {{"", *common}};
  }
  return type;
}

Fit fit_of(const Type& have, const Type& wanted) {
  const auto worst_of = [](const auto& pairs) {
    Fit worst = Fit::Same;
    for (const auto& [here, there] : pairs) worst = std::max(worst, fit_of(*here, *there));
    return worst;
  };
  std::vector<std::pair<const Type*, const Type*>> pairs;
  if (have.is_error() || wanted.is_error()) return Fit::Same;
  if (wanted.kind == Kind::Option) {
    if (have.kind == Kind::None) return Fit::Converts;
    if (have.kind == Kind::Option) return fit_of(have.fields[0].type, wanted.fields[0].type);
    return std::max(Fit::Converts, fit_of(have, wanted.fields[0].type));
  }
  if (have.kind == Kind::Int && wanted.kind == Kind::Float) return Fit::Converts;
  if (have.kind == Kind::Str && wanted.kind == Kind::Path) return Fit::Same;
  if (have.kind == Kind::Duration && wanted.kind == Kind::Period) return Fit::Same;
  if (have.kind != wanted.kind) return Fit::No;
  switch (wanted.kind) {
    case Kind::Tuple:
      if (have.fields.size() != wanted.fields.size()) return Fit::No;
      for (size_t i = 0; i < have.fields.size(); ++i) pairs.emplace_back(&have.fields[i].type, &wanted.fields[i].type);
      return worst_of(pairs);
    case Kind::Record:
      for (const TypeField& field : wanted.fields) {
        const TypeField* found = have.find(field.name, pairs.size());
        if (found == nullptr) return Fit::No;
        pairs.emplace_back(&found->type, &field.type);
      }
      return std::max(have.fields.size() == wanted.fields.size() ? Fit::Same : Fit::Converts, worst_of(pairs));
    case Kind::List:
      if (wanted.fields.empty()) return Fit::Same;
      if (have.fields.empty()) return Fit::Converts;
      for (size_t i = 0; i < have.fields.size(); ++i)
        pairs.emplace_back(&have.fields[i].type, &wanted.fields[are_each_by_each(have, wanted) ? i : 0].type);
      return worst_of(pairs);
    default: return Fit::Same;
  }
}

Type converted(const Type& have, const Type& wanted) {
  // Sizes are what they were.
  if (have.is_tensor() || have.is_error() || (have.kind == Kind::Int && wanted.kind == Kind::Int)) return have;
  Type type = wanted;
  if (wanted.kind == Kind::List && !are_each_by_each(have, wanted)) {
    type.uniform = true;
    type.value = have.value;
    if (!have.fields.empty() && !wanted.fields.empty())
      type.fields[0].type = converted(have.fields[0].type, wanted.fields[0].type);
    return type;
  }
  for (size_t i = 0; i < type.fields.size(); ++i) {
    const bool is_inner = wanted.kind == Kind::Option && have.kind != Kind::Option;
    const TypeField* field = wanted.kind == Kind::Record           ? have.find(type.fields[i].name, i)
                             : is_inner || i >= have.fields.size() ? nullptr
                                                                   : &have.fields[i];
    if (is_inner && have.kind != Kind::None) {
      type.fields[i].type = converted(have, wanted.fields[i].type);
    } else if (field != nullptr) {
      type.fields[i].type = converted(field->type, wanted.fields[i].type);
    }
  }
  return type;
}

}  // namespace ltr::check
