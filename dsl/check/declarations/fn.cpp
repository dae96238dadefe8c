#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/twice.h"
#include "dsl/check/statements/statements.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// What `padding[kernel, stride, dilation]` of the library names; nothing of any other type.
std::optional<PaddingOf> padding_of(const ast::Param& param, const std::vector<ast::Param>& params, Scope& scope) {
  const auto* named = param.type.get<ast::NamedType>();
  if (named == nullptr || named->name.text != "padding" || named->dims.size() != 3 ||
      !scope.cx.graph.modules[scope.module].is_library)
    return std::nullopt;
  const auto index_of = [&](const ast::Dim& dim) {
    const std::string& name = (*dim.value)->get<ast::NameRef>()->name.text;
    return size_t(
        std::find_if(params.begin(), params.end(), [&](const ast::Param& other) { return other.name.text == name; }) -
        params.begin());
  };
  return PaddingOf{index_of(named->dims[0]), index_of(named->dims[1]), index_of(named->dims[2])};
}

/// A pair of ints for each axis that sizes of this type are for.
Type padding_type(const Type& kernel) {
  Type pair = Type::of(Kind::Tuple);
  pair.fields = {{"", Type::host_int()}, {"", Type::host_int()}};
  if (kernel.kind != Kind::Tuple) return pair;
  Type pairs = Type::of(Kind::Tuple);
  for (size_t i = 0; i < kernel.fields.size(); ++i) pairs.fields.push_back({"", pair});
  return pairs;
}

}  // namespace

std::vector<ParamInfo> check_params(Context& cx, const std::vector<ast::Param>& params,
                                    const std::vector<const ast::Fn*>& read_by, Scope& scope) {
  std::vector<ParamInfo> result;
  check_names(cx, params);
  for (const ast::Param& param : params) {
    // A `self` was reported as the habit it is.
    if (param.type.get<ast::ErrorType>() != nullptr && param.name.text == "self") continue;
    ParamInfo info;
    info.name = param.name.text;
    info.span = param.span;
    info.padding = padding_of(param, params, scope);
    info.type = info.padding ? padding_type(result[info.padding->kernel].type) : check_type(param.type, scope);
    info.initial = param.initial ? &*param.initial : nullptr;
    info.sizes = name_sizes(info.type, info.name, false, cx);
    const bool is_truth = info.type.kind == Kind::Bool && cx.graph.modules[scope.module].is_library &&
                          std::ranges::any_of(read_by, [&](const ast::Fn* fn) { return hangs_on(*fn, info.name); });
    if (is_truth) info.sizes.push_back(name_truth(info.type, info.name, cx));
    if (info.type.kind == Kind::Int) {
      scope.dim_names[info.name] = info.sizes[0];
    } else if (!info.sizes.empty()) {
      // Types of the params behind it, and of the result, may read the ints in it.
      if (scope.frames.empty()) scope.frames.emplace_back();
      scope.declare(info.name, info.type);
    }
    result.push_back(std::move(info));
  }
  return result;
}

namespace {

/// The axis of a param that gives a binder its value: the first place where it stands alone.
std::optional<Binder> binder_place(const FnInfo& fn, AtomId atom) {
  const auto in_tensor = [&](const Type& type) -> std::optional<int> {
    std::optional<size_t> group;
    for (size_t i = 0; i < type.dims.size(); ++i) {
      if (type.dims[i].group != 0) group = i;
      if (type.dims[i].group != 0 || type.dims[i].size.single_atom() != atom) continue;
      return group ? int(i) - int(type.dims.size()) : int(i);
    }
    return std::nullopt;
  };
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const Type& type = fn.params[i].type;
    if (const auto axis = type.is_tensor() ? in_tensor(type) : std::nullopt) {
      return Binder{0, LocalId(i), *axis, ""};
    }
    if (type.kind != Kind::Record) continue;
    for (const TypeField& field : type.fields) {
      if (const auto axis = field.type.is_tensor() ? in_tensor(field.type) : std::nullopt) {
        return Binder{0, LocalId(i), *axis, field.name};
      }
    }
  }
  return std::nullopt;
}

/// Whether an expression names one of these params.
bool names_param(const ExprView& expr, const std::vector<ParamInfo>& params, const Context& cx) {
  const auto* local = expr.get<node::Local>();
  if (local != nullptr)
    return std::any_of(params.begin(), params.end(), [&](const ParamInfo& one) { return one.name == local->name; });
  return any_child(expr, [&](ExprId part) { return names_param(cx.at(part), params, cx); });
}

