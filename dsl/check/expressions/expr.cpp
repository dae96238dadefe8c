#include <cmath>
#include <utility>

#include <algorithm>
#include <cmath>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/aside.h"
#include "dsl/check/scope/twice.h"
#include "dsl/check/statements/statements.h"
#include "dsl/resolve/library.h"

namespace ltr::check {

Expr error_at(Span span) { return {Type::error(), span, node::Error{}}; }

Expr local_expr(LocalId local, const Scope& scope, Span span) {
  const Local& variable = scope.locals[local];
  return {variable.type, span, node::Local{local, variable.name}};
}

Expr int_const(int64_t value, Span span) { return {Type::host_int(Polynomial(value)), span, node::IntConst{value}}; }

Expr none_const(Span span) { return {Type::of(Kind::None), span, node::NoneConst{}}; }

Expr str_const(std::string text, Span span) { return {Type::of(Kind::Str), span, node::StrConst{std::move(text)}}; }

Expr symbol_const(std::string text, Type type, Span span) {
  return {std::move(type), span, node::Symbol{std::move(text)}};
}

Expr self_expr(const Scope& scope, Span span) {
  Type type = Type::of(scope.owner->kind);
  type.decl = scope.owner->index;
  type.name = scope.owner->name;
  return {std::move(type), span, node::Self{}};
}

Expr op_expr(library::Id op, Type type, Span span, ExprIds args) {
  return {std::move(type), span, node::Op{op, std::move(args)}};
}

Expr host_op(host::Op op, ExprIds args, Type type, Span span) {
  return {std::move(type), span, node::Host{op, std::move(args)}};
}

Expr weights_of(Expr value, Span span, Context& cx) {
  return {Type::of(Kind::Weights), span, node::Weights{cx.keep(std::move(value))}};
}

std::string text_of(const ExprView& expr) {
  if (const auto* text = expr.get<node::StrConst>()) return text->text;
  const auto* symbol = expr.get<node::Symbol>();
  return symbol != nullptr ? symbol->text : "";
}

std::optional<Expr> make_quantity(double value, const std::string& unit, Span span) {
  const host::Unit* known = host::find_unit(unit);
  if (known == nullptr) return std::nullopt;
  Kind kind = Kind::Period;
  if (known->measure == host::Measure::Seconds) kind = Kind::Duration;
  if (known->measure == host::Measure::Bytes) kind = Kind::Bytes;
  return Expr{Type::of(kind), span, node::Quantity{value * known->factor, known->measure}};
}

namespace {

Expr check_quantity(const ast::Expr& expr, const ast::Quantity& quantity, Scope& scope) {
  Expr made = *make_quantity(quantity.value, quantity.unit, expr.span);
  const auto& written = *made.get<node::Quantity>();
  if (written.measure != host::Measure::Steps || written.value == std::floor(written.value)) return made;
  scope.cx.report(
      diag::wrong_argument(expr.span, "steps are counted whole, and this is " + scope.cx.source_text(expr.span)));
  return error_at(expr.span);
}

/// A call of a function, which in a chain lacks its first argument: `leaky_relu(0.2)`, or a list of such calls.
bool may_be_partial(const ast::Expr& element, const Scope& scope) {
  if (const auto* list = element.get<ast::List>()) {
    return !list->elements.empty() && std::all_of(list->elements.begin(), list->elements.end(),
                                                  [&](const ast::Expr& inner) { return may_be_partial(inner, scope); });
  }
  const auto* call = element.get<ast::Call>();
  const auto* name = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (name == nullptr || scope.find_local(name->name.text)) return false;
  if (scope.owner != nullptr && scope.owner->members.contains(name->name.text)) return false;
  const Symbol* symbol = scope.cx.graph.find(scope.module, name->name.text);
  return symbol != nullptr && (symbol->kind == SymbolKind::Fn || symbol->kind == SymbolKind::Op);
}

bool is_chain_element(const Type& type) {
  const bool is_list = type.kind == Kind::List && !type.fields.empty();
  return type.kind == Kind::Block || type.kind == Kind::Function || (is_list && is_chain_element(type.fields[0].type));
}

// What else stands in a list tells whether it is a chain, so calls of functions are read last.
Expr check_list(const ast::Expr& expr, const ast::List& list, Scope& scope, bool is_chain = false) {
  std::vector<Expr> elements(list.elements.size());
  bool has_error = false;
  for (const bool partial : {false, true}) {
    for (size_t i = 0; i < elements.size(); ++i) {
      if (may_be_partial(list.elements[i], scope) != partial) continue;
      elements[i] = partial && is_chain ? check_function(list.elements[i], scope) : check_expr(list.elements[i], scope);
      has_error = has_error || elements[i].type.is_error();
      is_chain = is_chain || is_chain_element(elements[i].type);
    }
  }
  if (has_error) return error_at(expr.span);
  Type type = Type::of(Kind::List);
  for (const Expr& element : elements) type.fields.push_back({"", element.type});
  type.value = Polynomial(int64_t(list.elements.size()));
  return {std::move(type), expr.span, node::List{scope.cx.keep(std::move(elements))}};
}

Expr check_if(const ast::Expr& expr, const ast::IfExpr& branch, Scope& scope) {
  Expr condition = check_condition(*branch.condition, "if", scope);
  Expr then_value, else_value;
  within_branch(scope, [&] {
    then_value = check_expr(*branch.then_value, scope);
    else_value = check_expr(*branch.else_value, scope);
  });
  if (condition.type.is_error() || then_value.type.is_error() || else_value.type.is_error()) return error_at(expr.span);
  std::optional<Type> type = merge(then_value.type, else_value.type, scope.cx);
  if (!type) {
    const std::string one = scope.cx.text(then_value.type), other = scope.cx.text(else_value.type);
    diagnostics::Diagnostic diagnostic = diag::branches_differ(expr.span, one, other);
    diagnostic.label(then_value.span, "{}", one).label(else_value.span, "{}", other);
    if (then_value.type.kind == Kind::Function && else_value.type.kind == Kind::Function)
      diagnostic.help("a function may choose when it is called: `x => if … then {}(x) else {}(x)`", one, other);
    scope.cx.report(std::move(diagnostic));
    return error_at(expr.span);
  }
  Context& cx = scope.cx;
  // A size that hangs on a bool.
  const std::optional<Polynomial> given = condition.type.value, one = then_value.type.value,
                                  other = else_value.type.value;
  if (type->kind == Kind::Int && given && one && other)
    type->value = *other + cx.program.atoms.multiply(*given, *one - *other);
  then_value = convert(std::move(then_value), *type, scope);
  else_value = convert(std::move(else_value), *type, scope);
  return {*type, expr.span,
          node::If{cx.keep(std::move(condition)), cx.keep(std::move(then_value)), cx.keep(std::move(else_value))}};
}

Expr check_as_type(const ast::Expr& expr, const ast::As& as, Scope& scope) {
  // `csv(…) as {…}`: the schema is an argument of the source.
  if (const auto* call = as.value->get<ast::Call>()) {
    const auto* name = call->callee->get<ast::NameRef>();
    const auto source = library::find(library::Space::Streams, name != nullptr ? name->name.text : "");
    if (library::info(source).wants_schema) {
      CallSite site{name->name.text, name->name.span, expr.span, {}, scope};
      site.given = given_of(*call);
      Given schema;
      schema.name = ast::Name{"as", as.type->span};
      schema.checked = Expr{check_type(*as.type, scope), as.type->span, node::NoneConst{}};
      site.given.push_back(std::move(schema));
      if (auto stream = check_stream_call(name->name.text, site)) return std::move(*stream);
    }
  }
  Expr value = check_expr(*as.value, scope);
  const Type type = check_type(*as.type, scope);
  if (value.type.is_error() || type.is_error()) return error_at(expr.span);
  if (!value.type.is_tensor() || !type.is_tensor() || value.type.element != type.element) {
    diagnostics::Diagnostic diagnostic =
        diag::wrong_element(expr.span, "`as` names the dims of a tensor, it does not make " + scope.cx.text(type) +
                                           " of " + scope.cx.text(value.type));
    if (type.is_tensor() && value.type.kind == Kind::List)
      diagnostic.help("a list becomes a tensor by `stack`: `stack({}) as {}`", scope.cx.source_text(value.span),
                      scope.cx.source_text(as.type->span));
    if (type.is_tensor() && value.type.is_tensor())
      diagnostic.help("`{}.to({})` converts", scope.cx.source_text(value.span), to_text(type.element));
    scope.cx.report(std::move(diagnostic));
    return error_at(expr.span);
  }
  if (value.type.dims.size() != type.dims.size()) {
    scope.cx.report(diag::wrong_rank(expr.span, scope.cx.text(value.type) + " cannot be " + scope.cx.text(type)));
    return error_at(expr.span);
  }
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const Dim &have = value.type.dims[i], &wanted = type.dims[i];
    const auto gap = have.group == 0 && wanted.group == 0 ? (have.size - wanted.size).constant() : std::nullopt;
    if (gap.value_or(0) == 0) continue;
    scope.cx.report(diag::dims_differ(expr.span, "the dims " + scope.cx.text(have.size) + " and " +
                                                     scope.cx.text(wanted.size) + " differ")
                        .label(value.span, "{}", scope.cx.text(value.type)));
    return error_at(expr.span);
  }
  Type known = type;
  node::CheckShape check;
  check.text = scope.cx.source_text(as.type->span);
  const auto add = [&](Expr dim) { check.dims.push_back(scope.cx.keep(std::move(dim))); };
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (scope.cx.program.atoms.mentions_unknown(type.dims[i].size)) {
      add(int_const(-1, expr.span));
      known.dims[i] = value.type.dims[i];
    } else if (auto size = expr_of(type.dims[i].size, scope, expr.span)) {
      add(std::move(*size));
    } else {
      add(int_const(-1, expr.span));
    }
  }
  check.tensor = scope.cx.keep(std::move(value));
  Obligation obligation;
  obligation.text = scope.cx.source_text(expr.span);
  obligation.fate = Fate::FirstBatch;
  obligation.why = "`as` is checked where it stands";
  obligation.span = expr.span;
  scope.cx.program.obligations.push_back(std::move(obligation));
  return {std::move(known), expr.span, std::move(check)};
}

