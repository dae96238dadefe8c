#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/declared_at.h"
#include "dsl/check/expressions/operands.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/expressions/remainders.h"
#include "dsl/check/library/library_call.h"
#include "dsl/host/math.h"

namespace ltr::check {

namespace {

struct Operator {
  host::Op host;     ///< of host values
  library::Id op;    ///< of tensors
  const char* verb;  ///< for messages: cannot add …
  bool is_comparison;
};

const Operator& info(ast::BinaryOp op) {
  static const std::map<ast::BinaryOp, Operator> kOperators = {
      {ast::BinaryOp::Equal, {host::Op::Equal, library::Id::Eq, "compare", true}},
      {ast::BinaryOp::NotEqual, {host::Op::NotEqual, library::Id::Ne, "compare", true}},
      {ast::BinaryOp::Less, {host::Op::Less, library::Id::Lt, "compare", true}},
      {ast::BinaryOp::LessEqual, {host::Op::LessEqual, library::Id::Le, "compare", true}},
      {ast::BinaryOp::Greater, {host::Op::Greater, library::Id::Gt, "compare", true}},
      {ast::BinaryOp::GreaterEqual, {host::Op::GreaterEqual, library::Id::Ge, "compare", true}},
      {ast::BinaryOp::Add, {host::Op::Add, library::Id::Add, "add", false}},
      {ast::BinaryOp::Subtract, {host::Op::Sub, library::Id::Sub, "subtract", false}},
      {ast::BinaryOp::Multiply, {host::Op::Mul, library::Id::Mul, "multiply", false}},
      {ast::BinaryOp::Divide, {host::Op::Div, library::Id::Div, "divide", false}},
      {ast::BinaryOp::Remainder, {host::Op::Mod, library::Id::Remainder, "take the remainder of", false}},
      {ast::BinaryOp::Power, {host::Op::Power, library::Id::Pow, "raise", false}},
      {ast::BinaryOp::And, {host::Op::And, library::Id::LogicalAnd, "combine", true}},
      {ast::BinaryOp::Or, {host::Op::Or, library::Id::LogicalOr, "combine", true}}};
  return kOperators.at(op);
}

bool is_comparison(ast::BinaryOp op) { return op >= ast::BinaryOp::Equal && op <= ast::BinaryOp::In; }

/// An operator where it is written.
struct Sign {
  ast::BinaryOp op;
  Span op_span;
};

Expr check_host_ints(const Sign& sign, Expr left, Expr right, Span span, Scope& scope) {
  AtomTable& atoms = scope.cx.program.atoms;
  const auto& a = left.type.value;
  const auto& b = right.type.value;
  const bool known = a && b;
  Type type = Type::host_int();
  const Operator& op = info(sign.op);
  switch (sign.op) {
    case ast::BinaryOp::Add:
      if (known) type.value = *a + *b;
      break;
    case ast::BinaryOp::Subtract:
      if (known) type.value = *a - *b;
      break;
    case ast::BinaryOp::Multiply:
      if (known) type.value = atoms.multiply(*a, *b);
      break;
    case ast::BinaryOp::Remainder:
      if (divides_by_zero(right, span, scope)) return error_at(span);
      if (known) type.value = atoms.remainder(*a, *b);
      break;
    case ast::BinaryOp::Power:
      if (b && b->constant() && *b->constant() < 0) {
        diagnostics::Diagnostic diagnostic = diag::wrong_type(span, "an int has no negative power");
        const std::string base = scope.cx.source_text(left.span), power = scope.cx.source_text(right.span);
        if (left.is<node::IntConst>())
          diagnostic.help("of a float it is one: `{}.0 ** {}`", base, power)
              .fix({left.span.source, left.span.end, left.span.end}, ".0");
        else
          diagnostic.help("of a float it is one: `(1.0 * {}) ** {}`", base, power);
        scope.cx.report(std::move(diagnostic));
        return error_at(span);
      }
      if (known && (!b->constant() || *b->constant() <= 16)) type.value = atoms.raise(*a, *b);
      break;
    case ast::BinaryOp::Divide:
      if (divides_by_zero(right, span, scope)) return error_at(span);
      if (known) {
        type.value = atoms.exact(*a, *b);
        if (!AtomTable::divide(*a, *b)) {
          Requirement requirement;
          requirement.kind = Requirement::Kind::Divisible;
          requirement.left = *a;
          requirement.right = *b;
          requirement.text = scope.cx.operand(*a) + " % " + scope.cx.operand(*b) + " == 0";
          requirement.origin = span;
          if (decide(requirement, scope.cx) == Truth::False) {
            scope.cx.report(diag::not_divisible(span, scope.cx.source_text(span), scope.cx.text(*a), scope.cx.text(*b))
                                .help("`floor(a / b)` rounds, and a fraction is written `1.0 * a / b`"));
            return error_at(span);
          }
          require(std::move(requirement), span, scope);
        }
      }
      break;
    default: break;
  }
  const auto* first = left.get<node::IntConst>();
  const auto* second = right.get<node::IntConst>();
  if (first != nullptr && second != nullptr) {
    const auto folded = host::fold(op.host, host::Number(first->value), host::Number(second->value));
    if (folded) return int_const(std::get<int64_t>(*folded), span);
    type.value = Polynomial::overflow();
  }
  const bool is_of_counter = sign.op == ast::BinaryOp::Divide && counts(left, scope.cx);
  Expr result = host_op(op.host, {scope.cx.keep(std::move(left)), scope.cx.keep(std::move(right))}, type, span);
  if (is_of_counter) report_quotient(result, scope);
  return result;
}

Expr check_host(const Sign& sign, Expr left, Expr right, Span span, Scope& scope) {
  const Operator& op = info(sign.op);
  const bool both_bool = left.type.kind == Kind::Bool && right.type.kind == Kind::Bool;
  const bool one_bool = left.type.kind == Kind::Bool || right.type.kind == Kind::Bool;
  if (one_bool && !(both_bool && op.is_comparison)) {
    scope.cx.report(diag::wrong_type(
        span, "cannot " + std::string(op.verb) + " " + scope.cx.text(left.type) + " and " + scope.cx.text(right.type)));
    return error_at(span);
  }
  if (op.is_comparison) {
    look_at_remainders(sign.op, left, right, span, scope);
    if (left.type.kind != right.type.kind) {
      left = convert(std::move(left), Type::of(Kind::Float), scope);
      right = convert(std::move(right), Type::of(Kind::Float), scope);
    }
    return host_op(op.host, {scope.cx.keep(std::move(left)), scope.cx.keep(std::move(right))}, Type::of(Kind::Bool),
                   span);
  }
  if (left.type.kind == Kind::Int && right.type.kind == Kind::Int) {
    return check_host_ints(sign, std::move(left), std::move(right), span, scope);
  }
  left = convert(std::move(left), Type::of(Kind::Float), scope);
  right = convert(std::move(right), Type::of(Kind::Float), scope);
  return host_op(op.host, {scope.cx.keep(std::move(left)), scope.cx.keep(std::move(right))}, Type::of(Kind::Float),
                 span);
}

/// Whether somebody may know of two sizes that they are the same, where the compiler does not: none is below 1, and none is
/// the other with something done to it and added, `floor((H - 1) / 2) + 1` of H.
bool may_be_equal(const Polynomial& left, const Polynomial& right, const Context& cx) {
  const auto is_made_of = [&](const Polynomial& size, const Polynomial& of) {
    const std::optional<AtomId> atom = of.single_atom();
    const std::vector<AtomId> parts = cx.program.atoms.deep_atoms(size);
    return atom && size.terms().size() > 1 && std::find(parts.begin(), parts.end(), *atom) != parts.end();
  };
  return left.constant().value_or(1) > 0 && right.constant().value_or(1) > 0 && !is_made_of(left, right) &&
         !is_made_of(right, left);
}

/// Whether it was said of this line that these two do not go together: what an axis lacks there is one mistake.
bool is_told_in_line(Span place, const Type& left, const Type& right, Context& cx) {
  if (cx.is_trying) return false;
  const std::string a = cx.text(left), b = cx.text(right);
  return !cx.told.dims.emplace(cx.line_of(place), std::min(a, b), std::max(a, b)).second;
}

void report_clash(const Sign& sign, const ExprView& left, const ExprView& right, Scope& scope) {
  Context& cx = scope.cx;
  const Operator& op = info(sign.op);
  const Type& a = left.type;
  const Type& b = right.type;
  if (is_told_in_line(sign.op_span, a, b, cx)) return;
  diagnostics::Diagnostic diagnostic = diag::symbolic_broadcast(sign.op_span, op.verb, cx.text(a), cx.text(b));
  diagnostic.label(left.span, "{}", cx.text(a)).label(right.span, "{}", cx.text(b));
  Type widened = a.dims.size() >= b.dims.size() ? a : b;
  const Type& other = a.dims.size() >= b.dims.size() ? b : a;
  for (size_t i = 0; i < other.dims.size(); ++i) {
    Dim& dim = widened.dims[widened.dims.size() - 1 - i];
    if (dim.size.is_one()) dim = other.dims[other.dims.size() - 1 - i];
  }
  if (op.is_comparison)
    diagnostic.note("broadcasting would silently compare each with each, {}",
                    cx.text(Type::tensor(Element::Bool, widened.dims)));
  else
    diagnostic.note("broadcasting would silently make {} and train on the wrong loss", cx.text(widened));
  const bool is_left_longer = a.dims.size() >= b.dims.size();
  add_shape_cure(diagnostic, is_left_longer ? left : right, is_left_longer ? right : left, cx);
  cx.report(std::move(diagnostic));
}

/// E0307 of two tensors whose elements are of two types.
void report_elements(const Sign& sign, const ExprView& left, const ExprView& right, Scope& scope) {
  Context& cx = scope.cx;
  const Operator& op = info(sign.op);
  diagnostics::Diagnostic diagnostic = diag::wrong_element(
      sign.op_span, "cannot " + std::string(op.verb) + " " + cx.text(left.type) + " and " + cx.text(right.type));
  diagnostic.label(left.span, "{}", cx.text(left.type)).label(right.span, "{}", cx.text(right.type));
  // `total += x`: what is kept has a type of its own.
  const bool is_update = !op.is_comparison && cx.source_text(sign.op_span).ends_with("=");
  if (is_update && is_floating(left.type.element) && is_floating(right.type.element)) {
    const std::string code = cx.source_text(right.span);
    diagnostic.help("convert the right side: `{}.to({})`", as_base(code), to_text(left.type.element));
  } else if (op.is_comparison &&
             (help_places(diagnostic, left, right.type, scope) || help_places(diagnostic, right, left.type, scope))) {
    // A conversion would compare what is not meant.
  } else {
    // What is computed goes on in the type of the policy, `float`.
    const Element meant = right.type.element == Element::Float ? Element::Float : left.type.element;
    diagnostic.help("convert one of them: `.to({})`", to_text(meant));
  }
  cx.report(std::move(diagnostic));
}

Expr check_tensors(const Sign& sign, Expr left, Expr right, Span span, Scope& scope) {
  Context& cx = scope.cx;
  const Operator& op = info(sign.op);
  // A list beside a tensor takes the tensor's element type.
  if (left.type.kind == Kind::List)
    left = convert(std::move(left), Type::tensor(right.type.element, {}), scope, "the list");
  if (right.type.kind == Kind::List)
    right = convert(std::move(right), Type::tensor(left.type.element, {}), scope, "the list");
  if (left.type.is_error() || right.type.is_error()) return error_at(span);
  const Type& tensor = left.type.is_tensor() ? left.type : right.type;
  Element element = tensor.element;
  std::vector<Dim> dims = tensor.dims;
  if (left.type.is_tensor() && right.type.is_tensor()) {
    if (left.type.element != right.type.element) {
      report_elements(sign, left, right, scope);
      return error_at(span);
    }
    const Broadcast shape = broadcast(left.type.dims, right.type.dims, cx);
    if (shape.is_symbolic_clash) {
      report_clash(sign, left, right, scope);
      return error_at(span);
    }
    bool is_equal = shape.dims.has_value();
    if (is_equal) {
      for (const auto& [a, b] : shape.equal) is_equal = is_equal && require_equal(a, b, sign.op_span, scope, true);
    }
    if (!is_equal) {
      if (is_told_in_line(sign.op_span, left.type, right.type, cx)) return error_at(span);
      diagnostics::Diagnostic diagnostic =
          diag::dims_differ(sign.op_span, "cannot " + std::string(op.verb) + " " + cx.text(left.type) + " and " +
                                              cx.text(right.type) + ": their dims differ");
      diagnostic.label(left.span, "{}", cx.text(left.type)).label(right.span, "{}", cx.text(right.type));
      label_cut(diagnostic, left.span, left.type, right.type, scope);
      label_cut(diagnostic, right.span, right.type, left.type, scope);
      // Whether sizes that hang on run time are the same, such as `2 * floor(H / 2)` and `H`, only run time knows.
      const bool may_agree = std::all_of(shape.equal.begin(), shape.equal.end(), [&](const auto& pair) {
        return may_be_equal(pair.first, pair.second, cx) &&
               decide({.left = pair.first, .right = pair.second}, cx) != Truth::False;
      });
      const bool is_left_longer = left.type.dims.size() >= right.type.dims.size();
      const bool is_cured =
          add_origin_cure(diagnostic, left, right, scope) ||
          add_unsqueeze_cure(diagnostic, is_left_longer ? left : right, is_left_longer ? right : left, scope);
      if (!is_cured && shape.dims && may_agree) add_same_cure(diagnostic, left, right, cx);
      cx.report(std::move(diagnostic));
      return error_at(span);
    }
    dims = *shape.dims;
    hold_unknown_dims(left, dims, scope);
    hold_unknown_dims(right, dims, scope);
  } else {
    const Type& host = left.type.is_tensor() ? right.type : left.type;
    if (!host.is_host_number()) {
      cx.report(diag::wrong_type(
          sign.op_span, "cannot " + std::string(op.verb) + " " + cx.text(left.type) + " and " + cx.text(right.type)));
      return error_at(span);
    }
    const bool divides = sign.op == ast::BinaryOp::Divide || sign.op == ast::BinaryOp::Remainder;
    if (divides && divides_by_zero(right, span, scope)) return error_at(span);
    if (host.kind == Kind::Float && !is_floating(element) && element != Element::Any) element = Element::Float;
  }
  if ((sign.op == ast::BinaryOp::And || sign.op == ast::BinaryOp::Or) && element != Element::Bool) {
    cx.report(diag::wrong_element(
        sign.op_span, "`" + std::string(host::info(op.host).name) + "` takes bool tensors, not " + cx.text(tensor)));
    return error_at(span);
  }
  if (!op.is_comparison && element == Element::Bool) {
    cx.report(diag::wrong_element(sign.op_span, "cannot " + std::string(op.verb) + " bool tensors")
                  .help("`.to(i64)` makes 0 and 1 of them"));
    return error_at(span);
  }
  if (sign.op == ast::BinaryOp::Divide && !is_floating(element) && element != Element::Any) {
    // True division; in `compute` in full precision.
    element = scope.place == Place::Compute ? Element::F64 : Element::Float;
    for (Expr* side : {&left, &right}) {
      if (!side->type.is_tensor()) continue;
      const Type wide = Type::tensor(element, side->type.dims);
      const Span place = side->span;
      *side = op_expr(library::Id::To, wide, place, {cx.keep(std::move(*side))});
    }
  }
  if (op.is_comparison) element = Element::Bool;
  if (!cx.is_trying) report_pixels(sign.op, sign.op_span, left, right, scope);
  return op_expr(op.op, Type::tensor(element, std::move(dims)), span,
                 {cx.keep(std::move(left)), cx.keep(std::move(right))});
}

/// A list of host values whose elements have one type.
std::optional<Type> uniform_list(const Type& list, Context& cx) {
  std::optional<Type> element;
  for (const TypeField& field : list.fields) {
    Type one = field.type;
    one.value.reset();
    element = element ? merge(*element, one, cx) : one;
    if (!element || holds_layers(*element) || element->kind == Kind::Block || element->kind == Kind::Function)
      return std::nullopt;
  }
  Type type = list;
  type.uniform = true;
  type.fields.clear();
  if (element) type.fields.push_back({"", *element});
  return type;
}

/// `left + right` of two lists; nothing if their elements have no type in common.
std::optional<Expr> join_lists(Expr& left, Expr& right, Span span, Scope& scope) {
  Context& cx = scope.cx;
  std::optional<Type> first = uniform_list(left.type, cx), second = uniform_list(right.type, cx);
  if (!first || !second) return std::nullopt;
  if (first->fields.empty()) first->fields = second->fields;
  if (second->fields.empty()) second->fields = first->fields;
  if (first->fields.empty()) return left;
  const auto element = merge(first->fields[0].type, second->fields[0].type, cx);
  if (!element) return std::nullopt;
  first->fields[0].type = second->fields[0].type = *element;
  Type type = *first;
  type.value.reset();
  if (first->value && second->value) type.value = *first->value + *second->value;
  left = convert(std::move(left), *first, scope, "the left side");
  right = convert(std::move(right), *second, scope, "the right side");
  if (left.type.is_error() || right.type.is_error()) return error_at(span);
  for (Expr* side : {&left, &right}) side->type = side == &left ? *first : *second;
  return op_expr(library::Id::JoinLists, std::move(type), span, {cx.keep(std::move(left)), cx.keep(std::move(right))});
}

/// `[Linear(4, 4)] * 3` of Python.
void help_repeated(diagnostics::Diagnostic& diagnostic, const ExprView& list, const ExprView& count,
                   const Context& cx) {
  const auto* written = list.get<node::List>();
  const bool is_of_one = written != nullptr && written->elements.size() == 1;
  const std::string element = is_of_one ? cx.source_text(cx.at(written->elements[0]).span) : "…";
  diagnostic.help("so many of them are `[{} for i in 0 .. {}]`", element, cx.source_text(count.span));
}

/// Adds how one side becomes what an operator takes.
void cure_operand(diagnostics::Diagnostic& diagnostic, ast::BinaryOp op, const ExprView& left, const ExprView& right,
                  Scope& scope) {
  const Context& cx = scope.cx;
  if (left.type.kind == Kind::Weights && right.type.kind == Kind::Weights) {
    diagnostic.help("several are a list: `[{}, {}]`", cx.source_text(left.span), cx.source_text(right.span));
    return;
  }
  const auto is_quantity = [](const Type& type) {
    return type.kind == Kind::Duration || type.kind == Kind::Period || type.kind == Kind::Bytes;
  };
  if (is_quantity(left.type) && is_quantity(right.type)) {
    diagnostic
        .note("quantities are given to settings as they are: nothing is computed of them, and nothing compares them")
        .help("a plain number with its unit in the name can be: `minutes: float`");
    return;
  }
  for (const bool is_left : {true, false}) {
    const ExprView& side = is_left ? left : right;
    const ExprView& other = is_left ? right : left;
    if (side.type.kind == Kind::Str && other.type.kind == Kind::Function && !other.type.name.empty()) {
      diagnostic.help("its name is a text, in quotes: `\"{}\"`", other.type.name)
          .fix(other.span, "\"" + other.type.name + "\"");
      return;
    }
    const Type& held = side.type.kind == Kind::Option ? side.type.fields[0].type : side.type;
    if (side.type.kind == Kind::Option && (held.is_host_number() || held.kind == Kind::Str))
      return add_cure(diagnostic, side, held, cx);
    if (op == ast::BinaryOp::Multiply && side.type.kind == Kind::List && other.type.kind == Kind::Int)
      return void(help_repeated(diagnostic, side, other, cx));
    if (side.type.kind == Kind::List && other.type.is_host_number())
      return add_cure(diagnostic, side, Type::tensor(Element::Float, {}), cx);
    if (side.type.kind == Kind::Tuple && (other.type.is_tensor() || other.type.is_host_number())) {
      add_cure(diagnostic, side, Type::tensor(Element::Float, {}), cx);
      return forget(side, diagnostic, scope);
    }
    if (side.type.kind == Kind::Str && other.type.is_host_number()) {
      if (add_number_cure(diagnostic, side) || help_quoted_name(diagnostic, side, scope)) return;
      diagnostic.help("a number stands in a text in braces: `\"{{}}\"`", cx.source_text(other.span));
      return;
    }
  }
}

}  // namespace

Expr apply_operator(ast::BinaryOp written, Span op_span, Expr left, Expr right, Span span, Scope& scope) {
  if (left.type.is_error() || right.type.is_error()) return error_at(span);
  const Sign sign{written, op_span};
  Context& cx = scope.cx;
  if (written == ast::BinaryOp::In) return check_in(std::move(left), std::move(right), span, scope);
  if (written == ast::BinaryOp::Range) {
    // Of two ends of the same wrong type it is said once.
    const bool are_alike = left.type == right.type;
    left = convert(std::move(left), Type::of(Kind::Int), scope, "the beginning of a range");
    if (left.type.is_error() && are_alike) return error_at(span);
    right = convert(std::move(right), Type::of(Kind::Int), scope, "the end of a range");
    if (left.type.is_error() || right.type.is_error()) return error_at(span);
    return {Type::of(Kind::Range), span, node::Range{cx.keep(std::move(left)), cx.keep(std::move(right))}};
  }
  if (written == ast::BinaryOp::MatMul) {
    const FnInfo& matmul = fn_of(cx, library::Id::Matmul);
    CallSite site{matmul.name, op_span, span, {}, scope};
    site.given.push_back({std::nullopt, nullptr, left, left.span});
    site.given.push_back({std::nullopt, nullptr, right, right.span});
    return call_op(matmul, site);
  }
  const bool is_equality = written == ast::BinaryOp::Equal || written == ast::BinaryOp::NotEqual;
  const Operator& op = info(written);
  if ((left.type.is_tensor() &&
       (right.type.is_tensor() || right.type.is_host_number() || right.type.kind == Kind::List)) ||
      (right.type.is_tensor() && (left.type.is_host_number() || left.type.kind == Kind::List))) {
    return check_tensors(sign, std::move(left), std::move(right), span, scope);
  }
  if (written == ast::BinaryOp::And || written == ast::BinaryOp::Or) {
    if (written == ast::BinaryOp::Or && left.type.kind == Kind::Option) {
      // `??` stands for it here, and was told.
      const std::string between = cx.source_text({span.source, left.span.end, right.span.begin});
      if (between.find("??") != std::string::npos) return error_at(span);
      const std::string ours = "or_else(" + cx.source_text(left.span) + ", " + cx.source_text(right.span) + ")";
      cx.report(diag::wrong_type(span, "`or` joins bools, and this is " + cx.text(left.type))
                    .help("`{}` is the second where the first is missing", ours)
                    .fix(span, ours));
      return error_at(span);
    }
    left = convert(std::move(left), Type::of(Kind::Bool), scope, "the left side");
    // Where one side is none, that was said.
    if (!left.type.is_error()) right = convert(std::move(right), Type::of(Kind::Bool), scope, "the right side");
    if (left.type.is_error() || right.type.is_error()) return error_at(span);
    const ExprId first = cx.keep(std::move(left)), second = cx.keep(std::move(right));
    if (written == ast::BinaryOp::And) return {Type::of(Kind::Bool), span, node::And{first, second}};
    return {Type::of(Kind::Bool), span, node::Or{first, second}};
  }
  if (left.type.is_host_number() && right.type.is_host_number()) {
    return check_host(sign, std::move(left), std::move(right), span, scope);
  }
  const bool is_text = (left.type.kind == Kind::Str || left.type.kind == Kind::Path) &&
                       (right.type.kind == Kind::Str || right.type.kind == Kind::Path);
  if (is_equality) {
    if (auto result = compare_wholes(left, right, span, scope)) {
      if (written == ast::BinaryOp::Equal) return std::move(*result);
      return {Type::of(Kind::Bool), span, node::Not{cx.keep(std::move(*result))}};
    }
  }
  if (written == ast::BinaryOp::Add && left.type.kind == Kind::List && right.type.kind == Kind::List) {
    if (auto joined = join_lists(left, right, span, scope)) return std::move(*joined);
  }
  if (written == ast::BinaryOp::Add && is_text) {
    return {Type::of(Kind::Str), span,
            node::Interpolate{{{cx.keep(std::move(left)), ""}, {cx.keep(std::move(right)), ""}}}};
  }
  if (report_function_operand(left, right, scope)) return error_at(span);
  diagnostics::Diagnostic diagnostic = diag::wrong_type(
      op_span, "cannot " + std::string(op.verb) + " " + cx.text(left.type) + " and " + cx.text(right.type));
  diagnostic.label(left.span, "{}", cx.text(left.type)).label(right.span, "{}", cx.text(right.type));
  const bool is_left_metric = left.type.kind == Kind::MetricValue;
  if (is_left_metric || right.type.kind == Kind::MetricValue) {
    diagnostic.note("a metric is computed over the whole epoch, and its value can only be logged")
        .help("`log NAME = {}`; what is computed of it is its own `fn compute`",
              cx.source_text(is_left_metric ? left.span : right.span));
  } else if (left.type.kind == Kind::List && right.is<node::Tuple>()) {
    add_cure(diagnostic, right, left.type, cx);
  } else {
    cure_operand(diagnostic, written, left, right, scope);
    for (const Expr* side : {&left, &right}) label_declared(diagnostic, *side, scope);
  }
  cx.report(std::move(diagnostic));
  return error_at(span);
}

Expr check_binary(const ast::Expr& expr, const ast::Binary& binary, Scope& scope) {
  Expr left = check_expr(*binary.left, scope);
  const bool is_equality = binary.op == ast::BinaryOp::Equal || binary.op == ast::BinaryOp::NotEqual;
  // A choice is compared with its names: `average == macro`.
  Expr right;
  if (is_equality && left.type.kind == Kind::OneOf)
    right = check_as(*binary.right, left.type, scope, "the right side");
  else if (binary.op == ast::BinaryOp::And || binary.op == ast::BinaryOp::Or)
    within_branch(scope, [&] { right = check_expr(*binary.right, scope); });
  else
    right = check_expr(*binary.right, scope);
  if (binary.op == ast::BinaryOp::Error) return error_at(expr.span);
  // A chain `a < b < c` is E0207 already.
  const auto* before = binary.left->get<ast::Binary>();
  if (before != nullptr && is_comparison(before->op) && is_comparison(binary.op)) return error_at(expr.span);
  return apply_operator(binary.op, binary.op_span, std::move(left), std::move(right), expr.span, scope);
}

}  // namespace ltr::check
