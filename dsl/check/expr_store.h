#pragma once

#include <utility>

#include "dsl/check/code.h"
#include "dsl/check/store.h"
#include "dsl/check/type_store.h"

namespace ltr::check {

/// All expressions of a program, and their types.
class ExprStore {
 public:
  ExprId add(Expr&& expr) { return kept_.add({types_.add(std::move(expr.type)), expr.span, std::move(expr.node)}); }
  ExprView operator[](ExprId id) const {
    const Kept& kept = kept_[id];
    return {types_[kept.type], kept.span, kept.node};
  }
  uint32_t size() const { return kept_.size(); }  ///< ids are below

 private:
  struct Kept {
    TypeId type;
    Span span;
    Node node;
  };
  TypeStore types_;
  Store<ExprId, Kept> kept_;
};

}  // namespace ltr::check
