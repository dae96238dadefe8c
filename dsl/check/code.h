#pragma once

// Typed code: a struct for each kind of expression and statement, whose operands are ids of expressions in the
// program's store. An expression is a value while it is made; `Context::keep` puts it into the store, where nothing
// changes it any more, and several others may have it as an operand.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dsl/check/type.h"
#include "dsl/host/op.h"
#include "dsl/host/unit.h"
#include "dsl/library/library.h"
#include "dsl/source/span.h"

namespace ltr::check {

using source::Span;

/// A variable of one function: parameter, binder or local. Index into `Fn::locals`.
using LocalId = uint32_t;
/// Index into `Program::fns`.
using FnId = uint32_t;

/// An expression in `Program::exprs`.
struct ExprId {
  uint32_t index = 0;
  bool operator==(const ExprId&) const = default;
};
using ExprIds = std::vector<ExprId>;

struct Stmt;
using Body = std::vector<Stmt>;

namespace node {

/// A mistake that was reported; silent in all that follows.
struct Error {};

// Constants and words.

struct IntConst {
  int64_t value = 0;
};
struct FloatConst {
  double value = 0;
};
struct BoolConst {
  bool value = false;
};
struct StrConst {
  std::string text;
};
struct NoneConst {};
struct Quantity {
  double value = 0;  ///< what a number with a unit is in its measure
  host::Measure measure = host::Measure::Steps;
};
/// A choice of a one_of.
struct Symbol {
  std::string text;
};
/// `val.loss`, the name of what is logged.
struct Series {
  std::string name;
};

// What has a name.

/// A variable of the function; in a signature, where there is none yet, it is known by its name alone.
struct Local {
  LocalId local = 0;
  std::string name;
};
/// The block, model, data, metric or callback whose code this is.
struct Self {};
/// A block, weight, buffer, `let`, state, metric or optimizer of `object`, or a param of its constructor, which may
/// have the name of a member.
struct Member {
  ExprId object;
  std::string name;
  bool is_param = false;
};
struct Hparam {
  std::string name;
};
/// A `let` or param of the experiment's data.
struct DataMember {
  std::string name;
  bool is_param = false;
};
/// What a place brings: epoch, global_step, batch_index, rank, world, batch_size, run.dir …
struct Context {
  std::string name;
};
/// `model` in a hook.
struct ModelOf {};
/// `metric(val.loss)`: the last value of a series.
struct MetricSeries {
  std::string series;
};
/// A function as a value: one of the program, or of a closure (`Type::decl`).
struct FnValue {
  FnId fn = 0;
  bool is_method = false;  ///< of the object whose code this is
};

/// A function of the library on its args, in declared order, all given.
struct Op {
  library::Id op = library::Id::None;
  ExprIds args;
  Span element = {};  ///< of a list that is applied as a whole, or of a function that is kept: where it is written
};
struct CallFn {
  FnId fn = 0;
  ExprIds args;
  Span element = {};  ///< as of `Op`
};
struct CallMethod {
  FnId fn = 0;
  ExprId object;
  ExprIds args;
  Span element = {};  ///< as of `Op`
};
/// The metric, a member, is updated with args by its function `fn`; type MetricValue.
struct CallMetric {
  FnId fn = 0;
  ExprId metric;
  ExprIds args;
};
struct CallValue {
  ExprId callee;
  ExprIds args;
};
/// A C++ function: the body of what an `extern` declares.
struct CallExtern {
  std::string name;
  ExprIds args;
};
/// A block, model, data or metric, which the type names, is built.
struct Construct {
  ExprIds args;
};
struct NamedArg {
  std::string name;
  ExprId value;
  bool names_weights = false;  ///< its texts are paths or patterns of weights of the model
};
/// A call kept as a value: an optimizer, schedule, callback or logger; `op` is None for one of the program's own.
struct Call {
  std::string name;
  library::Id op = library::Id::None;
  std::vector<NamedArg> args;
  FnId fn = 0;  ///< of a schedule of the program: its function, whose first two parameters the trainer fills
};
/// The records of a stream, each handed to the function `fn`; so many bad ones are left out.
struct MapStage {
  ExprId stream;
  FnId fn = 0;
  std::string written;  ///< the function in the program
  std::optional<ExprId> skip_bad;
};
/// Of a stream the records for which the function `fn` gives true.
struct FilterStage {
  ExprId stream;
  FnId fn = 0;
  std::string written;  ///< likewise
};

// Parts and wholes.

struct List {
  ExprIds elements;
};
struct Tuple {
  ExprIds elements;
};
/// Values in the order as written; their names are those of the type's fields.
struct Record {
  ExprIds values;
};
struct RecordField {
  ExprId record;
  std::string name;
};
struct TupleElement {
  ExprId tuple;
  int64_t index = 0;
};
struct ListElement {
  ExprId list;
  ExprId index;
};
struct ListLength {
  ExprId list;
};
/// A list of `element` for each `variable` in from .. to.
struct Comprehension {
  LocalId variable = 0;
  ExprId from;
  ExprId to;
  ExprId element;
};
/// A uniform list of blocks or chains, applied in order: what flows begins as `value`, and `applied` puts one of the
/// list to it.
struct ApplyList {
  ExprId list;
  ExprId value;
  LocalId element = 0;
  LocalId flowing = 0;
  ExprId applied;
};
/// The shape of a tensor, a list[int].
struct Shape {
  ExprId tensor;
};

struct If {
  ExprId condition;
  ExprId then_value;
  ExprId else_value;
};
/// Of host bools; the right side is evaluated only if it decides.
struct And {
  ExprId left;
  ExprId right;
};
struct Or {
  ExprId left;
  ExprId right;
};
struct Not {
  ExprId value;
};
/// Arithmetic or comparison; the type tells int or float.
struct Host {
  host::Op op = host::Op::Add;
  ExprIds args;
};
/// Whether `value` is in `set`, a list of host values or a range.
struct In {
  ExprId value;
  ExprId set;
};
struct Range {
  ExprId from;
  ExprId to;
};
/// Of lists, tuples, records, weights, str: one host bool.
struct Equal {
  ExprId left;
  ExprId right;
};
/// A conversion to the node's type without a word in the program: int to float, host number to tensor, str to path.
struct Convert {
  ExprId value;
};
struct TextPart {
  ExprId value;
  std::string format;
};
/// The texts of its parts, joined.
struct Interpolate {
  std::vector<TextPart> parts;
};

// What is only known at run time.

/// A tensor, checked to have the node's type, which is written as `text`; `dims` are its dims, -1 for any.
struct CheckShape {
  ExprId tensor;
  ExprIds dims;
  std::string text;
};
/// Where the leading dims of a result are those of an argument, which has `axes` of its own behind them.
struct Leading {
  ExprId tensor;
  ExprId axes;
};
/// A tensor that C++ gave, likewise; `text` is the message.
struct CheckResult {
  ExprId tensor;
  ExprIds dims;
  std::optional<Leading> leading;
  std::string text;
};

// Weights.

/// The trained tensors of a block, list or optimizer.
struct Weights {
  ExprId of;
};
/// `value`, evaluated with the weights of `block` frozen.
struct Frozen {
  ExprId value;
  ExprId block;
};

// What has locals of its own.
/// `result`, in which `local` is `value`.
struct LetIn {
  LocalId local = 0;
  ExprId value;
  ExprId result;
};
/// The function of `params` that gives `result`, in which `local` is `value`, evaluated once.
struct Function {
  LocalId local = 0;
  ExprId value;
  std::vector<LocalId> params;
  ExprId result;
};
struct Carried {
  LocalId local = 0;
  ExprId initial;
};
/// `body` is run for each `element` of a tensor along `axis`; what it yields is stacked along the same axis.
struct Scan {
  ExprId sequence;
  int64_t axis = 0;
  LocalId element = 0;
  std::vector<Carried> carried;
  Body body;  ///< ends with a `Yield`
};

}  // namespace node

using AnyNode =
    std::variant<node::Error, node::IntConst, node::FloatConst, node::BoolConst, node::StrConst, node::NoneConst,
                 node::Quantity, node::Symbol, node::Series, node::Local, node::Self, node::Member, node::Hparam,
                 node::DataMember, node::Context, node::ModelOf, node::MetricSeries, node::FnValue, node::Op,
                 node::CallFn, node::CallMethod, node::CallMetric, node::CallValue, node::CallExtern, node::Construct,
                 node::Call, node::MapStage, node::FilterStage, node::List, node::Tuple, node::Record,
                 node::RecordField, node::TupleElement, node::ListElement, node::ListLength, node::Comprehension,
                 node::ApplyList, node::Shape, node::If, node::And, node::Or, node::Not, node::Host, node::In,
                 node::Range, node::Equal, node::Convert, node::Interpolate, node::CheckShape, node::CheckResult,
                 node::Weights, node::Frozen, node::LetIn, node::Function, node::Scan>;

/// One of them. What copies, moves and destroys it is large, and compiled once, in code.cpp.
struct Node : AnyNode {
  using AnyNode::AnyNode;
  Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();
};

struct Expr {
  Type type;
  Span span;
  Node node;

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(node);
  }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&node);
  }
  template <class T>
  T* get() {
    return std::get_if<T>(&node);
  }
};

