#pragma once

// What the files of `check` share: facts about declarations, scopes, and the entry points of each
// construct.

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/ast/decl.h"
#include "dsl/check/check.h"
#include "dsl/check/typed.h"
#include "dsl/diagnostics/diagnostic.h"
#include "dsl/diagnostics/sink.h"
#include "dsl/resolve/resolve.h"

namespace ltr::check {

using resolve::Symbol;
using resolve::SymbolKind;

/// A shape fact that the user of a declaration must satisfy.
struct Requirement {
  enum class Kind { Equal, Divisible, AtMost, Less, Holds };
  Kind kind = Kind::Equal;
  Polynomial left;
  Polynomial right;
  std::optional<Expr> rule;  ///< Holds: over the params of the declaration that requires it
  std::string text;  ///< as written, `D % heads == 0`
  Span origin;
  bool is_where = false;
};

struct ParamInfo {
  std::string name;
  Type type;
  const ast::Expr* initial = nullptr;
  Span span;
  AtomId atom = 0;  ///< of an int param
  bool is_block = false;
};

struct ObjectInfo;

/// The signature of a function, and its body's place in `Program::fns` when it has one.
struct FnInfo {
  std::string name;
  const ast::Fn* ast = nullptr;
  uint32_t module = 0;
  ObjectInfo* owner = nullptr;
  FnRole role = FnRole::Free;
  std::vector<ParamInfo> params;
  std::map<std::string, AtomId> binders;
  uint32_t group = 0;  ///< of `...`
  Type result;
  std::vector<Requirement> requirements;
  uint32_t index = 0;
  bool is_op = false;
  library::Id id = library::Id::None;  ///< of an op
  std::string extern_file;
  bool is_checking = false;
  bool is_manual = false;
  std::set<std::string> logs;
};

struct MemberInfo {
  Type type;
  MemberKind kind = MemberKind::Let;
  Span span;
};

/// A block, model, data, metric or callback.
struct ObjectInfo {
  const ast::Decl* decl = nullptr;
  Kind kind = Kind::Block;
  std::string name;
  uint32_t module = 0;
  DeclIndex index = 0;
  Span span;
  std::vector<ParamInfo> params;
  std::map<std::string, MemberInfo> members;
  std::map<std::string, std::unique_ptr<FnInfo>> fns;
  std::vector<std::string> fn_order;
  std::vector<Requirement> requirements;
  const ObjectInfo* model = nullptr;  ///< of a callback: its `for`
  Type batch;                         ///< of data
  std::map<std::string, AtomId> batch_binders;
  bool is_checking = false;
  bool is_done = false;
  bool is_damaged = false;  ///< something in it could not be read: what is missing may be there
};

/// A function without a declaration of its own. What it gives hangs on what it is applied to, so its
/// code is read anew at each application. `Type::decl` of its value is its index plus one.
struct Closure {
  enum class Kind {
    Lambda,   ///< `x => expr`
    Partial,  ///< `leaky_relu(0.2)` in a chain: a call that lacks its first argument
    Frozen    ///< `frozen(net)`
  } kind = Kind::Lambda;
  const ast::Expr* code = nullptr;  ///< Lambda, Partial: stands in the tree of the module
  std::optional<Expr> frozen;       ///< Frozen: the block
  uint32_t module = 0;
  uint32_t fn = 0;  ///< whose locals it may read
  ObjectInfo* owner = nullptr;
  std::vector<std::map<std::string, LocalId>> frames;
};

/// Where code stands: what it may do there.
enum class Place {
  Hparam,
  Const,
  Fn,
  Map,
  Member,
  Step,
  Hook,
  Test,
  Data,
  Experiment,
  Compute,
  Update
};

struct Context {
  const source::SourceManager& sources;
  diagnostics::Sink* sink;  ///< not a reference: the body of a `fails` test has one of its own
  const resolve::ModuleGraph& graph;
  const DataFiles* files = nullptr;
  Program program;
  std::map<const ast::Decl*, std::unique_ptr<ObjectInfo>> objects;
  std::map<std::pair<Kind, DeclIndex>, ObjectInfo*> objects_of_kind;  ///< the same, in the order of the program
  std::map<const ast::Fn*, std::unique_ptr<FnInfo>> fns;
  std::map<const ast::Decl*, Expr> consts;
  std::set<const ast::Decl*> consts_in_work;  ///< to stop a constant that mentions itself
  std::map<std::string, uint32_t> calls;      ///< index into Program::calls
  std::vector<Requirement> facts;             ///< `where` clauses of hparams
  std::deque<ast::Fn> synthetic;              ///< functions made of hooks and tests
  std::deque<Closure> closures;
  std::vector<const ast::Expr*> applied;      ///< code of closures that is being read, outermost first
  size_t applications = 0;                    ///< closures that were read for the outermost one
  Span applied_at;                            ///< where that one stands
  bool is_runaway = false;                    ///< there are too many of them, which was said
  uint32_t next_key = 1;
  uint32_t next_group = 1;
  std::map<uint32_t, std::set<uint32_t>>
      callees;                        ///< fn -> fns it calls, for recursion and randomness
  std::map<AtomId, Expr> atom_exprs;  ///< how hparams and data sizes are read at run time