Expr check_unary(const ast::Expr& expr, const ast::Unary& unary, Scope& scope) {
  Expr operand = check_expr(*unary.operand, scope);
  if (operand.type.is_error()) return error_at(expr.span);
  Context& cx = scope.cx;
  if (unary.op == ast::UnaryOp::Not) {
    if (operand.type.kind == Kind::Bool)
      return {Type::of(Kind::Bool), expr.span, node::Not{cx.keep(std::move(operand))}};
    if (operand.type.is_tensor() && operand.type.element == Element::Bool) {
      const Type type = operand.type;
      return op_expr(library::Id::LogicalNot, type, expr.span, {cx.keep(std::move(operand))});
    }
    cx.report(diag::wrong_type(expr.span, "`not` takes a bool, not " + cx.text(operand.type)));
    return error_at(expr.span);
  }
  if (auto* number = operand.get<node::FloatConst>()) {
    number->value = -number->value;
    operand.span = expr.span;
    return operand;
  }
  if (operand.type.kind == Kind::Int) {
    Type type = Type::host_int();
    if (operand.type.value) type.value = Polynomial(0) - *operand.type.value;
    if (operand.is<node::IntConst>() && type.value->constant()) return int_const(*type.value->constant(), expr.span);
    return host_op(host::Op::Neg, {cx.keep(std::move(operand))}, type, expr.span);
  }
  if (operand.type.kind == Kind::Float)
    return host_op(host::Op::Neg, {cx.keep(std::move(operand))}, Type::of(Kind::Float), expr.span);
  if (operand.type.is_tensor() && operand.type.element != Element::Bool) {
    const Type type = operand.type;
    return op_expr(library::Id::Neg, type, expr.span, {cx.keep(std::move(operand))});
  }
  if (operand.is<node::Quantity>() || operand.type.kind == Kind::Period || operand.type.kind == Kind::Duration)
    cx.report(diag::wrong_type(expr.span, "what is counted in steps, epochs or time is 0 at least"));
  else
    cx.report(diag::wrong_type(expr.span, "`-` takes a number, not " + cx.text(operand.type)));
  return error_at(expr.span);
}

