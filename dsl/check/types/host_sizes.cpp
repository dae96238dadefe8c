// Sizes inside of host values: `cfg.width`, `pair[0]` and `widths[i]` are dims as an int param alone is one.

#include <algorithm>

#include "dsl/check/types/types.h"

namespace ltr::check {

namespace {

constexpr int64_t kMostElements = 256;  ///< of a list that is written out: a longer one is not known element by element

/// The variable that stands for the index in the type of a list's elements.
AtomId index_variable(AtomTable& atoms) { return atoms.variable("index", 0, false, false, true); }

bool holds_ints(const Type& type) {
  return std::any_of(type.fields.begin(), type.fields.end(),
                     [](const TypeField& field) { return field.type.kind == Kind::Int; });
}

/// A list or tuple as the atom that its elements are taken of.
Polynomial as_list(const Type& type, Context& cx) {
  AtomTable& atoms = cx.program.atoms;
  const auto size_of = [&](const Type& element) {
    return element.kind == Kind::Int && element.value ? *element.value : atoms.unknown();
  };
  std::vector<Polynomial> elements;
  if (type.kind != Kind::List && type.kind != Kind::Tuple) return atoms.unknown();
  if (!type.uniform) {
    for (const TypeField& field : type.fields) elements.push_back(size_of(field.type));
    const bool has_group = type.kind == Kind::List && type.value != Polynomial(int64_t(elements.size()));
    return has_group ? atoms.unknown() : atoms.list(std::move(elements));
  }
  if (type.fields.empty() || !type.fields[0].type.value || type.arguments.empty()) return atoms.unknown();
  const auto& [variable, first] = type.arguments[0];
  const auto element = type.fields[0].type.value->single_atom();
  if (element && atoms.at(*element).kind == Atom::Kind::Element && first == Polynomial(0) &&
      atoms.at(*element).right == Polynomial::atom(variable))
    return atoms.at(*element).left;
  const auto length = type.value ? type.value->constant() : std::nullopt;
  if (!length || *length > kMostElements) return atoms.unknown();
  for (int64_t i = 0; i < *length; ++i)
    elements.push_back(size_of(instantiate(type.fields[0].type, list_element_arguments(type, i), cx)));
  return atoms.list(std::move(elements));
}

void name_elements(Type& list, const Polynomial& whole, AtomTable& atoms) {
  list.arguments = {{index_variable(atoms), 0}};
  list.fields[0].type.value = atoms.element(whole, Polynomial::atom(list.arguments[0].first));
}

bool mentions(const Type& type, AtomId atom, const AtomTable& atoms) {
  if (type.kind == Kind::Int) return type.value && type.value->single_atom() == atom;
  if (list_variable(type, atoms) == atom) return true;
  const bool has_parts = type.kind == Kind::Record || type.kind == Kind::Tuple;
  return has_parts && std::any_of(type.fields.begin(), type.fields.end(),
                                  [&](const TypeField& field) { return mentions(field.type, atom, atoms); });
}

}  // namespace

std::optional<AtomId> list_variable(const Type& type, const AtomTable& atoms) {
  for (const TypeField& field : type.fields) {
    if (field.type.kind != Kind::Int || !field.type.value) continue;
    const auto element = field.type.value->single_atom();
    if (!element || atoms.at(*element).kind != Atom::Kind::Element) return std::nullopt;
    return atoms.at(*element).left.single_atom();
  }
  return std::nullopt;
}

std::vector<AtomId> name_sizes(Type& type, const std::string& name, bool is_hparam, Context& cx) {
  AtomTable& atoms = cx.program.atoms;
  const auto variable = [&] { return atoms.variable(name, is_hparam ? 0 : cx.next_key++, is_hparam); };
  std::vector<AtomId> named;
  switch (type.kind) {
    case Kind::Int:
      named.push_back(variable());
      type.value = Polynomial::atom(named[0]);
      return named;
    case Kind::List:
      if (!holds_ints(type)) return named;
      named.push_back(variable());
      name_elements(type, Polynomial::atom(named[0]), atoms);
      return named;
    case Kind::Tuple:
      if (holds_ints(type)) named.push_back(variable());
      break;
    case Kind::Record: break;
    default: return named;
  }
  for (size_t i = 0; i < type.fields.size(); ++i) {
    Type& part = type.fields[i].type;
    if (type.kind == Kind::Tuple && part.kind == Kind::Int) {
      part.value = atoms.element(Polynomial::atom(named[0]), int64_t(i));
      continue;
    }
    const std::string part_name =
        type.kind == Kind::Record ? name + "." + type.fields[i].name : name + "[" + std::to_string(i) + "]";
    const std::vector<AtomId> inner = name_sizes(part, part_name, is_hparam, cx);
    named.insert(named.end(), inner.begin(), inner.end());
  }
  return named;
}

AtomId name_truth(Type& type, const std::string& name, Context& cx) {
  const AtomId atom = cx.program.atoms.variable(name, cx.next_key++);
  type.value = Polynomial::atom(atom);
  cx.truths.insert(atom);
  return atom;
}

Polynomial without_truths(const Polynomial& size, Context& cx) {
  AtomTable::Substitution none;
  for (const AtomId id : size.atoms()) {
    if (cx.truths.contains(id)) none[id] = 0;
  }
  return none.empty() ? size : cx.program.atoms.substitute(size, none);
}

void bind_sizes(const Type& param, const ExprView& given, Binding& binding, Context& cx) {
  const auto* constant = given.get<node::BoolConst>();
  if (param.kind == Kind::Bool && param.value && constant != nullptr)
    binding.dims[*param.value->single_atom()] = constant->value ? 1 : 0;
  else
    bind_sizes(param, given.type, binding, cx);
}

void bind_sizes(const Type& param, const Type& given, Binding& binding, Context& cx) {
  AtomTable& atoms = cx.program.atoms;
  if (const auto list = list_variable(param, atoms)) binding.dims[*list] = as_list(given, cx);
  switch (param.kind) {
    case Kind::Bool:
    case Kind::Int: {
      const auto atom = param.value ? param.value->single_atom() : std::nullopt;
      if (atom && atoms.at(*atom).kind == Atom::Kind::Variable)
        binding.dims[*atom] = given.value ? *given.value : atoms.unknown();
      return;
    }
    case Kind::Record:
    case Kind::Tuple:
      for (size_t i = 0; i < param.fields.size(); ++i) {
        const TypeField* found = param.kind == Kind::Record ? given.find(param.fields[i].name, i)
                                 : i < given.fields.size()  ? &given.fields[i]
                                                            : nullptr;
        bind_sizes(param.fields[i].type, found == nullptr ? Type::error() : found->type, binding, cx);
      }
      return;
    default: return;
  }
}

void name_elements(Type& list, const Type& whole, Context& cx) {
  if (list.fields.size() == 1 && list.fields[0].type.kind == Kind::Int)
    name_elements(list, as_list(whole, cx), cx.program.atoms);
}

std::optional<Expr> part_that_is(AtomId atom, Expr whole, Span span, Context& cx) {
  const Type type = whole.type;
  if (!mentions(type, atom, cx.program.atoms)) return std::nullopt;
  if (type.kind == Kind::Int || list_variable(type, cx.program.atoms) == atom) return whole;
  const ExprId of = cx.keep(std::move(whole));
  for (size_t i = 0; i < type.fields.size(); ++i) {
    const TypeField& field = type.fields[i];
    Expr part = {field.type, span, node::TupleElement{of, int64_t(i)}};
    if (type.kind == Kind::Record) part.node = node::RecordField{of, field.name};
    if (auto found = part_that_is(atom, std::move(part), span, cx)) return found;
  }
  return std::nullopt;
}

}  // namespace ltr::check
