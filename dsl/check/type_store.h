#pragma once

#include <unordered_map>

#include "dsl/check/store.h"
#include "dsl/check/type.h"

namespace ltr::check {

/// A type in a `TypeStore`.
struct TypeId {
  uint32_t index = 0;
  bool operator==(const TypeId&) const = default;
};

/// Types, each of them once: those that differ in nothing, names for messages included, have one id.
class TypeStore {
 public:
  TypeId add(Type&& type);
  const Type& operator[](TypeId id) const { return types_[id]; }

 private:
  Store<TypeId, Type> types_;
  std::unordered_multimap<size_t, TypeId> known_;  ///< by hash
};

}  // namespace ltr::check