Expr check_form(const ast::Expr& expr, Scope& scope);

}  // namespace

Expr check_function(const ast::Expr& expr, Scope& scope) {
  if (const auto* list = expr.get<ast::List>()) return check_list(expr, *list, scope, true);
  return may_be_partial(expr, scope) ? partial_value(expr, scope) : check_expr(expr, scope);
}

Expr check_expr(const ast::Expr& expr, Scope& scope) {
  Expr value = check_form(expr, scope);
  return report_unfit_size(value.type, expr.span, scope.cx) ? error_at(expr.span) : std::move(value);
}

namespace {

Expr check_form(const ast::Expr& expr, Scope& scope) {
  const Span span = expr.span;
  if (const auto* e = expr.get<ast::ErrorExpr>()) {
    for (const ast::Name& name : e->names) scope.declare(name.text, Type::error());
    return error_at(span);
  }
  if (const auto* e = expr.get<ast::IntLiteral>()) return int_const(e->value, span);
  if (const auto* e = expr.get<ast::FloatLiteral>()) return {Type::of(Kind::Float), span, node::FloatConst{e->value}};
  if (const auto* e = expr.get<ast::BoolLiteral>()) return {Type::of(Kind::Bool), span, node::BoolConst{e->value}};
  if (expr.get<ast::NoneLiteral>() != nullptr) return none_const(span);
  if (const auto* e = expr.get<ast::StrLiteral>()) return check_string(expr, *e, scope);
  if (const auto* e = expr.get<ast::Quantity>()) return check_quantity(expr, *e, scope);
  if (const auto* e = expr.get<ast::NameRef>()) return check_name(expr, e->name, scope);
  if (const auto* e = expr.get<ast::Unary>()) return check_unary(expr, *e, scope);
  if (const auto* e = expr.get<ast::Binary>()) return check_binary(expr, *e, scope);
  if (const auto* e = expr.get<ast::Pipe>()) return check_pipe(expr, *e, scope);
  if (const auto* e = expr.get<ast::Call>()) return check_call(expr, *e, scope);
  if (const auto* e = expr.get<ast::Index>()) return check_index(expr, *e, scope);
  if (const auto* e = expr.get<ast::Field>()) return check_field(expr, *e, scope);
  if (const auto* e = expr.get<ast::List>()) return check_list(expr, *e, scope);
  if (const auto* e = expr.get<ast::Comprehension>()) return check_comprehension(expr, *e, scope);
  if (const auto* e = expr.get<ast::Paren>()) return check_expr(*e->inner, scope);
  if (const auto* e = expr.get<ast::IfExpr>()) return check_if(expr, *e, scope);
  if (const auto* e = expr.get<ast::As>()) return check_as_type(expr, *e, scope);
  if (const auto* e = expr.get<ast::Scan>()) return check_scan(expr, *e, scope);
  if (expr.get<ast::Lambda>() != nullptr) return lambda_value(expr, scope);
  if (const auto* e = expr.get<ast::Tuple>()) {
    Type type = Type::of(Kind::Tuple);
    std::vector<Expr> elements;
    for (const ast::Expr& element : e->elements) {
      elements.push_back(check_expr(element, scope));
      if (elements.back().type.is_error()) return error_at(span);
      type.fields.push_back({"", elements.back().type});
    }
    return {std::move(type), span, node::Tuple{scope.cx.keep(std::move(elements))}};
  }
  if (const auto* e = expr.get<ast::Record>()) {
    Type type = Type::of(Kind::Record);
    std::vector<Expr> values;
    bool has_error = false;
    check_names(scope.cx, e->fields);
    for (const ast::RecordField& field : e->fields) {
      values.push_back(check_expr(*field.value, scope));
      has_error = has_error || values.back().type.is_error();
      type.fields.push_back({field.name.text, values.back().type});
    }
    if (has_error) return error_at(span);
    return {std::move(type), span, node::Record{scope.cx.keep(std::move(values))}};
  }
  return error_at(span);
}

/// Lists, tuples and records of closed kinds, at any depth.
bool has_own_words(const Type& type) {
  if (type.kind != Kind::List && type.kind != Kind::Tuple && type.kind != Kind::Record) return false;
  return std::any_of(type.fields.begin(), type.fields.end(), [](const TypeField& field) {
    return field.type.kind == Kind::Schedule || field.type.kind == Kind::OneOf || field.type.kind == Kind::Series ||
           has_own_words(field.type);
  });
}

/// The fields of a record that is written, each read as what `wanted` has under its name.
Expr check_fields(const ast::Record& record, Span span, const Type& wanted, Scope& scope, const char* what) {
  Type type = Type::of(Kind::Record);
  std::vector<Expr> values;
  bool has_error = false;
  check_names(scope.cx, record.fields);
  for (const ast::RecordField& field : record.fields) {
    const TypeField* found = wanted.find(field.name.text, values.size());
    const std::string label = "the field `" + field.name.text + "`";
    values.push_back(found != nullptr ? check_as(*field.value, found->type, scope, label.c_str())
                                      : check_expr(*field.value, scope));
    has_error = has_error || values.back().type.is_error();
    type.fields.push_back({field.name.text, values.back().type});
  }
  if (has_error) return error_at(span);
  return convert({std::move(type), span, node::Record{scope.cx.keep(std::move(values))}}, wanted, scope, what);
}

/// What a tuple wants behind its first part: `, 4 steps`.
std::string rest_of_tuple(const Type& wanted) {
  std::string text;
  for (size_t i = 1; i < wanted.fields.size(); ++i)
    text += wanted.fields[i].type.kind == Kind::Period ? ", 100 steps" : ", VALUE";
  return text;
}

/// Elements are read as what the whole is asked for: `[(linear_warmup(…), 200 steps), …]`. Nothing
/// if `expr` is not written as such a list, tuple or record.
std::optional<Expr> check_parts(const ast::Expr& expr, const Type& wanted, Scope& scope, const char* what) {
  const auto* list = wanted.kind == Kind::List ? expr.get<ast::List>() : nullptr;
  const auto* tuple = wanted.kind == Kind::Tuple ? expr.get<ast::Tuple>() : nullptr;
  const auto* record = wanted.kind == Kind::Record ? expr.get<ast::Record>() : nullptr;
  if (record != nullptr) return check_fields(*record, expr.span, wanted, scope, what);
  if (wanted.kind == Kind::Tuple && tuple == nullptr && expr.get<ast::Call>() != nullptr) {
    scope.cx.report(
        diag::wrong_argument(expr.span, std::string(what) + " must be " + scope.cx.text(wanted))
            .help("the parts stand in brackets: `({}{})`", scope.cx.source_text(expr.span), rest_of_tuple(wanted)));
    return error_at(expr.span);
  }
  if (list == nullptr && tuple == nullptr) return std::nullopt;
  if (list != nullptr && list->elements.empty()) return std::nullopt;
  const std::vector<ast::Expr>& elements = list != nullptr ? list->elements : tuple->elements;
  if (tuple != nullptr && elements.size() != wanted.fields.size()) {
    scope.cx.report(diag::wrong_argument(expr.span, std::string(what) + " must be " + scope.cx.text(wanted)));
    return error_at(expr.span);
  }
  Type type = Type::of(wanted.kind);
  std::vector<Expr> parts;
  bool has_error = false;
  std::set<std::string> told;  // What is wrong with one element of a list is wrong with others like it.
  for (size_t i = 0; i < elements.size(); ++i) {
    const Type& part = wanted.fields[list != nullptr ? 0 : i].type;
    diagnostics::Sink found;
    {
      const Aside aside(scope.cx, found);
      parts.push_back(check_as(elements[i], part, scope, what));
    }
    for (const diagnostics::Diagnostic& one : found.reported()) {
      if (list == nullptr || told.insert(one.message).second) scope.cx.report(one);
    }
    has_error = has_error || parts.back().type.is_error();
    type.fields.push_back({"", parts.back().type});
  }
  if (has_error) return error_at(expr.span);
  ExprIds ids = scope.cx.keep(std::move(parts));
  if (list == nullptr) return Expr{std::move(type), expr.span, node::Tuple{std::move(ids)}};
  type.value = Polynomial(int64_t(elements.size()));
  return Expr{std::move(type), expr.span, node::List{std::move(ids)}};
}

}  // namespace

