#include <algorithm>
#include <set>
#include <utility>

#include "dsl/ast/assigned.h"
#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"
#include "dsl/host/math.h"

namespace ltr::check {

namespace {

/// Whether an expression names a param that is no size, or any param.
struct ValueParams {
  const std::vector<ParamInfo>& params;
  bool is_of_any = false;
  bool found = false;

  void operator()(const auto& node) { ast::for_each_child(node, *this); }
  void operator()(const ast::Expr& expr) {
    if (const auto* ref = expr.get<ast::NameRef>()) {
      found = found || std::any_of(params.begin(), params.end(), [&](const ParamInfo& param) {
                return param.name == ref->name.text && (is_of_any || param.type.kind != Kind::Int) &&
                       !param.type.is_error();
              });
    }
    ast::for_each_child(expr, *this);
  }
};

/// Whether an expression names one of the binders of a function.
struct BinderNames {
  const std::map<std::string, AtomId>& binders;
  bool found = false;

  void operator()(const auto& node) { ast::for_each_child(node, *this); }
  void operator()(const ast::Expr& expr) {
    const auto* ref = expr.get<ast::NameRef>();
    found = found || (ref != nullptr && binders.contains(ref->name.text));
    ast::for_each_child(expr, *this);
  }
};

/// What the value of a rule hangs on, from what is known first to what is known last.
enum class Rests { Constants, Start, Params, Run };

/// The name of the own param that an expression is, or null.
const std::string* own_param(const ExprView& expr, const Context& cx) {
  const auto* member = expr.get<node::Member>();
  const bool is_own = member != nullptr && member->is_param && cx.at(member->object).is<node::Self>();
  return is_own ? &member->name : nullptr;
}

/// What `or_else(k, 1)` takes, or null.
const node::Op* or_else_of(const ExprView& expr) {
  const auto* op = expr.get<node::Op>();
  return op != nullptr && op->op == library::Id::OrElse && op->args.size() == 2 ? op : nullptr;
}

/// Whether what is computed of parts rests on no more than its parts do.
bool is_computed(const ExprView& expr) {
  const auto* op = expr.get<node::Op>();
  if (op != nullptr && op->op == library::Id::TextLength) return true;
  return expr.is<node::Host>() || expr.is<node::Convert>() || expr.is<node::Not>() || expr.is<node::And>() ||
         expr.is<node::Or>() || expr.is<node::Equal>() || expr.is<node::In>() || expr.is<node::Range>() ||
         expr.is<node::List>() || expr.is<node::Tuple>() || expr.is<node::TupleElement>() ||
         expr.is<node::RecordField>() || expr.is<node::ListLength>() || or_else_of(expr) != nullptr;
}

Rests rests_on(const ExprView& rule, const Context& cx) {
  if (rule.is<node::IntConst>() || rule.is<node::FloatConst>() || rule.is<node::BoolConst>() ||
      rule.is<node::StrConst>())
    return Rests::Constants;
  if (rule.is<node::Hparam>() || rule.is<node::DataMember>()) return Rests::Start;
  if (!is_computed(rule)) {
    if (own_param(rule, cx) != nullptr) return Rests::Params;
    // A fact of the data, as the size of a vocabulary.
    return rule.type.is_host_number() && needs_data(rule, cx.program) ? Rests::Start : Rests::Run;
  }
  Rests latest = Rests::Constants;
  for_each_child(rule, [&](ExprId part) { latest = std::max(latest, rests_on(cx.at(part), cx)); });
  return latest;
}

/// The name of the param that an expression of a rule is, or null.
const std::string* param_named(const ExprView& rule, const Context& cx) {
  const auto* local = rule.get<node::Local>();
  return local != nullptr ? &local->name : own_param(rule, cx);
}

/// How many elements a list has, if its type says so.
std::optional<Polynomial> length_of(const Type& list) {
  return list.uniform ? list.value : std::optional(Polynomial(int64_t(list.fields.size())));
}

/// What a record that is written out has in a field that is read.
std::optional<ExprId> field_of_record(const ExprView& read, const Context& cx) {
  const auto* field = read.get<node::RecordField>();
  if (field == nullptr) return std::nullopt;
  const ExprView record = cx.at(field->record);
  const auto* written = record.get<node::Record>();
  const auto at = std::ranges::find(record.type.fields, field->name, &TypeField::name);
  const auto index = size_t(at - record.type.fields.begin());
  return written != nullptr && index < written->values.size() ? std::optional(written->values[index]) : std::nullopt;
}

/// `rule` with what was given for the params that it names; `place` becomes that of the last of them.
Expr with_arguments(const ExprView& rule, const Arguments& given, Span& place, Context& cx) {
  const std::string* name = param_named(rule, cx);
  for (size_t i = 0; name != nullptr && i < given.params.size(); ++i) {
    if (given.params[i].name != *name) continue;
    if (!given.values[i].span.is_empty()) place = given.values[i].span;
    return given.values[i];
  }
  if (rule.is<node::Self>() && given.receiver != nullptr) return *given.receiver;
  Expr filled =
      with_children(rule, [&](ExprId part) { return cx.keep(with_arguments(cx.at(part), given, place, cx)); });
  // What is given for an option is the value in it.
  const node::Op* of_option = or_else_of(filled);
  if (of_option != nullptr && cx.at(of_option->args[0]).type.kind != Kind::Option) return cx.at(of_option->args[0]);
  if (const std::optional<ExprId> value = field_of_record(filled, cx)) return cx.at(*value);
  if (const auto* length = filled.get<node::ListLength>()) filled.type.value = length_of(cx.at(length->list).type);
  return filled;
}

/// Whether each option that a rule names is given a value: one that is `none` breaks no rule, and what only the run knows is
/// seen there. An option that is handed on, a param of the declaration around, is for the user of that one to give.
bool has_all(const ExprView& rule, const Arguments& given, const Context& cx) {
  if (const std::string* name = param_named(rule, cx)) {
    for (size_t i = 0; i < given.params.size(); ++i) {
      if (given.params[i].name != *name || given.params[i].type.kind != Kind::Option) continue;
      const Expr& value = given.values[i];
      if (value.is<node::NoneConst>()) return false;
      if (value.type.kind == Kind::Option && own_param(value, cx) == nullptr) return false;
    }
  }
  return !any_child(rule, [&](ExprId part) { return !has_all(cx.at(part), given, cx); });
}

/// Whether one of the ints of a param, in its tuples, too, is `size`.
bool is_of(const Type& param, const Polynomial& size) {
  if (param.kind == Kind::Int) return param.value == size;
  return param.kind == Kind::Tuple && std::any_of(param.fields.begin(), param.fields.end(),
                                                  [&](const TypeField& field) { return is_of(field.type, size); });
}

/// Before its params have values: which side a rule of sizes bounds, and in `place` the last argument that it names.
void note_bounds(Requirement& requirement, const Arguments& given, Span& place) {
  requirement.bounds_left = requirement.right.constant().has_value();
  requirement.bounds_right = requirement.left.constant().has_value();
  for (size_t i = 0; i < given.params.size(); ++i) {
    if (given.values[i].span.is_empty()) continue;
    for (const Polynomial* side : {&requirement.left, &requirement.right}) {
      if (is_of(given.params[i].type, *side)) place = given.values[i].span;
    }
  }
}

/// Whether a rule speaks of the length of a list, which is a size once the list is given.
bool measures_list(const ExprView& rule, const Context& cx) {
  return rule.is<node::ListLength>() || any_child(rule, [&](ExprId part) { return measures_list(cx.at(part), cx); });
}

/// Makes a rule that compares sizes of tensors, `numel(x) == B * n`, one of sizes.
void compare_sizes(Requirement& requirement, const Context& cx) {
  const auto* compared = requirement.rule->get<node::Host>();
  if (compared == nullptr || compared->args.size() != 2) return;
  const Type& left = cx.at(compared->args[0]).type;
  const Type& right = cx.at(compared->args[1]).type;
  const auto is_size = [&](const Type& side) {
    return side.kind == Kind::Int && side.value && !side.value->is_lost() &&
           !cx.program.atoms.mentions_unknown(*side.value);
  };
  if (!is_size(left) || !is_size(right)) return;
  switch (compared->op) {
    case host::Op::Equal: requirement.kind = Requirement::Kind::Equal; break;
    case host::Op::LessEqual: requirement.kind = Requirement::Kind::AtMost; break;
    case host::Op::Less: requirement.kind = Requirement::Kind::Less; break;
    case host::Op::GreaterEqual: requirement.kind = Requirement::Kind::AtMost; break;
    case host::Op::Greater: requirement.kind = Requirement::Kind::Less; break;
    default: return;
  }
  requirement.left = *left.value;
  requirement.right = *right.value;
  if (compared->op == host::Op::GreaterEqual || compared->op == host::Op::Greater)
    std::swap(requirement.left, requirement.right);
  requirement.rule.reset();
}

}  // namespace

bool needs_data(const ExprView& rule, const Program& program) {
  return rule.is<node::DataMember>() ||
         any_child(rule, [&](ExprId part) { return needs_data(program.exprs[part], program); });
}

std::optional<Requirement> value_requirement(const ast::Expr& clause, Scope& scope) {
  const auto* binary = clause.get<ast::Binary>();
  // What compares no two sides is no rule of sizes, whatever it names.
  const bool is_choice = binary == nullptr || binary->op == ast::BinaryOp::Or || binary->op == ast::BinaryOp::In;
  const auto names_one = [&](const std::vector<ParamInfo>& params, bool of_any) {
    ValueParams names{params, of_any};
    names(clause);
    return names.found;
  };
  const auto names_binder = [&] {
    BinderNames names{scope.info->binders};
    names(clause);
    return names.found;
  };
  const bool is_of_owner = scope.owner != nullptr && names_one(scope.owner->params, is_choice) &&
                           !names_one(scope.info->params, true) && !names_binder();
  if (!is_of_owner && !names_one(scope.info->params, is_choice)) return std::nullopt;
  std::vector<Local> locals;
  Scope inner{.cx = scope.cx,
              .module = scope.module,
              .place = Place::Fn,
              .info = scope.info,
              .owner = scope.owner,
              .locals = locals};
  inner.dim_names = scope.dim_names;
  // In the library a rule of an option is one of the value in it, if there is one.
  const bool is_library = scope.cx.graph.modules[scope.module].is_library;
  for (const ParamInfo& param : is_of_owner ? scope.owner->params : scope.info->params) {
    const bool is_unwrapped = is_library && param.type.kind == Kind::Option;
    inner.declare(param.name, is_unwrapped ? param.type.fields[0].type : param.type);
  }
  Requirement requirement;
  requirement.kind = Requirement::Kind::Holds;
  requirement.rule = check_as(clause, Type::of(Kind::Bool), inner, "the rule");
  requirement.text = scope.cx.source_text(clause.span);
  requirement.origin = clause.span;
  requirement.is_where = true;
  compare_sizes(requirement, scope.cx);
  return requirement;
}

namespace {

/// Whether a value hangs on constants, hparams and such params of the function alone that its body leaves as they are.
bool rests_on_own(const ExprView& value, const FnInfo& fn, const Context& cx) {
  const auto* local = value.get<node::Local>();
  if (local != nullptr)
    return local->local < fn.params.size() && fn.params[local->local].name == local->name &&
           !fn.assigned_inside->contains(local->name);
  if (!is_computed(value)) return rests_on(value, cx) <= Rests::Start;
  return !any_child(value, [&](ExprId part) { return !rests_on_own(cx.at(part), fn, cx); });
}

/// Finds a `return` in a branch or loop, behind which not all is done.
struct FindReturn {
  bool found = false;

