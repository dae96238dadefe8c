#include "dsl/check/type_store.h"

#include <functional>

namespace ltr::check {

namespace {

/// Mixes what a type consists of into one number.
class Hasher {
 public:
  void add(size_t value) { hash_ = (hash_ ^ value) * 0x100000001b3; }  // FNV-1a, a word at a time.
  void add(const std::string& text) { add(std::hash<std::string>()(text)); }
  void add(const Polynomial& value) {
    add(size_t(value.loss()));
    for (const auto& [monomial, coefficient] : value.terms()) {
      add(size_t(coefficient));
      for (const auto& [atom, power] : monomial) add(size_t(atom) << 8 ^ size_t(power));
    }
  }
  void add(const Type& type) {
    add(size_t(type.kind) << 16 | size_t(type.element) << 8 | size_t(type.uniform) << 1 | size_t(type.has_vocab));
    add(type.decl);
    add(type.name);
    for (const Dim& dim : type.dims) {
      add(dim.group);
      add(dim.size);
    }
    for (const TypeField& field : type.fields) {
      add(field.name);
      add(field.type);
    }
    for (const std::string& choice : type.choices) add(choice);
    if (type.value) add(*type.value);
    for (const auto& [atom, value] : type.arguments) {
      add(atom);
      add(value);
    }
  }
  size_t hash() const { return hash_; }

 private:
  size_t hash_ = 0xcbf29ce484222325;
};

/// `==` leaves out what only messages read.
bool is_same(const Type& left, const Type& right) {
  if (!(left == right) || left.name != right.name || left.has_vocab != right.has_vocab) return false;
  for (size_t i = 0; i < left.fields.size(); ++i) {
    if (!is_same(left.fields[i].type, right.fields[i].type)) return false;
  }
  return true;
}

}  // namespace

TypeId TypeStore::add(Type type) {
  Hasher hasher;
  hasher.add(type);
  const auto [begin, end] = known_.equal_range(hasher.hash());
  for (auto known = begin; known != end; ++known) {
    if (is_same(types_[known->second], type)) return known->second;
  }
  return known_.emplace(hasher.hash(), types_.add(std::move(type)))->second;
}

}  // namespace ltr::check