bool is_literal(const ast::Expr& expr) {
  if (const auto* unary = expr.get<ast::Unary>()) return is_literal(*unary->operand);
  return expr.get<ast::IntLiteral>() != nullptr || expr.get<ast::FloatLiteral>() != nullptr ||
         expr.get<ast::BoolLiteral>() != nullptr || expr.get<ast::NoneLiteral>() != nullptr ||
         expr.get<ast::StrLiteral>() != nullptr;
}

/// Several schedules where one is wanted, as other libraries take them.
Expr report_schedules(const ast::List& list, Span span, Scope& scope, const char* what) {
  std::string parts;
  for (const ast::Expr& one : list.elements)
    parts += (parts.empty() ? "(" : ", (") + scope.cx.source_text(one.span) + ", PERIOD)";
  diagnostics::Diagnostic diagnostic = diag::wrong_argument(span, std::string(what) + " must be schedule, not a list");
  if (list.elements.size() == 1) {
    const std::string only = scope.cx.source_text(list.elements[0].span);
    diagnostic.help("without brackets: `{}`", only).fix(span, only);
  } else if (!list.elements.empty()) {
    diagnostic.help("one after the other they are `sequential([{}])`, each for its period", parts);
  }
  if (list.elements.size() == 2) {
    diagnostic.help("both at once, their factors multiplied, are `chain({}, {})`",
                    scope.cx.source_text(list.elements[0].span), scope.cx.source_text(list.elements[1].span));
  }
  scope.cx.report(std::move(diagnostic));
  return error_at(span);
}

