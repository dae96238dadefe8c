#pragma once

// The names that code can see, and what it may do where it stands.

#include <functional>
#include <utility>

#include "dsl/check/scope/context.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

/// Where code stands: what it may do there.
enum class Place { Hparam, Const, Fn, Map, Member, Step, Hook, Test, Data, Experiment, Compute, Update };

struct Scope;

/// What is given to a call and used by a default too is computed once, in front of the call: locals of `scope`, in order.
struct GivenOnce {
  Scope& scope;
  std::vector<std::pair<LocalId, Expr>> values;
};

/// What a default sees of the parameters around it.
struct DefaultParams {
  const std::vector<ParamInfo>& params;
  std::vector<Expr>& before;        ///< what is given for those that stand before it
  GivenOnce* once = nullptr;        ///< none where a call has no locals
  bool keeps_spans = true;          ///< false in the library: its places are not shown
  bool* rests_on_errors = nullptr;  ///< set where one of `before` could not be read, which was reported
  const char* why_not = "a default may use the parameters that stand before it";  ///< of one that is not in `before`
};

/// Where few functions may be called, all known: the name that is called there, and theirs.
struct ClosedCall {
  Span callee;
  std::function<std::vector<std::string>()> names;  ///< asked only where something is wrong
};

/// The variable of a loop that has rounds, with its values in the first and the last of them.
struct Rounds {
  AtomId variable = 0;
  Polynomial first, last;
  bool is_told = false;  ///< an index lies outside in one of them, which is mostly too many of them
};

/// The names that can be seen from one place in one function.
struct Scope {
  Context& cx;
  uint32_t module = 0;
  Place place = Place::Fn;
  uint32_t fn = 0;  ///< typed function under construction
  FnInfo* info = nullptr;
  ObjectInfo* owner = nullptr;  ///< the declaration that the code stands in
  std::vector<Local>& locals;   ///< of that function, or of this place alone
  std::vector<std::map<std::string, LocalId>> frames = {{}};
  std::map<std::string, AtomId> dim_names;  ///< binders, where they are no locals
  /// While a signature is read: where a binder that is missing is noted, so that it is reported once.
  std::map<std::string, AtomId>* missing_binders = nullptr;
  const DefaultParams* default_params = nullptr;  ///< in the default of a parameter
  const ObjectInfo* data = nullptr;               ///< in an experiment: the wired data
  bool lost_data = false;                         ///< there: it was said that nobody knows which it is
  std::string let_name;                           ///< of the `let` of data whose value is read
  std::string own_param;                          ///< in a member's initialiser: the param of the same name is meant
  std::string own_dims;                           ///< in what a weight begins with: its dims, as its type has them
  uint32_t signature_group = 0;  ///< in the signature of a block parameter: what all its `...` stand for
  int loop_depth = 0;
  bool in_train = false;
  bool may_drop_values = false;  ///< in a `fails` test an expression's value may be dropped
  bool may_not_happen = false;   ///< in what is not always done: an arm of `if`, an element, the body of `while`
  std::vector<Rounds> rounds;    ///< of the loops around, outermost first, as far as each round of them comes here
  std::vector<Requirement>* requirements = nullptr;  ///< of the declaration: what its user must satisfy
  Body* hoisted = nullptr;             ///< the body being checked: takes what must happen before a statement
  bool in_function_value = false;      ///< in what a function as a value does at each call, wherever it stands
  bool in_scan = false;                ///< directly in the body of a `scan`, where `yield` may stand
  const ClosedCall* closed = nullptr;  ///< in the value of a part, a setting or a stream

  /// The same place in the file that `span` is of: what is taken from there means what it means there.
  Scope in_file_of(Span span) const;
  LocalId declare(const std::string& name, Type type);
  std::optional<LocalId> find_local(const std::string& name) const;
  /// A variable that no name of the program means.
  LocalId hidden_local(Type type);
  Local& local(LocalId id) { return locals[id]; }
  /// Names declared here; `names` are all that can be seen.
  std::vector<std::string> near_names() const;
  std::vector<std::string> names() const;
  /// Those that the place brings: `epoch`, `loss`.
  std::vector<std::string> brought_names() const;
};

/// Reads what is not always done.
template <class Read>
void within_branch(Scope& scope, const Read& read) {
  const bool around = std::exchange(scope.may_not_happen, true);
  std::vector<Rounds> rounds = std::exchange(scope.rounds, {});
  read();
  scope.may_not_happen = around;
  scope.rounds = std::move(rounds);
}

/// Adds the list of what there is.
void note_known(diagnostics::Diagnostic& diagnostic, const std::vector<std::string>& known);
/// The same of names that are there: `there are adam, sgd`.
void note_there_are(diagnostics::Diagnostic& diagnostic, const std::vector<std::string>& known);
/// Reports E0308 for a name that the imported file `module` does not declare, or not for others.
void report_not_in_module(const ast::Name& name, const std::string& module, Scope& scope);
struct Given;
/// What stands around a name that may not be there.
struct NameUse {
  bool is_base = false;                       ///< it is the value before a `.`, which no function is
  const Type* wanted = nullptr;               ///< what is wanted there: mostly no function either
  const ast::Name* field = nullptr;           ///< what is behind that `.`
  const std::vector<Given>* given = nullptr;  ///< what it is called with
  bool is_updated = false;                    ///< it is the target of `+=` and its like
  Span empty_call;                            ///< the whole of `name()` or `base.name()`, if that is what it is
};
/// Whether it was said of other values of these fields that they have no `field`. Then it is one mistake, of their type.
bool is_told_missing(const Type& record, const std::string& field, Context& cx);
/// Whether not even the names of all params of what is around could be read: what is unknown may be one of them.
bool lacks_params(const Scope& scope);
/// Of `base.NAME`, where no file is imported as `base`: adds what the file that has such a name is imported as. False if that was
/// said of `base` already, or an import failed that may have been it. What is no path for sure, such as a value, may be any name.
bool help_qualifier(diagnostics::Diagnostic& diagnostic, const std::string& name, Span span, resolve::Space space,
                    uint32_t module, Context& cx, bool is_path = true);
/// `Net` of a file that is imported as a whole: `base.Net`. False if none has it.
bool help_of_module(diagnostics::Diagnostic& diagnostic, const ast::Name& name, uint32_t module, Context& cx);
/// Says of a name that is unknown where it is assigned or declared, if that is below. False if it is not, or if the name
/// `is_called` in what it is assigned itself, and so is that of a function.
bool help_late_name(diagnostics::Diagnostic& diagnostic, const ast::Name& name, bool is_called, const Scope& scope);
/// Adds that what is called `name` hides something of the library, and that it is `declared` there.
void note_hidden(diagnostics::Diagnostic& diagnostic, const std::string& name, Span declared, const Context& cx);
/// The same of the declaration of the program that `place` is in, where it is used from elsewhere.
void note_hiding(diagnostics::Diagnostic& diagnostic, Span place, Span use, const Context& cx);
/// Whether `name` means something where the scope is.
bool is_in_scope(const std::string& name, const Scope& scope);
/// The name that a value calls first: `csv` of `csv(path) |> map(f)`. Empty if it calls nothing by its name.
Span callee_of(const ast::Expr& value);
/// Reports E0301 with the nearest name.
void report_unknown(const ast::Name& name, Scope& scope, const NameUse& use = {});
/// Where an existing local lives, if it is not of the innermost body.
std::optional<LocalId> outer_local(const std::string& name, const Scope& scope);

}  // namespace ltr::check