  void report(diagnostics::Diagnostic diagnostic) { sink->report(std::move(diagnostic)); }
  std::string text(const Type& type) const { return to_text(type, program.atoms); }
  std::string text(const Polynomial& value) const { return program.atoms.to_text(value); }
  std::string source_text(Span span) const;
};

/// The names that can be seen from one place in one function.
struct Scope {
  Context& cx;
  uint32_t module = 0;
  Place place = Place::Fn;
  uint32_t fn = 0;  ///< typed function under construction
  FnInfo* info = nullptr;
  ObjectInfo* owner = nullptr;  ///< the declaration that the code stands in
  std::vector<Local>& locals;  ///< of that function, or of this place alone
  std::vector<std::map<std::string, LocalId>> frames = {{}};
  std::map<std::string, AtomId> dim_names;  ///< binders, where they are no locals
  /// While a signature is read: where a binder that is missing is noted, so that it is reported once.
  std::map<std::string, AtomId>* missing_binders = nullptr;
  const ObjectInfo* data = nullptr;         ///< in an experiment: the wired data
  std::string own_param;  ///< in a member's initialiser: the param of the same name is meant
  int loop_depth = 0;
  bool in_train = false;
  bool may_drop_values = false;  ///< in a `fails` test an expression's value may be dropped
  std::vector<Requirement>* requirements =
      nullptr;  ///< of the declaration: what its user must satisfy
  Body* hoisted = nullptr;  ///< the body being checked: takes what must happen before a statement
  bool in_scan = false;  ///< directly in the body of a `scan`, where `yield` may stand

