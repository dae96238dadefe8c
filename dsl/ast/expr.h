#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dsl/ast/box.h"
#include "dsl/source/span.h"

namespace ltr::ast {

using source::Span;

/// An identifier where it was written. Empty text: missing, reported by the parser.
struct Name {
  std::string text;
  Span span;
};

struct Expr;
struct TypeExpr;
struct Stmt;
using Body = std::vector<Stmt>;

/// A place where the parser gave up; silent in all later phases. The names it would have assigned.
struct ErrorExpr {
  std::vector<Name> names;
};
struct IntLiteral {
  int64_t value = 0;
};
struct FloatLiteral {
  double value = 0;
};
struct BoolLiteral {
  bool value = false;
};
struct NoneLiteral {};
/// A piece of a string: text with escapes undone, or `{value:format}`.
struct StrPart {
  std::string text;
  std::optional<Box<Expr>> value;
  std::string format;
  Span span;
};
struct StrLiteral {
  std::vector<StrPart> parts;
};
/// `5 epochs`: a number literal with its unit (`epoch` and `epochs` both read `epochs`; also `steps
/// ms s min h KiB MiB GiB`).
struct Quantity {
  double value = 0;
  bool is_int = true;
  std::string unit;
};
struct NameRef {
  Name name;
};
enum class UnaryOp { Error, Negate, Not };
struct Unary {
  UnaryOp op = UnaryOp::Error;
  Box<Expr> operand;
};
enum class BinaryOp {
  Error,
  Or,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  Range,
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  MatMul,
  Power,
};
struct Binary {
  BinaryOp op = BinaryOp::Error;
  Span op_span;
  Box<Expr> left;
  Box<Expr> right;
};
/// `value |> target`; `target` is a call (the value becomes its first argument) or something
/// callable.
struct Pipe {
  Box<Expr> value;
  Box<Expr> target;
};
struct Argument {
  std::optional<Name> name;
  Box<Expr> value;
};
/// `callee(arguments)`; a method call has a `Field` as callee.
struct Call {
  Box<Expr> callee;
  std::vector<Argument> arguments;
  Span arguments_span;  ///< from `(` to `)`
};
/// One item between `[` and `]`: an expression, `a .. b` with either end absent (`:` has neither),
/// `...` or `new`.
struct IndexItem {
  /// Error: a slice in another language's form, `1:3`, with what it names in `first` and `second`.
  enum class Kind { Error, Expr, Range, Ellipsis, New } kind = Kind::Error;
  std::optional<Box<Expr>> first;   ///< the expression, or the beginning of the range
  std::optional<Box<Expr>> second;  ///< the end of the range
  Span span;
};
struct Index {
  Box<Expr> base;
  std::vector<IndexItem> items;
};
struct Field {
  Box<Expr> base;
  Name name;
};
struct List {
  std::vector<Expr> elements;
};
/// `[element for variable in range]`.
struct Comprehension {
  Box<Expr> element;
  Name variable;
  Box<Expr> range;
};
struct Tuple {
  std::vector<Expr> elements;
};
struct RecordField {
  Name name;
  Box<Expr> value;
};
struct Record {
  std::vector<RecordField> fields;
};
struct Paren {
  Box<Expr> inner;
};
struct IfExpr {
  Box<Expr> condition;
  Box<Expr> then_value;
  Box<Expr> else_value;
};
/// `x => expr`.
struct Lambda {
  Name param;
  Box<Expr> value;
};
struct ScanCarry {
  Name name;
  Box<Expr> initial;
};
struct Scan {
  Name element;
  Box<Expr> sequence;
  Box<Expr> dim;
  std::vector<ScanCarry> carried;
  Box<Body> body;
};
/// `value as type`.
struct As {
  Box<Expr> value;
  Box<TypeExpr> type;
};

struct Expr {
  Span span;
  std::variant<ErrorExpr, IntLiteral, FloatLiteral, BoolLiteral, NoneLiteral, StrLiteral, Quantity, NameRef, Unary,
               Binary, Pipe, Call, Index, Field, List, Comprehension, Tuple, Record, Paren, IfExpr, Lambda, Scan, As>
      node;

  bool is_error() const { return std::holds_alternative<ErrorExpr>(node); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&node);
  }
};

/// `Row`, or `b.Row` of an imported file, where an expression is no more than that.
std::optional<Name> name_written(const Expr& expr);

}  // namespace ltr::ast