/// A rule of a method that speaks of params of its object alone is one of the object: who builds it has to keep it.
void give_to_owner(FnInfo& fn, Scope& scope) {
  if (scope.owner == nullptr) return;
  std::set<AtomId> own;
  for (const ParamInfo& param : scope.owner->params) own.insert(param.sizes.begin(), param.sizes.end());
  const auto is_of_owner = [&](const Requirement& one) {
    if (!one.param.empty()) return false;
    if (one.rule) return !names_param(*one.rule, fn.params, scope.cx);
    for (const Polynomial* side : {&one.left, &one.right}) {
      for (const AtomId id : scope.cx.program.atoms.deep_atoms(*side)) {
        if (scope.cx.program.atoms.at(id).kind == Atom::Kind::Variable && !own.contains(id)) return false;
      }
    }
    return true;
  };
  const auto first = std::stable_partition(fn.requirements.begin(), fn.requirements.end(),
                                           [&](const Requirement& one) { return !is_of_owner(one); });
  scope.requirements->insert(scope.requirements->end(), first, fn.requirements.end());
  fn.requirements.erase(first, fn.requirements.end());
}

}  // namespace

void read_signature(Context& cx, FnInfo& fn, Scope& scope) {
  scope.info = &fn;
  check_names(cx, fn.ast->binders);
  for (const ast::Name& binder : fn.ast->binders) {
    const AtomId atom = cx.program.atoms.variable(binder.text, cx.next_key++, false, false, true);
    fn.binders[binder.text] = atom;
    scope.dim_names[binder.text] = atom;
  }
  scope.missing_binders = &fn.binders;
  fn.params = check_params(cx, fn.ast->params, {fn.ast}, scope);
  const size_t named = fn.binders.size();
  fn.result = fn.ast->result ? check_type(*fn.ast->result, scope) : Type::of(Kind::Void);
  // Of a result with a dim that nothing names, nothing more is said.
  if (fn.binders.size() > named) fn.result = Type::error();
  scope.missing_binders = nullptr;
  if (fn.ast->where) read_where(*fn.ast->where, scope, fn.requirements);
  if (scope.requirements != nullptr) give_to_owner(fn, scope);
  if (fn.is_op) return;
  // A param whose type could not be read may be the one that names the binder.
  for (const ParamInfo& param : fn.params) {
    if (param.type.is_error()) return;
  }
  std::vector<const ast::Name*> unbound;
  for (const ast::Name& binder : fn.ast->binders) {
    if (!binder_place(fn, fn.binders[binder.text])) unbound.push_back(&binder);
  }
  // A dim that is unknown may be meant to name it.
  if (!unbound.empty() && fn.binders.size() > fn.ast->binders.size()) {
    fn.result = Type::error();
    return;
  }
  for (const ast::Name* binder : unbound) {
    diagnostics::Diagnostic diagnostic =
        diag::unbound_binder(binder->span, binder->text)
            .note("a binder stands alone as a dim of at least one parameter, which gives it its value");
    for (ParamInfo& param : fn.params) {
      if (param.type.kind == Kind::Float)
        diagnostic.label(param.span, "one number: a tensor is `float[{}, …]`", binder->text);
    }
    cx.report(std::move(diagnostic));
  }
  // What is one number was meant to be a tensor: nothing that is done with it, or given for it, says more.
  for (ParamInfo& param : fn.params) {
    const bool mentions = std::any_of(unbound.begin(), unbound.end(), [&](const ast::Name* binder) {
      return std::any_of(param.type.dims.begin(), param.type.dims.end(), [&](const Dim& dim) {
        const std::vector<AtomId> atoms = cx.program.atoms.deep_atoms(dim.size);
        return std::find(atoms.begin(), atoms.end(), fn.binders[binder->text]) != atoms.end();
      });
    });
    if (!unbound.empty() && (param.type.kind == Kind::Float || mentions)) param.type = Type::error();
  }
}

namespace {

library::Space space_of(const FnInfo& op, const Context& cx) {
  if (const auto text = cx.graph.texts.find(op.name); text != cx.graph.texts.end() && text->second.fn == op.ast)
    return library::Space::Texts;
  switch (op.result.kind) {
    case Kind::Stream:
    case Kind::Tokenizer: return library::Space::Streams;
    case Kind::Optimizer:
    case Kind::Schedule:
    case Kind::CallbackValue:
    case Kind::Logger:
    case Kind::TrainerValue:
    case Kind::Draw: return library::Space::Settings;
    default: {
      const bool takes_stream = !op.params.empty() && op.params[0].type.kind == Kind::Stream;
      return takes_stream ? library::Space::Streams : library::Space::Values;
    }
  }
}

}  // namespace

