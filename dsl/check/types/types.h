#pragma once

// Types as written, compared, converted; sizes and what is required of them.

#include "dsl/check/scope/scope.h"

namespace ltr::check {

/// Settings of callbacks that are of one of two kinds: `int_or_all`, a count or the word `all`, and `float_or_period`, a part
/// or a count with its unit. The name of their type, as the run reads it, too.
inline constexpr const char* kIntOrAll = "int or all";
inline constexpr const char* kFloatOrPeriod = "float or period";

/// Whether an int goes on from one step to the next, as `epoch` does: what divides it now does not always.
bool counts(const ExprView& expr, const Context& cx);
/// W0301 of a quotient of ints.
void report_quotient(const ExprView& value, Scope& scope);
/// The choice that `written` is near to, or a longer form of: `maximum` for `max`.
std::optional<std::string> near_choice(const std::string& written, const std::vector<std::string>& known);
/// What makes elements of the type that is wanted of those given; of the target of a loss, as `what` says, perhaps another
/// loss.
std::string conversion_cure(const std::string& what, const Type& wanted, const Type& given);
/// Adds that a text which is a number is one without its quotes. False if it is none.
bool add_number_cure(diagnostics::Diagnostic& diagnostic, const ExprView& given);

/// `where` clauses as requirements: of sizes, or of what params that are no sizes are worth.
void read_where(const ast::Expr& where, Scope& scope, std::vector<Requirement>& requirements);
/// The type that is written; unknown names and dims are reported.
Type check_type(const ast::TypeExpr& type, Scope& scope);
std::optional<Element> element_of(const std::string& name);
/// Those that programs may write.
std::vector<std::string> element_names();
/// All types of the language that programs may write, those too.
std::vector<std::string> type_words();
/// Whether both lists say their elements one by one, and have as many: each goes to the one in its place.
bool are_each_by_each(const Type& left, const Type& right);
/// The type that both branches have; where tensors differ in a dim, the dim is `?`.
std::optional<Type> merge(const Type& left, const Type& right, Context& cx);
/// How a host value of one type gets to a place of another without a word in the program; sizes and
/// elements of tensors are compared by `match`.
enum class Fit { Same, Converts, No };
Fit fit_of(const Type& have, const Type& wanted);
/// What a `have` is once it is converted to `wanted`, which it fits.
Type converted(const Type& have, const Type& wanted);
/// `expr` as `wanted`; reports E0303, E0306, E0307 or E0309 if it does not fit.
Expr convert(Expr expr, const Type& wanted, Scope& scope, const char* what = "value");
/// What is known of the name that `value` is ends with what `told` says of it: its other uses are no mistakes of their own. Adds
/// where it got its value.
void forget(const ExprView& value, diagnostics::Diagnostic& told, Scope& scope);
/// As `forget`, of an argument whose shape was told to be wrong: if it is a local that was computed above, that is where the
/// mistake is, and its other uses are none of their own.
void forget_computed(const ExprView& value, Scope& scope);
/// Adds to what refuses `given` where a `wanted` is asked for how it becomes one.
void add_cure(diagnostics::Diagnostic& diagnostic, const ExprView& given, const Type& wanted, const Context& cx);
/// Adds what makes two tensors whose sizes differ go together: `as` says that sizes are the same, of those alone that do not
/// stretch; of a matrix lying down its transpose; of two vectors whose sizes are declared apart, that they are paired.
void add_same_cure(diagnostics::Diagnostic& diagnostic, const ExprView& left, const ExprView& right, const Context& cx);
/// Adds what is meant by an argument of another type or shape; `what` is "`x` of `fft`". False if nothing is known of it.
bool help_of_argument(diagnostics::Diagnostic& diagnostic, const std::string& what);
/// Whether a tensor is known to have other than one element.
bool has_several_elements(const Type& tensor);
/// Whether it may have: an axis is not known to be of size 1.
bool may_have_several_elements(const Type& tensor);
/// How one host number or bool is made of the elements of the tensor `text`.
std::string reductions_of(const Type& tensor, const std::string& text);
/// The dim that an expression stands for, in a type.
std::optional<Polynomial> check_dim(const ast::Expr& expr, Scope& scope);
/// What the variable of the comprehension that made a list stands for at `index`.
std::vector<std::pair<AtomId, Polynomial>> list_element_arguments(const Type& list, const Polynomial& index);
/// Values that hold at run time for a dim: hparams, locals, sizes.
std::optional<Expr> expr_of(const Polynomial& value, Scope& scope, Span span);

/// What binders, groups and element types of a signature stand for at one call.
struct Binding {
  AtomTable::Substitution dims;
  std::map<uint32_t, std::vector<Dim>> groups;
  std::optional<Element> any;       ///< what `any` stands for
  std::optional<Element> floating;  ///< of a function of the library: what `float` stands for
  bool takes_any_float = false;     ///< of a function of the library in Ltr: `float` is any floating type, as of an op
  std::set<AtomId> broken;          ///< sizes of which a rule does not hold
};

/// Makes dims of the ints in a param or hparam of this name, also of those in its records, tuples and lists; what stands for
/// them in its type, and in types that mention it.
std::vector<AtomId> name_sizes(Type& type, const std::string& name, bool is_hparam, Context& cx);
/// The number 1 or 0 that a bool param of this name, of the library, is in sizes that hang on it; its type says so, too.
AtomId name_truth(Type& type, const std::string& name, Context& cx);
/// A size as it is where all bools that it hangs on are false.
Polynomial without_truths(const Polynomial& size, Context& cx);
/// What the sizes of a param are in what is given for it.
void bind_sizes(const Type& param, const Type& given, Binding& binding, Context& cx);
void bind_sizes(const Type& param, const ExprView& given, Binding& binding, Context& cx);
/// Says in the type of a list of ints which those of `whole` they are.
void name_elements(Type& list, const Type& whole, Context& cx);
/// The part of `whole` that `atom` stands for.
std::optional<Expr> part_that_is(AtomId atom, Expr whole, Span span, Context& cx);

/// How many numbers a tensor of `dims` holds; what a `...` among them stands for counts as a size of its own.
Polynomial count_of(const std::vector<Dim>& dims, Context& cx);
/// How many dims these are.
Polynomial rank_of(const std::vector<Dim>& dims, Context& cx);

/// Matches an argument's type with a param's; reports a mismatch at `span`. Equalities that rest on
/// params of the enclosing declaration become its requirements.
bool match(const Type& param, const Type& argument, Binding& binding, const std::set<AtomId>& free, Span span,
           Scope& scope, const std::string& what, bool is_op);
Type substitute(const Type& type, const Binding& binding, Context& cx);
Type instantiate(const Type& type, const std::vector<std::pair<AtomId, Polynomial>>& arguments, Context& cx);
enum class Truth { Proven, False, Open };
Truth decide(const Requirement& requirement, const Context& cx);
/// Whether a symbolic dim is made of names that its declaration's user chooses: params, hparams, data.
bool rests_on_params(const Polynomial& value, const Context& cx);
/// `value` with `floor(H / 2)` as `H / 2` where a fact says that this is exact.
Polynomial with_facts(const Polynomial& value, Context& cx);
/// Whether they are equal by what `ceil` means and what is known of multiples: `2 * floor(H / 4)` is `floor(H / 2)` where
/// `H % 4 == 0`.
bool are_same_size(const Polynomial& left, const Polynomial& right, Context& cx);
/// Requires that `size` may be one, 0 at least; `text` says what it is. What only a run knows is not asked for.
bool require_size(const Polynomial& size, const std::string& text, Span use, Scope& scope);
/// The same of all sizes in what a call gives, whose windows have to lie in what they slide over.
bool require_sizes(const Type& declared, const Binding& binding, Span use, Scope& scope);
/// Requires that a weight of this type has elements.
bool require_elements(const Type& weight, Span use, Scope& scope);
/// `where broadcasts(mask, B, heads, S, S)`, of the library: whether `given` does so; reports it otherwise.
bool require_broadcast(const Requirement& requirement, const ExprView& given, Span place, Scope& scope);
/// `where one_for_each(channels, x, 1)`, of the library: whether `given` has so many places along that axis, if they are not 1.
bool require_one_for_each(const Requirement& requirement, const ExprView& given, Span place, Scope& scope);
/// `where indexes(ids, count)`, of the library: of `pos(arange(S))` that the table has so many rows. Of a function's own binder the
/// callers are asked.
bool require_rows(const Requirement& table, const ExprView& index, Span use, Scope& scope);
/// Puts a requirement where it belongs: proven, reported as false, passed on to the declaration's
/// user, or an obligation of the program.
bool require(Requirement requirement, Span use, Scope& scope);
/// A clause of the `where` of `scope.info` that speaks of what its params are worth; nothing if it compares sizes.
std::optional<Requirement> value_requirement(const ast::Expr& clause, Scope& scope);
/// The data whose code `scope` is; nothing elsewhere.
std::optional<DeclIndex> data_around(const Scope& scope);
/// As `require`, of a rule whose params have been replaced by what is given for them.
bool require_value(Requirement requirement, Span use, Scope& scope);
/// Asks of a list whose length the program does not say, but a param or hparam does, that it has an element `index`, from its end
/// if that is negative.
void require_element(const Expr& list, int64_t index, Span span, Scope& scope);

/// What was given for the params of a declaration; `receiver` is the object whose method is called.
struct Arguments {
  const std::vector<ParamInfo>& params;
  const std::vector<Expr>& values;
  const Expr* receiver = nullptr;
};

/// A requirement of sizes as a host expression over what `scope` knows at start.
std::optional<Expr> condition_of(const Requirement& requirement, Span span, Scope& scope);
/// Requires of what was given what the declaration requires of its params; the sizes of which a broken rule speaks become
/// `broken` in `binding`.
bool put_requirements(const std::vector<Requirement>& requirements, Binding& binding, const Arguments& given, Span use,
                      Scope& scope);
/// Whether the sizes of a result hang on those of which a rule does not hold: what comes of it is no second mistake.
bool is_broken(const Type& declared, const Binding& binding, const Context& cx);
/// Reports unless the dims are equal, or can be made so by the declaration's user. False if they
/// differ.
bool require_equal(const Polynomial& left, const Polynomial& right, Span span, Scope& scope, bool allow_unknown);

struct Broadcast {
  std::optional<std::vector<Dim>> dims;
  bool is_symbolic_clash = false;
  std::vector<std::pair<Polynomial, Polynomial>> equal;  ///< to be required
};

Broadcast broadcast(const std::vector<Dim>& left, const std::vector<Dim>& right, Context& cx);
/// `side` of what is combined to `dims`: where a size that only the run knows meets one with a name or number, it is held to
/// that on the first batch. One that is 1 there would be stretched without a word.
void hold_unknown_dims(Expr& side, const std::vector<Dim>& dims, Scope& scope);

}  // namespace ltr::check