  LocalId declare(const std::string& name, Type type);
  std::optional<LocalId> find_local(const std::string& name) const;
  /// A variable that no name of the program means.
  LocalId hidden_local(Type type);
  Local& local(LocalId id) { return locals[id]; }
  /// Names declared here; `names` are all that can be seen.
  std::vector<std::string> near_names() const;
  std::vector<std::string> names() const;
};

// ---- declarations
// --------------------------------------------------------------------------------------------
FnInfo& fn_of(Context& cx, const Symbol& symbol);
/// The declaration of a function of the library that is not named in the program.
FnInfo& fn_of(Context& cx, library::Id id);
ObjectInfo& object_of(Context& cx, const Symbol& symbol);
void check_body_of(Context& cx, FnInfo& fn);
std::vector<ParamInfo> check_params(Context& cx,
                                    const std::vector<ast::Param>& params,
                                    Scope& scope,
                                    bool int_atoms);
void read_signature(Context& cx, FnInfo& fn, Scope& scope);
void check_block_like(Context& cx, ObjectInfo& object, const ast::Decl& decl);
/// Whether a state of a metric is what can be joined over batches and ranks, by a rule that there is.
void check_reduce(const ast::State& state, const Type& type, Context& cx);
/// The function of `reduce merge`, which joins all states of `metric`; adds the call of it to the functions of `typed`.
void check_merge(Context& cx, ObjectInfo& metric, Object& typed, const std::vector<ast::Item>& items);
void check_data_items(Context& cx, ObjectInfo& object, const ast::Data& data);
void check_topologies(Context& cx, uint32_t module);
void check_experiments(Context& cx, uint32_t module);
void check_test(Context& cx, const ast::Test& test, const ast::Decl& decl, uint32_t module);
/// `where` clauses as requirements: of sizes, or of what params that are no sizes are worth.
void read_where(const ast::Expr& where, Scope& scope, std::vector<Requirement>& requirements);
/// The value of a host expression over constants and hparam defaults; nothing if it rests on more.
struct HostValue {
  enum class Kind { Bool, Int, Float, Str } kind = Kind::Int;
  int64_t whole = 0;
  double real = 0;
  std::string text;
};
std::optional<HostValue> evaluate(const Expr& expr, const Program& program);
/// `.item()` in what a train step calls: E0317, as in the step itself.
void check_items_of_steps(Context& cx);
/// The `from` of a member, or nothing if it has a mistake.
std::optional<WeightSource> check_source(const ast::Member& member, const Expr& value, Scope& scope);
/// Compares the weights that members load with the files that are there.
void check_weights(Context& cx);
/// The files of all `extern` blocks, one entry for each; types that C++ cannot be handed are reported.
void check_externs(Context& cx);
/// What the declaration of a C++ function does: calls it, and checks what it gives.
Body extern_body(const FnInfo& fn, Scope& scope);
void check_hparam(Context& cx, const ast::Hparam& hparam, const ast::Decl& decl, uint32_t module);

// ---- types
// ---------------------------------------------------------------------------------------------------
/// The type that is written; unknown names and dims are reported.
Type check_type(const ast::TypeExpr& type, Scope& scope);
std::optional<Element> element_of(const std::string& name);
/// Type text of a setting, `option[float]`.
std::string setting_type(const Type& type);

// ---- expressions
// ---------------------------------------------------------------------------------------------
Expr check_expr(const ast::Expr& expr, Scope& scope);
/// As `check_expr`, where `wanted` is asked for: names of closed kinds are read, implicit
/// conversions are made.
Expr check_as(const ast::Expr& expr, const Type& wanted, Scope& scope, const char* what = "value");
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
/// The dim that an expression stands for, in a type.
std::optional<Polynomial> check_dim(const ast::Expr& expr, Scope& scope);
Expr check_name(const ast::Expr& expr, const ast::Name& name, Scope& scope);
Expr check_field(const ast::Expr& expr, const ast::Field& field, Scope& scope);
/// Field `name` of a value that is there already.
Expr field_of(Expr base, const ast::Name& name, Span span, Scope& scope);
/// Adds what `word` at `span` was probably meant to be: one of `known`, or the form that stands here
/// for a word of another library. False if nothing is near.
bool did_you_mean(diagnostics::Diagnostic& diagnostic,
                  const std::string& word,
                  Span span,
                  const std::vector<std::string>& known);
/// Adds the list of what there is.
void note_known(diagnostics::Diagnostic& diagnostic, const std::vector<std::string>& known);
/// Reports E0301 with the nearest name.
void report_unknown(const ast::Name& name, Scope& scope);
/// What the variable of the comprehension that made a list stands for at `index`.
std::vector<std::pair<AtomId, Polynomial>> list_element_arguments(const Type& list,
                                                                  const Polynomial& index);
Expr check_index(const ast::Expr& expr, const ast::Index& index, Scope& scope);
Expr check_binary(const ast::Expr& expr, const ast::Binary& binary, Scope& scope);
/// `left op right` of operands that are checked already.
Expr apply_operator(ast::BinaryOp op, Span op_span, Expr left, Expr right, Span span, Scope& scope);
/// `left == right` of what is neither a number nor a tensor; nothing, and both as they were, if they
/// have no type in common.
std::optional<Expr> compare_wholes(Expr& left, Expr& right, Span span, Scope& scope);
Expr check_in(Expr left, Expr right, Span span, Scope& scope);
/// A node with its kind, type, place and operands.
Expr make_expr(
    ExprKind kind, Type type, Span span, std::vector<Expr> args = {}, std::string name = {});
/// `value unit` in seconds, bytes, steps or epochs; nothing if there is no such unit.
std::optional<Expr> make_quantity(double value, const std::string& unit, Span span);
/// Stands for a value with a mistake that was reported; silent in all that follows.
Expr error_at(Span span);
Expr local_expr(LocalId local, const Scope& scope, Span span);
Expr int_const(int64_t value, Span span);
Expr op_expr(library::Id op, Type type, Span span, std::vector<Expr> args);
Expr host_op(const std::string& name, std::vector<Expr> args, Type type, Span span);
/// Values that hold at run time for a dim: hparams, locals, sizes.
std::optional<Expr> expr_of(const Polynomial& value, Scope& scope, Span span);

/// What binders, groups and element types of a signature stand for at one call.
struct Binding {
  AtomTable::Substitution dims;
  std::map<uint32_t, std::vector<Dim>> groups;
  std::optional<Element> any;       ///< what `any` stands for
  std::optional<Element> floating;  ///< of an op: what `float` stands for
};
// ---- calls
// ---------------------------------------------------------------------------------------------------
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
Expr check_call(const ast::Expr& expr,
                const ast::Call& call,
                Scope& scope,
                std::optional<Expr> piped = std::nullopt);
Expr check_pipe(const ast::Expr& expr, const ast::Pipe& pipe, Scope& scope);
/// Calls a value: a block, a chain, a function.
Expr apply(Expr callee, std::vector<Given> given, Span span, Scope& scope);
/// Applies a lambda, a partial call or a frozen block.
Expr apply_closure(const Expr& callee, std::vector<Given> given, Span span, Scope& scope);
/// Calls the function that a block parameter holds.
Expr call_value(Expr callee, CallSite& site);
/// `value`, which can be applied, as a function of the type `wanted`.
Expr as_function(Expr value, const Type& wanted, Scope& scope, const char* what);
Expr lambda_value(const ast::Expr& expr, Scope& scope);
Expr partial_value(const ast::Expr& expr, Scope& scope);
Expr frozen_value(CallSite& site);
/// `env("NAME")`: a secret.
Expr check_env(CallSite& site);
Expr check_scan(const ast::Expr& expr, const ast::Scan& scan, Scope& scope);
/// Binds what was given to params by position and name; reports what is missing, extra or given
/// twice.
std::optional<std::vector<const Given*>> bind_arguments(const std::vector<ParamInfo>& params,
                                                        const CallSite& site,
                                                        const std::string& callee);
Expr check_given(const Given& given, Scope& scope);
Expr check_given_as(const Given& given,
                    const Type& wanted,
                    Scope& scope,
                    const char* what = "argument");
Expr call_op(const FnInfo& op, CallSite& site);
/// A call of an op whose signature alone gives the type of the result.
Expr call_by_signature(const FnInfo& op, CallSite& site);
/// The arguments of an op in declared order, defaults filled in, and what it requires of them; unset where one is wrong.
std::optional<std::vector<Expr>> op_arguments(const FnInfo& op, CallSite& site, Binding& binding);
/// Words that are functions in some places only: `metric(val.loss)`, `stop(…)`, `close(a, b, tol)`,
/// `floor(a / b)`.
std::optional<Expr> check_builtin(const std::string& name, CallSite& site);
/// Makes sure that a declaration's members and bodies have been checked.
void complete(Context& cx, ObjectInfo& object);
ObjectInfo* find_object(const Context& cx, Kind kind, DeclIndex index);
Expr call_fn(FnInfo& fn, std::optional<Expr> receiver, CallSite& site);
Expr construct(const Symbol& symbol, CallSite& site);
/// A stream source or stage, typed by its rule; nothing if `name` is neither.
std::optional<Expr> check_stream_call(const std::string& name, CallSite& site);
/// A call by the rule that its row of the library's table names.
Expr call_by_rule(const FnInfo& op, CallSite& site);

// ---- matching
// ------------------------------------------------------------------------------------------------
/// Matches an argument's type with a param's; reports a mismatch at `span`. Equalities that rest on
/// params of the enclosing declaration become its requirements.
bool match(const Type& param,
           const Type& argument,
           Binding& binding,
           const std::set<AtomId>& free,
           Span span,
           Scope& scope,
           const std::string& what,
           bool is_op);
Type substitute(const Type& type, const Binding& binding, Context& cx);
Type instantiate(const Type& type,
                 const std::vector<std::pair<AtomId, Polynomial>>& arguments,
                 Context& cx);

enum class Truth { Proven, False, Open };
Truth decide(const Requirement& requirement, const Context& cx);
/// Puts a requirement where it belongs: proven, reported as false, passed on to the declaration's
/// user, or an obligation of the program.
void require(Requirement requirement, Span use, Scope& scope);
/// A clause of the `where` of `scope.info` that speaks of what its params are worth; nothing if it compares sizes.
std::optional<Requirement> value_requirement(const ast::Expr& clause, Scope& scope);
/// As `require`, of a rule whose params have been replaced by what is given for them.
void require_value(Requirement requirement, Span use, Scope& scope);
/// What was given for the params of a declaration; `receiver` is the object whose method is called.
struct Arguments {
  const std::vector<ParamInfo>& params;
  const std::vector<Expr>& values;
  const Expr* receiver = nullptr;
};
/// A requirement of sizes as a host expression over what `scope` knows at start.
std::optional<Expr> condition_of(const Requirement& requirement, Span span, Scope& scope);
/// Requires of what was given what the declaration requires of its params.
void put_requirements(const std::vector<Requirement>& requirements,
                      const Binding& binding,
                      const Arguments& given,
                      Span use,
                      Scope& scope);
/// Reports unless the dims are equal, or can be made so by the declaration's user. False if they
/// differ.
bool require_equal(
    const Polynomial& left, const Polynomial& right, Span span, Scope& scope, bool allow_unknown);

struct Broadcast {
  std::optional<std::vector<Dim>> dims;
  bool is_symbolic_clash = false;
  std::vector<std::pair<Polynomial, Polynomial>> equal;  ///< to be required
};
Broadcast broadcast(const std::vector<Dim>& left, const std::vector<Dim>& right, Context& cx);

// ---- bodies
// --------------------------------------------------------------------------------------------------
Body check_body(const ast::Body& body, Scope& scope);
/// As `check_body`, in a scope of its own.
Body check_nested(const ast::Body& body, Scope& scope);
Stmt make_stmt(StmtKind kind, Span span, std::vector<Expr> values = {});
/// What the function of this scope returns.
Stmt check_result(const ast::Expr& result, Span span, Scope& scope);
Stmt check_assign(const ast::Stmt& statement, const ast::Assign& assign, Scope& scope);
Stmt check_unpack(const ast::Stmt& statement, const ast::Unpack& unpack, Scope& scope);
Stmt check_declare(const ast::Stmt& statement, const ast::Declare& declare, Scope& scope);
Stmt check_log(const ast::Stmt& statement, const ast::Log& log, Scope& scope);
/// Where an existing local lives, if it is not of the innermost body.
std::optional<LocalId> outer_local(const std::string& name, const Scope& scope);
/// Reports E0322 if a value that is fixed before the run draws random numbers.
void check_draws_nothing(const Expr& expr, const char* what, Context& cx);
bool draws_random(const Program& program, const Body& body, std::set<uint32_t>& seen);

}  // namespace ltr::check