Expr check_as(const ast::Expr& expr, const Type& wanted, Scope& scope, const char* what) {
  const Type& inner = wanted.kind == Kind::Option && !wanted.fields.empty() ? wanted.fields[0].type : wanted;
  // Settings of a closed kind read their own words first.
  if (inner.kind == Kind::OneOf) {
    const bool has_none = std::find(inner.choices.begin(), inner.choices.end(), "none") != inner.choices.end();
    if (has_none && expr.get<ast::NoneLiteral>() != nullptr) return symbol_const("none", inner, expr.span);
    if (const auto* name = expr.get<ast::NameRef>()) {
      for (const std::string& choice : inner.choices) {
        if (choice == name->name.text) return symbol_const(choice, inner, expr.span);
      }
      if (!scope.find_local(name->name.text)) {
        std::string choices;
        for (const std::string& choice : inner.choices) choices += (choices.empty() ? "`" : ", `") + choice + "`";
        const Symbol* symbol = scope.cx.graph.find(scope.module, name->name.text);
        const bool is_value =
            symbol != nullptr && (symbol->kind == SymbolKind::Hparam || symbol->kind == SymbolKind::Const);
        bool is_param = scope.owner != nullptr && scope.owner->members.contains(name->name.text);
        for (size_t i = 0; scope.owner != nullptr && i < scope.owner->params.size(); ++i) {
          is_param = is_param || scope.owner->params[i].name == name->name.text;
        }
        if (!is_value && !is_param) {
          diagnostics::Diagnostic diagnostic =
              diag::wrong_argument(expr.span, std::string(what) + " must be one of " + choices);
          if (const auto near = near_choice(name->name.text, inner.choices))
            add_near(diagnostic, name->name.text, expr.span, *near);
          else
            did_you_mean(diagnostic, name->name.text, expr.span, inner.choices);
          scope.cx.report(std::move(diagnostic));
          return error_at(expr.span);
        }
      }
    }
  }
  // The function `all` gives no int.
  if (const auto* word = expr.get<ast::NameRef>();
      inner.name == kIntOrAll && word != nullptr && word->name.text == "all")
    return symbol_const("all", {.kind = Kind::OneOf, .choices = {"all"}}, expr.span);
  if (has_own_words(inner)) {
    if (auto parts = check_parts(expr, inner, scope, what)) return std::move(*parts);
  }
  if (inner.kind == Kind::Series && expr.get<ast::NoneLiteral>() == nullptr) return check_series(expr, inner, scope);
  if (inner.kind == Kind::Schedule) {
    if (const auto* list = expr.get<ast::List>()) return report_schedules(*list, expr.span, scope, what);
    if (auto own = check_own_schedule(expr, scope)) return std::move(*own);
    const auto* call = expr.get<ast::Call>();
    const auto* name = call != nullptr ? call->callee->get<ast::NameRef>() : expr.get<ast::NameRef>();
    // A word alone is a call that takes the defaults.
    if (name != nullptr && (call != nullptr || scope.cx.graph.schedules.contains(name->name.text) ||
                            !is_in_scope(name->name.text, scope))) {
      const auto symbol = scope.cx.graph.schedules.find(name->name.text);
      if (symbol == scope.cx.graph.schedules.end()) {
        const std::vector<std::string> known = resolve::LibraryIndex::get().names("schedules/");
        diagnostics::Diagnostic diagnostic = diag::unknown_callback(name->name.span, "schedule", name->name.text);
        if (!did_you_mean(diagnostic, name->name.text, name->name.span, known)) note_there_are(diagnostic, known);
        if (call != nullptr) rename_arguments(diagnostic, given_of(*call), scope);
        scope.cx.report(std::move(diagnostic));
        return error_at(expr.span);
      }
      CallSite site{name->name.text, name->name.span, expr.span, {}, scope};
      if (call != nullptr) site.given = given_of(*call);
      return call_op(fn_of(scope.cx, symbol->second), site);
    }
  }
  if (const auto* name = expr.get<ast::NameRef>())
    return convert(check_name(expr, name->name, scope, {.wanted = &inner}), wanted, scope, what);
  return convert(check_expr(expr, scope), wanted, scope, what);
}

}  // namespace ltr::check
