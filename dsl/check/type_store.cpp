#include "dsl/check/type_store.h"

#include "dsl/check/types/dims/hasher.h"

namespace ltr::check {

namespace {

class TypeHasher : public Hasher {
 public:
  using Hasher::add;
  void add(const Type& type) {
    add(size_t(type.kind) << 16 | size_t(type.element) << 8 | size_t(type.uniform) << 2 | size_t(type.gives_each) << 1 |
        size_t(type.has_vocab));
    add(type.decl);
    add(type.name);
    add(type.module.value_or(UINT32_MAX));
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
};

/// `==` leaves out what only messages read.
bool is_same(const Type& left, const Type& right) {
  if (!(left == right) || left.name != right.name || left.module != right.module || left.has_vocab != right.has_vocab)
    return false;
  for (size_t i = 0; i < left.fields.size(); ++i) {
    if (!is_same(left.fields[i].type, right.fields[i].type)) return false;
  }
  return true;
}

}  // namespace

TypeId TypeStore::add(Type&& type) {
  TypeHasher hasher;
  hasher.add(type);
  const auto [begin, end] = known_.equal_range(hasher.hash());
  for (auto known = begin; known != end; ++known) {
    if (is_same(types_[known->second], type)) return known->second;
  }
  return known_.emplace(hasher.hash(), types_.add(std::move(type)))->second;
}

}  // namespace ltr::check