FnInfo& fn_of(Context& cx, const Symbol& symbol) {
  std::unique_ptr<FnInfo>& place = cx.declared.fns[symbol.fn];
  if (place == nullptr) {
    place = std::make_unique<FnInfo>();
    place->name = symbol.name;
    place->ast = symbol.fn;
    place->module = symbol.module;
    place->extern_file = symbol.extern_file;
    place->is_op = symbol.extern_file == "runtime" && cx.graph.modules[symbol.module].is_library;
    std::vector<Local> locals;
    Scope scope{.cx = cx, .module = symbol.module, .place = Place::Fn, .locals = locals};
    if (!place->is_op) {
      place->index = uint32_t(cx.program.fns.size());
      cx.program.fns.emplace_back();
      cx.program.fns.back().name = symbol.name;
    }
    read_signature(cx, *place, scope);
    if (place->is_op) place->id = library::find(space_of(*place, cx), place->name);
  }
  return *place;
}

FnInfo& fn_of(Context& cx, library::Id id) {
  const library::Function& function = library::info(id);
  const auto& from = function.space == library::Space::Streams ? cx.graph.stages
                     : function.space == library::Space::Texts ? cx.graph.texts
                                                               : cx.graph.prelude;
  return fn_of(cx, from.at(std::string(function.name)));
}

namespace {

/// Whether a mistake in a body was reported: what it would have done is not known then.
bool has_error(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const Stmt& stmt) {
    bool found = stmt.is<stmt::Error>();
    for_each_body(stmt, [&](const Body& inner) { found = found || has_error(inner); });
    return found;
  });
}

bool always_returns(const Body& body) {
  if (body.empty()) return false;
  const Stmt& last = body.back();
  if (last.is<stmt::Return>() || last.is<stmt::Error>()) return true;
  if (const auto* inner = last.get<stmt::NoGrad>()) return always_returns(inner->body);
  const auto* branch = last.get<stmt::If>();
  return branch != nullptr && always_returns(branch->then_body) && always_returns(branch->else_body);
}

Place place_of(FnRole role) {
  switch (role) {
    case FnRole::Step: return Place::Step;
    case FnRole::Hook: return Place::Hook;
    case FnRole::Test: return Place::Test;
    case FnRole::MetricUpdate: return Place::Update;
    case FnRole::MetricCompute:
    case FnRole::MetricEach: return Place::Compute;
    case FnRole::Free:
    case FnRole::Method:
    case FnRole::MetricMerge:
    case FnRole::MetricLength: return Place::Fn;
  }
  return Place::Fn;
}

/// The body of `fn f(…) = value` without a declared result: an effect. A value is a mistake, after
/// which it is taken as the result.
Body check_value_of(const ast::Expr& expr, FnInfo& fn, Scope& scope) {
  Expr value = check_expr(expr, scope);
  if (value.type.is_error()) {
    fn.result = Type::error();
    return {{expr.span, stmt::Error{}}};
  }
  if (fn.infers_result) {
    fn.result = value.type;
    return {{expr.span, stmt::Return{scope.cx.keep(std::move(value))}}};
  }
  const bool has_effect = value.type.kind == Kind::Void || value.is<node::CallMetric>();
  if (has_effect) return {{expr.span, stmt::Eval{scope.cx.keep(std::move(value))}}};
  const std::string text = scope.cx.text(value.type);
  scope.cx.report(diag::result_not_declared(value.span, fn.name, text).help("declare what it gives: `-> {}`", text));
  fn.result = value.type;
  return {{expr.span, stmt::Error{}}};
}

void find_differentiated(const Body& body, const Context& cx, std::set<LocalId>& locals);

void find_differentiated(ExprId id, const Context& cx, std::set<LocalId>& locals) {
  const ExprView& expr = cx.at(id);
  const auto* op = expr.get<node::Op>();
  if (op != nullptr && op->op == library::Id::Grad && op->args.size() == 2) {
    if (const auto* by = cx.at(op->args[1]).get<node::Local>()) locals.insert(by->local);
  }
  for_each_child(expr, [&](ExprId child) { find_differentiated(child, cx, locals); });
  for_each_body(expr, [&](const Body& body) { find_differentiated(body, cx, locals); });
}

