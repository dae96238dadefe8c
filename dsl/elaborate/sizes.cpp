#include "dsl/elaborate/machine.h"
#include "dsl/host/math.h"

/// Types and dims in numbers.
namespace ltr::elaborate {

using check::Atom;
using check::Kind;
using check::Polynomial;
using check::Type;

/// What an atom is said to be where the code of `frame` runs; null where nothing is said.
const Polynomial* Machine::meaning_of(check::AtomId id, const Frame& frame) const {
  if (const auto found = frame.sizes.atoms.find(id); found != frame.sizes.atoms.end()) return &found->second;
  if (!frame.self) return nullptr;
  const Sizes& sizes = plan_.tree.objects[*frame.self].sizes;
  const auto found = sizes.atoms.find(id);
  return found == sizes.atoms.end() ? nullptr : &found->second;
}

/// What a list of ints holds where the code of `frame` runs; null where nobody knows.
const std::vector<Size>* Machine::ints_of(check::AtomId list, const Frame& frame) const {
  const Sizes* self = frame.self ? &plan_.tree.objects[*frame.self].sizes : nullptr;
  for (const Sizes* sizes : {&frame.sizes, self, &hparams_}) {
    if (sizes == nullptr) continue;
    if (const auto found = sizes->lists.find(list); found != sizes->lists.end()) return &found->second;
  }
  return nullptr;
}

Size Machine::element(const Polynomial& list, int64_t index, const Frame& frame) const {
  const auto id = list.single_atom();
  if (!id) return std::nullopt;
  const auto at = [&](const auto& elements) {
    const int64_t length = int64_t(elements.size()), place = index < 0 ? index + length : index;
    return place >= 0 && place < length ? &elements[size_t(place)] : nullptr;
  };
  if (const std::vector<Size>* ints = ints_of(*id, frame)) {
    const Size* found = at(*ints);
    return found == nullptr ? std::nullopt : *found;
  }
  const Polynomial* found = at(program_.atoms.at(*id).elements);
  if (found != nullptr) return size_of(*found, frame);
  const Polynomial* meaning = meaning_of(*id, frame);
  return meaning == nullptr || *meaning == list ? std::nullopt : element(*meaning, index, frame);
}

void Machine::set_hparam(const check::Hparam& hparam, Value value) {
  bind(hparam.type, value, hparams_);
  plan_.hparams.emplace_back(hparam.name, std::move(value));
}

/// A size of the code of `frame` in terms of the root of the tree.
Polynomial Machine::in_terms(const Polynomial& value, const Frame& frame) const {
  if (const Size known = size_of(value, frame)) return *known;
  check::AtomTable::Substitution known;
  for (const check::AtomId id : program_.atoms.deep_atoms(value)) {
    if (const Polynomial* meaning = meaning_of(id, frame)) known.emplace(id, *meaning);
  }
  return options_.atoms->substitute(value, known);
}

/// Likewise the sizes of what is built there.
Type Machine::in_terms(Type built, const Frame& frame) const {
  for (auto& [atom, size] : built.arguments) size = in_terms(size, frame);
  return built;
}

Size Machine::atom(check::AtomId id, const Frame& frame) const {
  if (const Polynomial* meaning = meaning_of(id, frame)) {
    if (const Size known = meaning->constant()) return known;
  }
  const Atom& atom = program_.atoms.at(id);
  if (atom.kind == Atom::Kind::Variable) {
    if (const auto hparam = hparams_.atoms.find(id); hparam != hparams_.atoms.end()) return hparam->second.constant();
    const auto given = options_.data.find(atom.name);
    return given == options_.data.end() ? std::nullopt : Size(given->second);
  }
  if (atom.kind == Atom::Kind::Unknown && !atom.is_power()) return std::nullopt;
  if (atom.kind == Atom::Kind::Element) {
    const Size index = size_of(atom.right, frame);
    return index ? element(atom.left, *index, frame) : std::nullopt;
  }
  const Size left = size_of(atom.left, frame), right = size_of(atom.right, frame);
  if (!left || !right) return std::nullopt;
  switch (atom.kind) {
    case Atom::Kind::Exact: return host::exact_div(*left, *right);
    case Atom::Kind::Floor: return host::floor_div(*left, *right);
    case Atom::Kind::Ceil: return host::ceil_div(*left, *right);
    case Atom::Kind::Remainder: return host::mod(*left, *right);
    case Atom::Kind::Min: return std::min(*left, *right);
    case Atom::Kind::Max: return std::max(*left, *right);
    case Atom::Kind::Unknown: return host::power(*left, *right);
    case Atom::Kind::Variable:
    case Atom::Kind::List:
    case Atom::Kind::Element: break;
  }
  return std::nullopt;
}

Size Machine::size_of(const Polynomial& value, const Frame& frame) const {
  if (value.is_lost()) return std::nullopt;
  int64_t sum = 0;
  bool overflows = false;
  for (const auto& [monomial, factor] : value.terms()) {
    int64_t term = factor;
    for (const auto& [id, power] : monomial) {
      const Size known = atom(id, frame);
      if (!known) return std::nullopt;
      for (int i = 0; i < power; ++i) overflows = __builtin_mul_overflow(term, *known, &term) || overflows;
    }
    overflows = __builtin_add_overflow(sum, term, &sum) || overflows;
  }
  return overflows ? Size() : Size(sum);
}

std::vector<Size> Machine::dims_of(const Type& type, const Frame& frame) const {
  std::vector<Size> dims;
  for (const check::Dim& dim : type.dims) {
    if (dim.group == 0) {
      dims.push_back(size_of(dim.size, frame));
      continue;
    }
    const auto group = frame.sizes.groups.find(dim.group);
    // How many axes a group has is not known then; one that is not known keeps the sums honest.
    if (group == frame.sizes.groups.end()) {
      dims.emplace_back();
    } else {
      dims.insert(dims.end(), group->second.begin(), group->second.end());
    }
  }
  return dims;
}

Value Machine::value_of(const Type& type, const Frame& frame) const {
  Value value;
  switch (type.kind) {
    case Kind::Tensor:
      value.kind = Value::Kind::Tensor;
      value.element = type.element;
      value.dims = dims_of(type, frame);
      break;
    case Kind::Option: return is_exact() ? Value{} : value_of(type.fields[0].type, frame);
    case Kind::Int:
      if (type.value) {
        if (const Size known = size_of(*type.value, frame)) return Value::of_int(*known);
      }
      break;
    case Kind::Tuple:
    case Kind::Record:
      value.kind = type.kind == Kind::Tuple ? Value::Kind::List : Value::Kind::Record;
      for (const check::TypeField& field : type.fields) {
        value.names.push_back(field.name);
        value.items.push_back(value_of(field.type, frame));
      }
      break;
    case Kind::List: {
      value.kind = Value::Kind::List;
      if (!type.uniform) {
        for (const check::TypeField& field : type.fields) value.items.push_back(value_of(field.type, frame));
        break;
      }
      const Size length = type.value ? size_of(*type.value, frame) : std::nullopt;
      if (!length || *length < 0 || *length > kMaxLength || type.fields.empty()) return Value{};
      value.items.assign(size_t(*length), value_of(type.fields[0].type, frame));
      break;
    }
    default: break;
  }
  return value;
}

void Machine::bind(const Type& type, const Value& value, Sizes& sizes) const {
  if (const auto list = check::list_variable(type, program_.atoms); list && value.kind == Value::Kind::List) {
    std::vector<Size>& ints = sizes.lists[*list];
    ints.clear();
    for (const Value& item : value.items) ints.push_back(item.kind == Value::Kind::Int ? Size(item.whole) : Size());
  }
  switch (type.kind) {
    case Kind::Int:
      if (type.value && type.value->single_atom() && value.kind == Value::Kind::Int)
        sizes.atoms[*type.value->single_atom()] = value.whole;
      return;
    case Kind::Bool:
      if (type.value && type.value->single_atom() && value.kind == Value::Kind::Bool)
        sizes.atoms[*type.value->single_atom()] = value.whole != 0 ? 1 : 0;
      return;
    case Kind::Option: return bind(type.fields[0].type, value, sizes);
    case Kind::Record:
      for (const check::TypeField& field : type.fields) {
        if (const Value* item = value.find(field.name)) bind(field.type, *item, sizes);
      }
      return;
    case Kind::Tuple:
      for (size_t i = 0; i < type.fields.size() && i < value.items.size(); ++i)
        bind(type.fields[i].type, value.items[i], sizes);
      return;
    case Kind::Tensor: break;
    default: return;
  }
  if (value.kind != Value::Kind::Tensor) return;
  size_t at = 0;
  for (const check::Dim& dim : type.dims) {
    if (dim.group != 0) {
      if (value.dims.size() + 1 < type.dims.size()) return;
      const size_t count = value.dims.size() + 1 - type.dims.size();
      sizes.groups.try_emplace(dim.group, value.dims.begin() + long(at), value.dims.begin() + long(at + count));
      at += count;
      continue;
    }
    if (at >= value.dims.size()) return;
    const auto single = dim.size.single_atom();
    if (single && value.dims[at]) sizes.atoms.try_emplace(*single, *value.dims[at]);
    ++at;
  }
}

}  // namespace ltr::elaborate
