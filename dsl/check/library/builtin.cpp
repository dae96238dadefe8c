#include <cmath>

#include "dsl/check/expressions/operands.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/rules.h"
#include "dsl/check/scope/places.h"
#include "dsl/host/math.h"
#include "runtime/tables/run_names.h"

namespace ltr::check {

namespace {

/// The name of argument `at` in a form as people write it: `tolerance` of `close(a, b, tolerance)`.
std::string_view name_in(std::string_view form, size_t at) {
  size_t begin = form.find('(') + 1;
  while (at-- > 0) begin = form.find(", ", begin) + 2;
  return form.substr(begin, form.find_first_of(" ,)", begin) - begin);
}

/// Whether there are so many arguments, each in its place: one with a name is called as in `form`.
bool takes(CallSite& site, size_t count, const char* form) {
  bool fits = site.given.size() == count;
  for (size_t i = 0; fits && i < count; ++i) fits = !site.given[i].name || site.given[i].name->text == name_in(form, i);
  if (fits) return true;
  site.scope.cx.report(diag::wrong_argument(site.name_span, "`" + site.name + "` is written `" + form + "`"));
  return false;
}

/// `value`, which is an op of ints; E0339 if its operands are known, and the run would stop.
Expr fitting(Expr value, Scope& scope) {
  Context& cx = scope.cx;
  const auto& args = value.get<node::Host>()->args;
  const bool is_known = std::all_of(args.begin(), args.end(), [&](ExprId arg) {
    return !reads_hparam(cx.at(arg), cx.program) && evaluate(cx.at(arg), cx.program).has_value();
  });
  if (!is_known || evaluate(value, cx.program)) return value;
  cx.report(diag::dim_overflow(value.span, "`" + cx.source_text(value.span) + "`", "does not fit into 64 bits"));
  return error_at(value.span);
}

/// `floor(a / b)` of two ints rounds their quotient: it is not an exact division. Nothing of any other argument.
std::optional<Expr> rounded_quotient(host::Op op, CallSite& site) {
  if (site.given.size() != 1 || site.given[0].value == nullptr) return std::nullopt;
  const ast::Expr* inner = site.given[0].value;
  while (const auto* paren = inner->get<ast::Paren>()) inner = &*paren->inner;
  const auto* quotient = inner->get<ast::Binary>();
  if (quotient == nullptr || quotient->op != ast::BinaryOp::Divide) return std::nullopt;
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  Expr left = check_expr(*quotient->left, scope);
  Expr right = check_expr(*quotient->right, scope);
  if (left.type.is_error() || right.type.is_error()) return error_at(site.span);
  if (left.type.kind != Kind::Int || right.type.kind != Kind::Int) return std::nullopt;
  if (divides_by_zero(right, inner->span, scope)) return error_at(site.span);
  if (op == host::Op::Round) {
    Expr real = host_op(host::Op::Div,
                        {cx.keep(convert(std::move(left), Type::of(Kind::Float), scope)),
                         cx.keep(convert(std::move(right), Type::of(Kind::Float), scope))},
                        Type::of(Kind::Float), site.span);
    return host_op(host::Op::Round, {cx.keep(std::move(real))}, Type::host_int(), site.span);
  }
  const bool is_floor = op == host::Op::Floor;
  Type type = Type::host_int();
  AtomTable& atoms = cx.program.atoms;
  if (left.type.value && right.type.value) {
    type.value =
        is_floor ? atoms.floor(*left.type.value, *right.type.value) : atoms.ceil(*left.type.value, *right.type.value);
  }
  const host::Op division = is_floor ? host::Op::FloorDiv : host::Op::CeilDiv;
  return fitting(host_op(division, {cx.keep(std::move(left)), cx.keep(std::move(right))}, type, site.span), scope);
}

/// Functions of host numbers that share their names with functions of tensors.
std::optional<Expr> host_function(const std::string& name, CallSite& site) {
  const std::optional<host::Op> op = host::find(name);
  if (!op || host::info(*op).form == host::Form::Sign) return std::nullopt;
  const bool is_real = host::info(*op).form == host::Form::Real;
  const bool is_rounding = host::info(*op).form == host::Form::Rounding;
  Scope& scope = site.scope;
  if (site.given.empty() || site.given[0].name) return std::nullopt;
  if (is_rounding) {
    if (auto rounded = rounded_quotient(*op, site)) return rounded;
  }
  if (!site.given[0].checked) site.given[0].checked = check_expr(*site.given[0].value, scope);
  const Type first = site.given[0].checked->type;
  if (first.is_error()) return error_at(site.span);
  if (!first.is_host_number()) return std::nullopt;
  // `pow(2.0, x)` of a tensor is the tensor's function.
  if (*op == host::Op::Pow && site.given.size() == 2 && !site.given[1].name) {
    if (!site.given[1].checked) site.given[1].checked = check_given(site.given[1], scope);
    const Type& second = site.given[1].checked->type;
    if (second.is_tensor() || second.kind == Kind::List) return std::nullopt;
  }
  std::vector<Expr> args;
  for (const Given& given : site.given) {
    args.push_back(check_given(given, scope));
    if (args.back().type.is_error()) return error_at(site.span);
    if (!args.back().type.is_host_number()) {
      scope.cx.report(diag::wrong_argument(args.back().span, "`" + name + "` of host numbers takes host numbers only"));
      return error_at(site.span);
    }
  }
  if (is_real) {
    if (!takes(site, *op == host::Op::Pow ? 2 : 1, *op == host::Op::Pow ? "pow(x, y)" : "f(x)"))
      return error_at(site.span);
    for (Expr& arg : args) arg = convert(std::move(arg), Type::of(Kind::Float), scope);
    return host_op(*op, scope.cx.keep(std::move(args)), Type::of(Kind::Float), site.span);
  }
  if (is_rounding) {
    if (!takes(site, 1, "f(x)")) return error_at(site.span);
    if (args[0].type.kind == Kind::Int) return args[0];
    const auto known = reads_hparam(args[0], scope.cx.program) ? std::nullopt : evaluate(args[0], scope.cx.program);
    if (known && known->kind == HostValue::Kind::Float && !host::fold(*op, known->real)) {
      scope.cx.report(
          diag::out_of_range(site.span, "`" + scope.cx.source_text(site.span) + "` does not fit into 64 bits"));
      return error_at(site.span);
    }
    return host_op(*op, scope.cx.keep(std::move(args)), Type::host_int(), site.span);
  }
  if (*op == host::Op::Abs) {
    if (!takes(site, 1, "abs(x)")) return error_at(site.span);
    const Type type = Type::of(args[0].type.kind);
    return fitting(host_op(*op, scope.cx.keep(std::move(args)), type, site.span), scope);
  }
  if (!takes(site, 2, *op == host::Op::Min ? "min(a, b)" : "max(a, b)")) return error_at(site.span);
  if (args[0].type.kind == Kind::Int && args[1].type.kind == Kind::Int) {
    Type type = Type::host_int();
    AtomTable& atoms = scope.cx.program.atoms;
    if (args[0].type.value && args[1].type.value) {
      type.value = *op == host::Op::Min ? atoms.minimum(*args[0].type.value, *args[1].type.value)
                                        : atoms.maximum(*args[0].type.value, *args[1].type.value);
    }
    return host_op(*op, scope.cx.keep(std::move(args)), type, site.span);
  }
  for (Expr& arg : args) arg = convert(std::move(arg), Type::of(Kind::Float), scope);
  return host_op(*op, scope.cx.keep(std::move(args)), Type::of(Kind::Float), site.span);
}

std::optional<Element> element_named(const Given& given) {
  const auto* name = given.value != nullptr ? given.value->get<ast::NameRef>() : nullptr;
  if (name == nullptr || name->name.text == "any") return std::nullopt;
  return element_of(name->name.text);
}

Expr check_to(CallSite& site) {
  if (!takes(site, 2, "x.to(float)")) return error_at(site.span);
  Expr value = check_given(site.given[0], site.scope);
  const auto element = element_named(site.given[1]);
  if (value.type.is_error()) return value;
  if (!element) {
    std::string list;
    for (const std::string& name : element_names()) list += (list.empty() ? "" : ", ") + name;
    diagnostics::Diagnostic diagnostic =
        diag::wrong_argument(site.given[1].span, "`to` takes an element type: " + list);
    std::string word = site.scope.cx.source_text(site.given[1].span);
    std::erase(word, '"');
    word.erase(0, word.rfind('.') + 1);
    if (const auto ours = diagnostics::suggest(word, element_names()))
      add_near(diagnostic, word, site.given[1].span, *ours);
    else if (word.starts_with("cuda") || word.starts_with("cpu") || word.find("device") != std::string::npos)
      diagnostic.help(
          "leave it out: tensors are where they are needed, and `devices` of the topology says where that is");
    site.scope.cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  if (value.type.is_host_number()) {
    Type type = Type::tensor(*element, {});
    return {std::move(type), site.span, node::Convert{site.scope.cx.keep(std::move(value))}};
  }
  if (!value.type.is_tensor()) {
    site.scope.cx.report(
        diag::wrong_argument(value.span, "`to` converts a tensor, not " + site.scope.cx.text(value.type)));
    return error_at(site.span);
  }
  report_whole_shares(*element, site.span, value, site.scope);
  Type type = value.type;
  type.element = *element;
  return op_expr(library::Id::To, std::move(type), site.span, {site.scope.cx.keep(std::move(value))});
}

Expr check_item(CallSite& site) {
  if (!takes(site, 1, "x.item()")) return error_at(site.span);
  Expr value = check_given(site.given[0], site.scope);
  if (value.type.is_error()) return value;
  if (!value.type.is_tensor()) {
    site.scope.cx.report(
        diag::wrong_argument(value.span, "`.item()` reads a tensor, not " + site.scope.cx.text(value.type)));
    return error_at(site.span);
  }
  if (site.scope.in_train) {
    site.scope.cx.report(
        diag::item_in_train_step(site.span).help("log the tensor itself, and branch with `where(…)` on the device"));
    return error_at(site.span);
  }
  const Element element = value.type.element;
  if (has_several_elements(value.type)) {
    site.scope.cx.report(diag::wrong_argument(value.span, "`.item()` reads a tensor of one element, not " +
                                                              site.scope.cx.text(value.type))
                             .help("{}", reductions_of(value.type, site.scope.cx.source_text(value.span))));
    return error_at(site.span);
  }
  if (!value.type.dims.empty()) {
    Requirement is_one;
    is_one.left = count_of(value.type.dims, site.scope.cx);
    is_one.right = 1;
    is_one.text = site.scope.cx.text(is_one.left) + " == 1";
    is_one.origin = value.span;
    is_one.is_where = true;
    if (!require(std::move(is_one), value.span, site.scope)) return error_at(site.span);
  }
  const Kind kind = is_floating(element) ? Kind::Float : element == Element::Bool ? Kind::Bool : Kind::Int;
  return op_expr(library::Id::Item, Type::of(kind), site.span, {site.scope.cx.keep(std::move(value))});
}

/// A text as it is written, with `{}` for what is filled in; nothing for one that comes from elsewhere.
std::optional<std::string> pattern_of(const ExprView& text, const Context& cx) {
  if (const auto* constant = text.get<node::StrConst>()) return constant->text;
  const auto* joined = text.get<node::Interpolate>();
  if (joined == nullptr) return std::nullopt;
  std::string pattern;
  for (const node::TextPart& part : joined->parts) {
    const auto* constant = cx.at(part.value).get<node::StrConst>();
    pattern += constant != nullptr ? constant->text : "{}";
  }
  return pattern;
}

std::optional<Expr> hook_word(const std::string& name, CallSite& site) {
  Scope& scope = site.scope;
  const PlaceFunction* function =
      scope.place == Place::Hook ? find_place_function(PlaceFunction::Of::Hooks, name) : nullptr;
  if (function == nullptr) return std::nullopt;
  if (!takes(site, 1, function->form)) return error_at(site.span);
  const library::Id op = library::find(library::Space::Values, name);
  if (op == library::Id::None) {  // `metric`, which is no request of the trainer.
    const Expr series = check_given_as(site.given[0], Type::of(Kind::Series), scope);
    if (series.type.is_error()) return error_at(site.span);
    const auto* written = series.get<node::Series>();
    if (written != nullptr) return Expr{Type::of(Kind::Float), site.span, node::MetricSeries{written->name}};
    report_no_series(series.span, scope.cx);
    return error_at(site.span);
  }
  Expr text = check_given_as(site.given[0], Type::of(Kind::Str), scope);
  if (text.type.is_error()) return error_at(site.span);
  const auto pattern = op == library::Id::Save ? pattern_of(text, scope.cx) : std::nullopt;
  if (const auto wrong = pattern ? wrong_checkpoint_name(*pattern) : std::nullopt) {
    scope.cx.report(diag::wrong_argument(text.span, *wrong).help("a name such as `save(\"epoch-{epoch}\")`"));
    return error_at(site.span);
  }
  return op_expr(op, Type::of(Kind::Void), site.span, {scope.cx.keep(std::move(text))});
}

/// `gradcheck(f, x)`: `f` as a function of one tensor.
Expr check_gradcheck(const char* form, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  if (!takes(site, 2, form)) return error_at(site.span);
  Expr f = site.given[0].checked ? *site.given[0].checked : check_function(*site.given[0].value, scope);
  Expr x = tensor_given(site.given[1], site);
  if (f.type.is_error() || x.type.is_error()) return error_at(site.span);
  const auto is_real = [](const Type& type) { return type.is_tensor() && is_floating(type.element); };
  if (!is_real(x.type)) {
    cx.report(
        diag::wrong_argument(x.span, "`gradcheck` differentiates by a tensor of floats, not by " + cx.text(x.type)));
    return error_at(site.span);
  }
  const Span span = f.span;
  node::Function function;
  function.local = scope.hidden_local(f.type);
  const LocalId param = scope.hidden_local(x.type);
  function.params.push_back(param);
  Expr callee = f.is<node::FnValue>() ? f : local_expr(function.local, scope, span);
  Expr body = apply(std::move(callee), {{std::nullopt, nullptr, local_expr(param, scope, span), span}}, span, scope);
  if (body.type.is_error()) return error_at(site.span);
  if (!is_real(body.type)) {
    cx.report(diag::wrong_argument(
        span, "`gradcheck` takes a function that gives a tensor of floats, not " + cx.text(body.type)));
    return error_at(site.span);
  }
  Type type = Type::of(Kind::Function);
  type.fields = {{"", x.type}, {"", body.type}};
  function.value = cx.keep(std::move(f));
  function.result = cx.keep(std::move(body));
  const ExprId kept = cx.keep({std::move(type), span, std::move(function)});
  return op_expr(library::Id::Gradcheck, Type::of(Kind::Bool), site.span, {kept, cx.keep(std::move(x))});
}

Expr check_overfit(const char* form, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  const bool has_steps = site.given.size() == 3;
  if (!takes(site, has_steps ? 3 : 2, form)) return error_at(site.span);
  Expr model = check_given(site.given[0], scope);
  Expr data = check_given(site.given[1], scope);
  Expr steps =
      has_steps ? check_given_as(site.given[2], Type::of(Kind::Int), scope, "`steps`") : int_const(60, site.span);
  if (model.type.is_error() || data.type.is_error() || steps.type.is_error()) return error_at(site.span);
  if (model.type.kind != Kind::Model || data.type.kind != Kind::Data) {
    cx.report(diag::wrong_argument(
        site.span, "`overfit` takes a model and data, not " + cx.text(model.type) + " and " + cx.text(data.type)));
    return error_at(site.span);
  }
  Type result = Type::of(Kind::Record);
  result.fields.push_back({"loss", Type::of(Kind::Float)});
  return op_expr(library::Id::Overfit, std::move(result), site.span,
                 {cx.keep(std::move(model)), cx.keep(std::move(data)), cx.keep(std::move(steps))});
}

/// `equal(a, b)`, or `close(a, b, tolerance)`.
Expr check_comparison(library::Id op, const PlaceFunction& function, CallSite& site) {
  Scope& scope = site.scope;
  const bool is_close = op == library::Id::Close;
  if (!takes(site, is_close ? 3 : 2, function.form)) return error_at(site.span);
  Expr a = check_given(site.given[0], scope);
  Expr b = check_given(site.given[1], scope);
  if (a.type.is_error() || b.type.is_error()) return error_at(site.span);
  if (a.type.is_tensor()) b = convert(std::move(b), a.type, scope);
  if (b.type.is_tensor()) a = convert(std::move(a), b.type, scope);
  if (a.type.is_error() || b.type.is_error()) return error_at(site.span);
  Binding binding;
  const std::string what = "the second of what `" + std::string(function.name) + "` compares";
  if (a.type.is_tensor() && !match(a.type, b.type, binding, {}, b.span, scope, what, false)) return error_at(site.span);
  std::vector<Expr> args = {std::move(a), std::move(b)};
  if (is_close) args.push_back(check_given_as(site.given[2], Type::of(Kind::Float), scope, "the tolerance"));
  if (args.back().type.is_error()) return error_at(site.span);
  return op_expr(op, Type::of(Kind::Bool), site.span, scope.cx.keep(std::move(args)));
}

std::optional<Expr> test_word(const std::string& name, CallSite& site) {
  const PlaceFunction* function =
      site.scope.place == Place::Test ? find_place_function(PlaceFunction::Of::Tests, name) : nullptr;
  if (function == nullptr) return std::nullopt;
  const library::Id op = library::find(library::Space::Values, name);
  if (op == library::Id::Overfit) return check_overfit(function->form, site);
  if (op == library::Id::Gradcheck) return check_gradcheck(function->form, site);
  return check_comparison(op, *function, site);
}

std::optional<Expr> weights_word(const std::string& name, CallSite& site) {
  const library::Id function = library::find(library::Space::Weights, name);
  if (function == library::Id::None) return std::nullopt;
  if (site.given.empty() || site.given[0].name) return std::nullopt;
  if (!site.given[0].checked) site.given[0].checked = check_expr(*site.given[0].value, site.scope);
  const Kind kind = site.given[0].checked->type.kind;
  if (kind == Kind::Error) return error_at(site.span);
  if (kind != Kind::Weights && kind != Kind::Gradients) return std::nullopt;
  if (!takes(site, 1, "f(net.weights)")) return error_at(site.span);
  const Type type = function == library::Id::CountWeights   ? Type::host_int()
                    : function == library::Id::CloneWeights ? Type::of(Kind::Weights)
                                                            : Type::tensor(Element::Float, {});
  return op_expr(function, type, site.span, {site.scope.cx.keep(*site.given[0].checked)});
}

/// `ema_update(target, source, decay)`: target = decay * target + (1 - decay) * source.
Expr check_ema_update(CallSite& site) {
  Scope& scope = site.scope;
  if (!takes(site, 3, "ema_update(target, source, decay)")) return error_at(site.span);
  std::vector<Expr> args;
  for (size_t i = 0; i < 2; ++i) {
    Expr value = check_given(site.given[i], scope);
    const Span span = value.span;
    if (value.type.kind == Kind::Block || value.type.kind == Kind::List)
      value = weights_of(std::move(value), span, scope.cx);
    if (!value.type.is_error() && value.type.kind != Kind::Weights) {
      scope.cx.report(
          diag::wrong_argument(span, "`ema_update` takes blocks or their weights, not " + scope.cx.text(value.type)));
      return error_at(site.span);
    }
    args.push_back(std::move(value));
  }
  args.push_back(check_given_as(site.given[2], Type::of(Kind::Float), scope, "the decay"));
  for (const Expr& arg : args) {
    if (arg.type.is_error()) return error_at(site.span);
  }
  if (const auto decay = evaluate(args[2], scope.cx.program); decay && !(decay->real >= 0 && decay->real < 1)) {
    diagnostics::Diagnostic diagnostic =
        diag::out_of_range(args[2].span, "the decay of an average is 0 or more, and below 1");
    if (decay->real == 1) diagnostic.note("with 1 it stays what it is");
    scope.cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  if (const auto decay = evaluate(args[2], scope.cx.program))
    check_kept(decay->real, args[2].span, "the target", "the source", scope.cx);
  if (scope.place != Place::Step && scope.place != Place::Hook && scope.place != Place::Test) {
    scope.cx.report(diag::wrong_place(site.span, "`ema_update` stands in steps and hooks"));
    return error_at(site.span);
  }
  return op_expr(library::Id::EmaUpdate, Type::of(Kind::Void), site.span, scope.cx.keep(std::move(args)));
}

}  // namespace

// A decay of 0 copies; below a half it is mostly what is left of it.
void check_kept(double decay, Span span, const char* target, const char* source, Context& cx, Span other,
                const char* label) {
  if (decay <= 0 || decay >= 0.5) return;
  char kept[32], meant[32];
  std::snprintf(kept, sizeof kept, "%.3g %%", 100 * decay);
  std::snprintf(meant, sizeof meant, "%.6g", 1 - decay);
  diagnostics::Diagnostic diagnostic = diag::short_average(span, kept);
  if (!other.is_empty() && other != span) diagnostic.label(other, "{}", label);
  cx.report(std::move(diagnostic.note("`decay` is what is kept of {}, and near to 1", target)
                          .help("where {} is what is taken of {}, it is `{}`", cx.source_text(span), source, meant)));
}

std::optional<Expr> check_builtin(const std::string& name, CallSite& site) {
  const library::Id op = library::find(library::Space::Values, name);
  if (op == library::Id::To) return check_to(site);
  if (op == library::Id::Item) return check_item(site);
  if (auto word = hook_word(name, site)) return word;
  if (auto word = test_word(name, site)) return word;
  if (auto word = weights_word(name, site)) return word;
  if (auto host = host_function(name, site)) return host;
  if (name == "frozen") return frozen_value(site);  // Which becomes no op.
  if (op == library::Id::EmaUpdate) return check_ema_update(site);
  if (op == library::Id::Env) return check_env(site);
  return std::nullopt;
}

}  // namespace ltr::check