void find_differentiated(const Body& body, const Context& cx, std::set<LocalId>& locals) {
  for (const Stmt& stmt : body) {
    for_each_child(stmt, [&](ExprId child) { find_differentiated(child, cx, locals); });
    for_each_body(stmt, [&](const Body& inner) { find_differentiated(inner, cx, locals); });
  }
}

ExprId tracked(ExprId value, Context& cx) {
  const ExprView& expr = cx.at(value);
  return cx.keep(op_expr(library::Id::Tracked, expr.type, expr.span, {value}));
}

void track_assignments(Body& body, const std::set<LocalId>& locals, Context& cx) {
  for (Stmt& stmt : body) {
    auto* let = stmt.get<stmt::Let>();
    if (let != nullptr && locals.contains(let->local) && cx.at(let->value).type.is_tensor())
      let->value = tracked(let->value, cx);
    for_each_body(stmt, [&](Body& inner) { track_assignments(inner, locals, cx); });
  }
}

/// What `grad(y, x)` differentiates by must be known as such before y is computed from it.
void track_differentiated(Fn& fn, const Scope& scope) {
  Context& cx = scope.cx;
  std::set<LocalId> locals;
  find_differentiated(fn.body, cx, locals);
  if (locals.empty()) return;
  track_assignments(fn.body, locals, cx);
  for (const LocalId local : locals) {
    if (local >= fn.param_count) continue;
    const ExprId param = cx.keep(local_expr(local, scope, fn.span));
    fn.body.insert(fn.body.begin(), {fn.span, stmt::Let{local, tracked(param, cx)}});
  }
}

}  // namespace

void read_late(Context& cx, FnInfo& fn) {
  if (!fn.is_unread) return;
  fn.is_unread = false;
  std::vector<Local> locals;
  Scope scope{.cx = cx, .module = fn.module, .place = Place::Fn, .owner = fn.owner, .locals = locals};
  read_signature(cx, fn, scope);
}

namespace {

/// Its params and binders become names of the scope.
void declare_params(const FnInfo& fn, Fn& typed, Scope& scope) {
  for (const ParamInfo& param : fn.params) scope.declare(param.name, param.type);
  typed.param_count = uint32_t(fn.params.size());
  for (const ast::Name& name : fn.ast->binders) {
    const AtomId atom = fn.binders.at(name.text);
    const auto place = binder_place(fn, atom);
    if (!place) {
      scope.dim_names[name.text] = atom;  // Reported with the signature; its uses are no mistakes of their own.
      continue;
    }
    Binder binder = *place;
    binder.local = scope.declare(name.text, Type::host_int(Polynomial::atom(atom)));
    typed.binders.push_back(binder);
  }
  for (const auto& [name, atom] : fn.binders) {
    // One that is missing was reported with the signature.
    if (!scope.find_local(name) && !scope.dim_names.contains(name)) scope.dim_names[name] = atom;
  }
}

/// What a line with a mistake asks of sizes is asked of no caller: it would be the same mistake again.
void forget_asked(std::vector<Requirement>& asked, size_t first, size_t told, Context& cx) {
  const std::vector<diagnostics::Diagnostic>& reported = cx.sink->reported();
  const auto is_same_line = [&](Span a, Span b) {
    const Span between{a.source, std::min(a.begin, b.begin), std::max(a.begin, b.begin)};
    return a.source == b.source && cx.source_text(between).find('\n') == std::string::npos;
  };
  for (size_t i = told; i < reported.size(); ++i) {
    const diagnostics::Diagnostic& one = reported[i];
    if (one.severity != diagnostics::Severity::Error) continue;
    for (size_t at = asked.size(); at > first; --at) {
      if (is_same_line(one.span, asked[at - 1].origin)) asked.erase(asked.begin() + long(at - 1));
    }
  }
}

/// Its rule: callers prove it where they can; what only run time knows is seen at its begin.
Body rule_at_entry(const FnInfo& fn, Scope& scope) {
  Context& cx = scope.cx;
  if (!fn.ast->where || cx.graph.modules[fn.module].is_library) return {};
  Expr holds = check_as(*fn.ast->where, Type::of(Kind::Bool), scope, "the rule");
  if (holds.type.is_error()) return {};
  const Span span = fn.ast->where->span;
  return {{span, stmt::Assert{cx.keep(std::move(holds)), {}, cx.source_text(span)}}};
}

}  // namespace

