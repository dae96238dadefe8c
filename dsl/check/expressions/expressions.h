#pragma once

// Expressions to typed nodes.

#include "dsl/check/types/types.h"

namespace ltr::check {

/// Nothing if it rests on more than constants and the defaults of hparams.
std::optional<HostValue> evaluate(const ExprView& expr, const Program& program);
/// Whether a flag may give it another value than `evaluate` does, which takes hparams at their defaults.
bool reads_hparam(const ExprView& expr, const Program& program);
Expr check_expr(const ast::Expr& expr, Scope& scope);
/// Reports E0339 of a value at `span` whose size or count of dims cannot be. False if both can.
bool report_unfit_size(const Type& type, Span span, Context& cx);
/// Where a function is wanted: a call that lacks its first argument is one, in a list too.
Expr check_function(const ast::Expr& expr, Scope& scope);
/// As `check_expr`, where `wanted` is asked for: names of closed kinds are read, implicit
/// conversions are made.
Expr check_as(const ast::Expr& expr, const Type& wanted, Scope& scope, const char* what = "value");
/// A name such as `val.loss`, where a series is `wanted`.
Expr check_series(const ast::Expr& expr, const Type& wanted, const Scope& scope);
/// Reports what stands at `span` in place of a series, with the one that it spells.
void report_no_series(Span span, Context& cx);
Expr check_name(const ast::Expr& expr, const ast::Name& name, Scope& scope, const NameUse& use = {});
/// What stands before the `.` of a field; `empty_call` is the whole of `base.field()`.
Expr check_base(const ast::Field& field, Scope& scope, Span empty_call = {});
/// What a name of this file, or of one that it imports, stands for.
Expr check_symbol(const Symbol& symbol, Span span, Scope& scope);
Expr check_field(const ast::Expr& expr, const ast::Field& field, Scope& scope);
/// Field `name` of a value that is there already.
Expr field_of(Expr base, const ast::Name& name, Span span, Scope& scope);
/// Whether the code stands in a hook that brings `name`.
bool hook_brings(std::string_view name, const Scope& scope);
/// `batch.FIELD` in the hooks of a batch: a field of the program's data.
Expr hook_batch_field(const ast::Name& field, Span span, Scope& scope);
/// `output` in the hook behind `step predict` of the callback's model.
Expr hook_output(Span span, Scope& scope);
/// W0302: of a record that is written for its place, the fields that this does not have.
void look_at_fields(const ast::Expr& written, const Type& wanted, Scope& scope);
Expr check_index(const ast::Expr& expr, const ast::Index& index, Scope& scope);
Expr check_binary(const ast::Expr& expr, const ast::Binary& binary, Scope& scope);
/// `left op right` of operands that are checked already.
Expr apply_operator(ast::BinaryOp op, Span op_span, Expr left, Expr right, Span span, Scope& scope);
/// `left == right` of what is neither a number nor a tensor; nothing, and both as they were, if they
/// have no type in common.
std::optional<Expr> compare_wholes(Expr& left, Expr& right, Span span, Scope& scope);
Expr check_in(Expr left, Expr right, Span span, Scope& scope);
/// `value unit` in seconds, bytes, steps or epochs; nothing if there is no such unit.
std::optional<Expr> make_quantity(double value, const std::string& unit, Span span);
/// Stands for a value with a mistake that was reported; silent in all that follows.
Expr error_at(Span span);
Expr local_expr(LocalId local, const Scope& scope, Span span);
Expr int_const(int64_t value, Span span);
Expr none_const(Span span);
Expr str_const(std::string text, Span span);
Expr symbol_const(std::string text, Type type, Span span);
/// `expr` as a schedule of the program: a function, or a call of one that gives what stands behind `step` and `total`.
/// Nothing if it names none.
std::optional<Expr> check_own_schedule(const ast::Expr& expr, Scope& scope);
/// The object whose code this is.
Expr self_expr(const Scope& scope, Span span);
/// A member of the declaration around, or a param of it, whatever else has its name.
Expr member_of_self(const std::string& name, Type type, Span span, Scope& scope, bool is_param);
Expr op_expr(library::Id op, Type type, Span span, ExprIds args);
Expr host_op(host::Op op, ExprIds args, Type type, Span span);
/// The trained tensors of a block, list or optimizer.
Expr weights_of(Expr value, Span span, Context& cx);
/// The text of a constant str or a choice; "" for other expressions.
std::string text_of(const ExprView& expr);

/// An argument as written, or already checked (the receiver of a method, the value of a pipe).
struct Given {
  std::optional<ast::Name> name;
  const ast::Expr* value = nullptr;
  std::optional<Expr> checked;
  Span span;
};

struct CallSite {
  std::string name;
  Span name_span;
  Span span;
  std::vector<Given> given;
  Scope& scope;
};

/// Where the fix calls it by another name, what is given has the names that are meant there, too: `MultiStepLR(milestones = …)` is
/// `multistep(at = …)`.
void rename_arguments(diagnostics::Diagnostic& diagnostic, const std::vector<Given>& given, const Scope& scope);
/// "1 argument", "2 arguments".
std::string count_text(size_t count, const char* noun);
/// Arguments as they are written, behind the value that was piped in.
std::vector<Given> given_of(const ast::Call& call, std::optional<Expr> piped = std::nullopt);
Expr check_call(const ast::Expr& expr, const ast::Call& call, Scope& scope, std::optional<Expr> piped = std::nullopt);
Expr check_pipe(const ast::Expr& expr, const ast::Pipe& pipe, Scope& scope);
/// Reports a division of ints by `right` that is 0.
bool divides_by_zero(const Expr& right, Span span, Scope& scope);
/// The function of a program or of the library that a type of functions names; null of one that has no name.
const Symbol* named_function(const Type& type, const Scope& scope);
/// Calls a value: a block, a chain, a function.
Expr apply(Expr callee, std::vector<Given> given, Span span, Scope& scope);
/// A string, its parts in braces as values with their texts.
Expr check_string(const ast::Expr& expr, const ast::StrLiteral& literal, Scope& scope);
/// Whether a value has a text: numbers, text, tensors, and what is built of them.
bool is_printable(const Type& type);
/// Applies a lambda, a partial call or a frozen block.
Expr apply_closure(const ExprView& callee, std::vector<Given> given, Span span, Scope& scope);
/// Calls the function that a block parameter holds.
Expr call_value(Expr callee, CallSite& site);
/// `value`, which can be applied, as a function of the type `wanted`.
Expr as_function(Expr value, const Type& wanted, Scope& scope, const char* what);
Expr lambda_value(const ast::Expr& expr, Scope& scope);
Expr partial_value(const ast::Expr& expr, Scope& scope);
Expr frozen_value(CallSite& site);
/// `result`, in which `local` is `value`.
Expr let_in(LocalId local, Expr value, Expr result, Span span, Context& cx);
/// `value`, evaluated with the weights of `block` frozen.
Expr frozen_expr(Expr value, Expr block, Span span, Context& cx);
/// `env("NAME")`: a secret.
Expr check_env(CallSite& site);
/// `[ELEMENT for i in a .. b]`.
Expr check_comprehension(const ast::Expr& expr, const ast::Comprehension& list, Scope& scope);
Expr check_scan(const ast::Expr& expr, const ast::Scan& scan, Scope& scope);
/// Binds what was given to params by position and name; reports what is missing, extra or given
/// twice.
std::optional<std::vector<const Given*>> bind_arguments(const std::vector<ParamInfo>& params, const CallSite& site,
                                                        const std::string& callee);
Expr check_given(const Given& given, Scope& scope);
Expr check_given_as(const Given& given, const Type& wanted, Scope& scope, const char* what = "argument");
Expr call_fn(FnInfo& fn, std::optional<Expr> receiver, CallSite& site);
Expr construct(const Symbol& symbol, CallSite& site);

/// Whether a value is written as such: then it is refused for its type alone, and nobody knows which of the two is meant.
bool is_literal(const ast::Expr& expr);

}  // namespace ltr::check