/// An expression to read, in the store or being made. A loan: it is kept no longer than what it was made of.
struct ExprView {
  const Type& type;
  Span span;
  const Node& node;

  ExprView(const Type& of, Span at, const Node& what) : type(of), span(at), node(what) {}
  ExprView(const Expr& expr) : ExprView(expr.type, expr.span, expr.node) {}  // NOLINT(google-explicit-constructor)
  operator Expr() const { return {type, span, node}; }                       // NOLINT(google-explicit-constructor)

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(node);
  }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&node);
  }
};

namespace stmt {

/// A mistake that was reported.
struct Error {};
/// The first or a later value of `local`.
struct Let {
  LocalId local = 0;
  ExprId value;
};
/// The elements of a tuple or list.
struct Unpack {
  std::vector<LocalId> locals;
  ExprId value;
};
/// A buffer or a state of Self.
struct SetMember {
  std::string name;
  ExprId value;
};
struct Return {
  std::optional<ExprId> value;
};
/// The last statement of a `scan`.
struct Yield {
  ExprId value;
};
/// `text` is the source text that is shown when it fails.
struct Assert {
  ExprId condition;
  std::optional<ExprId> message;
  std::string text;
};
struct Print {
  ExprIds values;
};
struct Minimize {
  ExprId loss;
  ExprId optimizer;
  bool is_last = false;  ///< of its step
};
struct Backward {
  ExprId loss;
};
struct Log {
  uint32_t slot = 0;  ///< of Program::logs
  ExprId value;
};
struct If {
  ExprId condition;
  Body then_body;
  Body else_body;
};
struct For {
  LocalId variable = 0;
  ExprId from;
  ExprId to;
  Body body;
};
struct While {
  ExprId condition;
  Body body;
};
struct Every {
  ExprId period;
  Body body;
};
struct NoGrad {
  Body body;
};
/// A value that is evaluated for its effect.
struct Eval {
  ExprId value;
};
/// stop, save, end_epoch, save_png …: an Op of the library.
struct HookCall {
  ExprId value;
};

}  // namespace stmt

struct Stmt {
  Span span;
  std::variant<stmt::Error, stmt::Let, stmt::Unpack, stmt::SetMember, stmt::Return, stmt::Yield, stmt::Assert,
               stmt::Print, stmt::Minimize, stmt::Backward, stmt::Log, stmt::If, stmt::For, stmt::While, stmt::Every,
               stmt::NoGrad, stmt::Eval, stmt::HookCall>
      node;

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(node);
  }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&node);
  }
  template <class T>
  T* get() {
    return std::get_if<T>(&node);
  }
};

}  // namespace ltr::check
