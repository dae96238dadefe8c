#pragma once

#include "dsl/ast/expr.h"

namespace ltr::ast {

/// One size in `float[B, ?, ...]`.
struct Dim {
  enum class Kind { Error, Expr, Unknown, Ellipsis } kind = Kind::Error;
  std::optional<Box<Expr>> value;
  Span span;
};
struct ErrorType {};
/// `int`, `float[B, 3]`, `Linear`; `has_dims` tells `f32[]` from `f32`.
struct NamedType {
  Name name;
  bool has_dims = false;
  std::vector<Dim> dims;
};
/// `list[T]` and `option[T]`: the only names whose brackets hold types.
struct AppliedType {
  Name name;
  Box<TypeExpr> argument;
};
struct FieldType {
  Name name;
  Box<TypeExpr> type;
};
struct RecordType {
  std::vector<FieldType> fields;
};
struct TupleType {
  std::vector<TypeExpr> elements;
};
/// `block [B](float[B, D]) -> float[B, D]`.
struct BlockType {
  std::vector<Name> binders;
  std::vector<TypeExpr> params;
  Box<TypeExpr> result;
};

struct TypeExpr {
  Span span;
  std::variant<ErrorType, NamedType, AppliedType, RecordType, TupleType, BlockType> node;

  template <class T>
  const T* get() const {
    return std::get_if<T>(&node);
  }
};

}  // namespace ltr::ast