void check_body_of(Context& cx, FnInfo& fn) {
  if (fn.is_op || fn.index == 0 || fn.is_checking) return;
  read_late(cx, fn);
  if (cx.declared.callees.contains(fn.index)) return;  // Its body has been read.
  fn.is_checking = true;
  ++cx.work.open_bodies;
  cx.declared.callees[fn.index];
  std::vector<Local> locals;
  Scope scope{.cx = cx,
              .module = fn.module,
              .place = place_of(fn.role),
              .fn = fn.index,
              .info = &fn,
              .owner = fn.owner,
              .locals = locals};
  scope.in_train = fn.role == FnRole::Step && fn.name == kTrainRole;
  // What callers promise holds in the body.
  const size_t facts_before = cx.facts.size();
  for (const Requirement& promised : fn.requirements) {
    if (promised.kind == Requirement::Kind::Divisible) cx.facts.add(promised);
  }
  const size_t facts_behind = cx.facts.size();
  scope.requirements = fn.owner != nullptr && fn.role != FnRole::Test ? &fn.owner->requirements : &fn.requirements;
  Fn typed;
  typed.name = fn.name;
  typed.owner = fn.owner != nullptr ? fn.owner->name : "";
  typed.role = fn.role;
  typed.span = fn.ast->name.span;
  typed.is_manual = fn.is_manual;
  if (fn.role == FnRole::Free || fn.role == FnRole::Method) check_defaults(fn.params, fn.module, scope);
  declare_params(fn, typed, scope);
  scope.frames.emplace_back();
  const size_t asked_before = scope.requirements->size(), told_before = cx.sink->reported().size();
  typed.result = fn.result;
  const bool is_predict = fn.role == FnRole::Step && fn.name == kPredictRole;
  if (is_predict && fn.ast->result) check_outputs(fn, cx);
  // In `compute` a float is a 0-d tensor in full precision.
  const bool is_compute = fn.role == FnRole::MetricCompute || fn.role == FnRole::MetricEach;
  if (is_compute && fn.result.kind == Kind::Float) typed.result = Type::tensor(Element::F64, {});
  if (is_compute) fn.result = typed.result;
  if (is_compute && !fn.params.empty()) {
    cx.report(diag::wrong_argument(fn.params[0].span, "`" + fn.name + "` takes no parameters")
                  .help("what it needs is a `state`, or a parameter of the metric"));
  }
  const Body entry = rule_at_entry(fn, scope);
  if (!fn.extern_file.empty()) {
    typed.body = extern_body(fn, scope);
    typed.span = {};  // What goes wrong in C++ is shown at the call.
  } else if (fn.ast->value) {
    if (fn.result.kind != Kind::Void) {
      typed.body.push_back(check_result(*fn.ast->value, fn.ast->value->span, scope));
      note_size(fn, typed.body.back(), cx);
    } else {
      typed.body = check_value_of(*fn.ast->value, fn, scope);
      typed.result = fn.result;
    }
  } else {
    typed.body = check_body(fn.ast->body, scope);
    if (fn.result.kind != Kind::Void && !fn.result.is_error() && !always_returns(typed.body) &&
        !has_error(typed.body)) {
      cx.report(diag::missing_return(fn.ast->name.span, fn.name, cx.text(fn.result)));
      typed.body.push_back({fn.ast->name.span, stmt::Error{}});  // What it would give is not known.
    }
  }
  // One that gives what it does not declare was told so.
  if (is_predict && !fn.ast->result && fn.result.kind == Kind::Void) check_outputs(fn, cx);
  typed.body.insert(typed.body.begin(), entry.begin(), entry.end());
  forget_asked(*scope.requirements, asked_before, told_before, cx);
  track_differentiated(typed, scope);
  check_independent_gradients(typed, cx);
  typed.locals = std::move(locals);
  cx.program.fns[fn.index] = std::move(typed);
  if (KnownDraws known; is_compute && draws_random(cx.program, fn.index, known))
    cx.report(diag::wrong_place(fn.ast->name.span, "`" + fn.name + "` draws no random numbers"));
  // Hparams that were read meanwhile have left theirs behind these.
  cx.facts.erase(facts_before, facts_behind);
  fn.is_checking = false;
  --cx.work.open_bodies;
}

}  // namespace ltr::check