  void operator()(const ast::Stmt& stmt) {
    found = found || stmt.get<ast::Return>() != nullptr;
    ast::for_each_child(stmt, *this);
  }
  void operator()(const auto&) {}
};

bool may_return_early(const ast::Fn& fn) {
  FindReturn find;
  for (const ast::Stmt& stmt : fn.body) {
    if (stmt.get<ast::Return>() == nullptr) ast::for_each_child(stmt, find);
  }
  return find.found;
}

/// Whether it is for the callers of the function around to keep a rule, since it speaks of what they give in what is always done.
bool is_of_callers(const ExprView& rule, const Scope& scope) {
  FnInfo* fn = scope.info;
  const bool is_called = fn != nullptr && fn->ast != nullptr && fn->index == scope.fn &&
                         (fn->role == FnRole::Free || fn->role == FnRole::Method);
  if (!is_called || scope.may_not_happen || scope.in_function_value || may_return_early(*fn->ast)) return false;
  if (!fn->assigned_inside) fn->assigned_inside = ast::assigned_inside(*fn->ast);
  return rests_on_own(rule, *fn, scope.cx);
}

}  // namespace

std::optional<DeclIndex> data_around(const Scope& scope) {
  const bool is_data = scope.owner != nullptr && scope.owner->kind == Kind::Data;
  return is_data ? std::optional(scope.owner->index) : std::nullopt;
}

bool require_value(Requirement requirement, Span use, Scope& scope) {
  Context& cx = scope.cx;
  const ExprView& rule = *requirement.rule;
  Obligation obligation;
  obligation.text = requirement.text;
  obligation.span = requirement.origin;
  obligation.use = requirement.use;
  switch (rests_on(rule, cx)) {
    case Rests::Constants: {
      const auto holds = evaluate(rule, cx.program);
      if (holds && holds->whole == 0) {
        cx.report(diag::where_not_satisfied(use, requirement.text, "it is given " + cx.source_text(use))
                      .tie(diagnostics::Tie::Required, requirement.origin, "required here"));
        return false;
      }
      obligation.fate = Fate::Proven;
      obligation.why = "follows from the values";
      break;
    }
    case Rests::Params:
      if (scope.requirements != nullptr) scope.requirements->push_back(std::move(requirement));
      return true;
    case Rests::Start:
      obligation.fate = Fate::AtStart;
      obligation.needs_data = needs_data(rule, cx.program);
      obligation.of_data = data_around(scope);
      obligation.why = obligation.needs_data ? "rests on the data" : "rests on hparams";
      obligation.condition = cx.keep(rule);
      cx.program.obligations.push_back(std::move(obligation));
      return true;
    case Rests::Run:
      if (is_of_callers(rule, scope)) {
        scope.info->requirements.push_back(std::move(requirement));
        return true;
      }
      obligation.fate = Fate::FirstBatch;
      obligation.why = "rests on a value that only run time knows";
      break;
  }
  if (!cx.graph.modules[scope.module].is_library) cx.program.obligations.push_back(std::move(obligation));
  return true;
}

void require_element(const Expr& list, int64_t index, Span span, Scope& scope) {
  // What is built is built always, unless it stands in a part that is not.
  const bool is_built = scope.place == Place::Member || scope.place == Place::Experiment;
  if (!is_built || scope.may_not_happen || scope.cx.graph.modules[scope.module].is_library) return;
  Context& cx = scope.cx;
  const Rests rests = rests_on(list, cx);
  if (rests != Rests::Params && rests != Rests::Start) return;
  const int64_t least = index < 0 ? -index : index + 1;
  Requirement requirement;
  requirement.kind = Requirement::Kind::Holds;
  const ExprId length = cx.keep({Type::host_int(), span, node::ListLength{cx.keep(list)}});
  requirement.rule =
      host_op(host::Op::GreaterEqual, {length, cx.keep(int_const(least, span))}, Type::of(Kind::Bool), span);
  requirement.text = cx.source_text(list.span) + ".length >= " + std::to_string(least);
  requirement.origin = span;
  require_value(std::move(requirement), span, scope);
}

namespace {

/// A rule of the tensor that is given for a param.
bool put_on_tensor(Requirement requirement, const Binding& binding, const Arguments& given, Span use, Scope& scope) {
  requirement.left = scope.cx.program.atoms.substitute(requirement.left, binding.dims);
  for (Polynomial& size : requirement.onto) size = scope.cx.program.atoms.substitute(size, binding.dims);
  for (size_t i = 0; i < given.params.size(); ++i) {
    if (given.params[i].name != requirement.param) continue;
    const Span place = given.values[i].span.is_empty() ? use : given.values[i].span;
    switch (requirement.kind) {
      case Requirement::Kind::Broadcasts: return require_broadcast(requirement, given.values[i], place, scope);
      case Requirement::Kind::Indexes: return require_rows(requirement, given.values[i], use, scope);
      default: return require_one_for_each(requirement, given.values[i], place, scope);
    }
  }
  return true;
}

}  // namespace

namespace {

/// What a param of what is called would have to be for an equality to hold: `R2Score(outputs = 24)`.
std::string cure_by_param(const Requirement& requirement, const Polynomial& declared, const Binding& binding,
                          const Arguments& given, Context& cx) {
  const Type* type = given.receiver != nullptr ? &given.receiver->type : nullptr;
  if (type == nullptr || requirement.kind != Requirement::Kind::Equal ||
      (type->kind != Kind::Block && type->kind != Kind::Metric))
    return "";
  const ObjectInfo* object = find_object(cx, type->kind, type->decl);
  for (const ParamInfo& param : object != nullptr ? object->params : std::vector<ParamInfo>()) {
    if (param.type.kind != Kind::Int || !param.type.value) continue;
    const auto others = AtomTable::divide(declared, *param.type.value);
    if (!others || *others == declared) continue;
    const auto value = AtomTable::divide(requirement.left, cx.program.atoms.substitute(*others, binding.dims));
    if (value && !cx.program.atoms.mentions_unknown(*value) && rests_on_params(*value, cx))
      return "`" + object->name + "(" + param.name + " = " + cx.text(*value) + ")`";
  }
  return "";
}

}  // namespace

bool put_requirements(const std::vector<Requirement>& requirements, Binding& binding, const Arguments& given, Span use,
                      Scope& scope) {
  Context& cx = scope.cx;
  const auto is_of_library = [&](Span span) {
    return !span.is_empty() && cx.graph.modules[cx.graph.module_of(span.source)].is_library;
  };
  bool holds = true;
  // One argument is one mistake, also where it is the default of another, and so is one layer that asks for it twice.
  std::vector<Span> told;
  const auto is_told = [&](Span span) {
    return std::any_of(told.begin(), told.end(), [&](Span one) {
      return one.source == span.source && (source::join(one, span) == one || source::join(one, span) == span);
    });
  };
  std::vector<std::pair<Polynomial, Polynomial>> broken;  // rules of two sides that were told, in the sizes given
  for (Requirement requirement : requirements) {
    Span place = use;
    if (requirement.rule && !has_all(*requirement.rule, given, cx)) continue;
    if (!requirement.param.empty()) {
      holds = put_on_tensor(std::move(requirement), binding, given, use, scope) && holds;
      continue;
    }
    if (requirement.is_where || requirement.is_size || requirement.is_of_weight) note_bounds(requirement, given, place);
    if (requirement.rule) {
      requirement.rule = with_arguments(*requirement.rule, given, place, cx);
      if (measures_list(*requirement.rule, cx)) compare_sizes(requirement, cx);
    }
    const bool is_where = requirement.is_where;
    const Polynomial declared[] = {requirement.left, requirement.right};
    requirement.left = cx.program.atoms.substitute(requirement.left, binding.dims);
    requirement.right = cx.program.atoms.substitute(requirement.right, binding.dims);
    if (requirement.use.is_empty() && is_of_library(requirement.origin) && !is_of_library(place))
      requirement.use = place;
    if (is_where) requirement.cure = cure_by_param(requirement, declared[1], binding, given, cx);
    const Span asked_at = requirement.use.is_empty() ? place : requirement.use;
    const std::pair sides(requirement.left, requirement.right);
    const bool is_same = is_where && std::ranges::find(broken, sides) != broken.end();
    if (is_same || is_told(place) || is_told(asked_at) || require(std::move(requirement), place, scope)) continue;
    holds = false;
    if (is_where && sides.first != sides.second) broken.push_back(sides);
    told.insert(told.end(), {place, asked_at});
    if (!is_where) continue;
    for (const Polynomial& size : declared) {
      const std::vector<AtomId> named = cx.program.atoms.deep_atoms(size);
      binding.broken.insert(named.begin(), named.end());
    }
  }
  return holds;
}

bool is_broken(const Type& declared, const Binding& binding, const Context& cx) {
  const auto is_of_broken = [&](const Polynomial& size) {
    return std::ranges::any_of(cx.program.atoms.deep_atoms(size),
                               [&](AtomId atom) { return binding.broken.contains(atom); });
  };
  if (binding.broken.empty()) return false;
  return std::ranges::any_of(declared.dims, [&](const Dim& dim) { return dim.group == 0 && is_of_broken(dim.size); }) ||
         std::ranges::any_of(declared.fields,
                             [&](const TypeField& field) { return is_broken(field.type, binding, cx); });
}

namespace {

host::Op comparison_of(Requirement::Kind kind) {
  switch (kind) {
    case Requirement::Kind::Equal: return host::Op::Equal;
    case Requirement::Kind::Divisible: return host::Op::Equal;
    case Requirement::Kind::AtMost: return host::Op::LessEqual;
    case Requirement::Kind::Less: return host::Op::Less;
    case Requirement::Kind::Holds:
    case Requirement::Kind::Broadcasts:
    case Requirement::Kind::OneForEach:
    case Requirement::Kind::Indexes: break;
  }
  return host::Op::Equal;
}

}  // namespace

std::optional<Expr> condition_of(const Requirement& requirement, Span span, Scope& scope) {
  std::optional<Expr> left = expr_of(requirement.left, scope, span);
  std::optional<Expr> right = expr_of(requirement.right, scope, span);
  if (!left || !right) return std::nullopt;
  ExprIds sides = {scope.cx.keep(std::move(*left)), scope.cx.keep(std::move(*right))};
  if (requirement.kind == Requirement::Kind::Divisible) {
    const ExprId rest = scope.cx.keep(host_op(host::Op::Mod, sides, Type::host_int(), span));
    return host_op(host::Op::Equal, {rest, scope.cx.keep(int_const(0, span))}, Type::of(Kind::Bool), span);
  }
  return host_op(comparison_of(requirement.kind), std::move(sides), Type::of(Kind::Bool), span);
}

}  // namespace ltr::check
