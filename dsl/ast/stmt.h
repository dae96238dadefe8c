#pragma once

#include "dsl/ast/type.h"

namespace ltr::ast {

/// A statement that could not be read; the names it would have assigned.
struct ErrorStmt {
  std::vector<Name> names;
};
/// `a, b = value`.
struct Unpack {
  std::vector<Name> names;
  Expr value;
};
enum class AssignOp { Set, Add, Subtract, Multiply, Divide };
/// `target = value`, `target += value`. `target` is a NameRef, Field or Index expression.
struct Assign {
  Expr target;
  AssignOp op = AssignOp::Set;
  Span op_span;
  Expr value;
};
/// `name: type = value`.
struct Declare {
  Name name;
  TypeExpr type;
  Expr value;
};
struct Return {
  std::optional<Expr> value;
};
struct Yield {
  Expr value;
};
struct Assert {
  Expr condition;
  std::optional<Expr> message;
};
struct Print {
  std::vector<Expr> values;
};
struct Minimize {
  Expr loss;
  std::optional<Expr> optimizer;
};
struct Backward {
  Expr loss;
};
enum class LogKind { Scalar, Image, Histogram, Text };
enum class LogWhen { Default, Step, Epoch, Both };
/// `log image name = value on epoch bar reduce sum`.
struct Log {
  LogKind kind = LogKind::Scalar;
  Name name;
  std::optional<Expr> value;
  LogWhen when = LogWhen::Default;
  Span when_span;
  bool bar = false;
  std::optional<Name> reduce;
  std::optional<Name> merge;   ///< the function of `reduce merge f`
  std::vector<Name> repeated;  ///< `on`, `bar` and `reduce` of which it had said one before
};
struct If {
  Expr condition;
  Body then_body;
  Body else_body;  ///< `else if` is an else body of one `If`
  bool has_else = false;
};
struct For {
  Name variable;
  Expr range;
  Body body;
};
struct While {
  Expr condition;
  Body body;
};
struct Every {
  Expr period;
  Body body;
};
struct NoGrad {
  Body body;
};
struct ExprStmt {
  Expr value;
};

struct Stmt {
  Span span;
  std::variant<ErrorStmt, Unpack, Assign, Declare, Return, Yield, Assert, Print, Minimize, Backward, Log, If, For,
               While, Every, NoGrad, ExprStmt>
      node;

  template <class T>
  const T* get() const {
    return std::get_if<T>(&node);
  }
};

}  // namespace ltr::ast
