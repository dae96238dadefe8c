#include "dsl/check/library/shape_rules/rules.h"

#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"

namespace ltr::check {

namespace {

/// Each argument as its parameter wants it; unset where one is wrong.
std::optional<std::vector<Expr>> read_plain(const FnInfo& op, CallSite& site) {
  const auto bound = bind_arguments(op.params, site, op.name);
  if (!bound) return std::nullopt;
  std::vector<Expr> args;
  bool has_error = false;
  for (size_t i = 0; i < op.params.size(); ++i) {
    const ParamInfo& param = op.params[i];
    const std::string what = "`" + param.name + "`";
    if ((*bound)[i] != nullptr) {
      args.push_back(check_given_as(*(*bound)[i], param.type, site.scope, what.c_str()));
      if ((*bound)[i]->checked) args.back().span = (*bound)[i]->span;
    } else {
      std::vector<Local> locals;
      Scope inner{.cx = site.scope.cx, .module = op.module, .place = Place::Const, .locals = locals};
      args.push_back(check_as(*param.initial, param.type, inner, "the default"));
      args.back().span = {};
    }
    has_error = has_error || args.back().type.is_error();
  }
  return has_error ? std::nullopt : std::optional(std::move(args));
}

}  // namespace

std::optional<std::vector<Expr>> plain_arguments(const FnInfo& op, CallSite& site) {
  std::optional<std::vector<Expr>> args;
  read_or_blame_order(site, op.params, op.result, [&](CallSite& given) {
    args = read_plain(op, given);
    return args.has_value();
  });
  if (!args) return std::nullopt;
  Binding binding;
  for (size_t i = 0; i < op.params.size(); ++i) bind_sizes(op.params[i].type, (*args)[i], binding, site.scope.cx);
  put_requirements(op.requirements, binding, {op.params, *args}, site.span, site.scope);
  return args;
}

std::optional<size_t> axis_of(const ExprView& arg, const Type& tensor, CallSite& site, bool extra) {
  const int64_t rank = int64_t(tensor.dims.size()) + (extra ? 1 : 0);
  const Span place = arg.span.is_empty() ? site.span : arg.span;  // A default stands nowhere in the program.
  if (!arg.type.value || !arg.type.value->constant()) {
    site.scope.cx.report(diag::not_a_constant(place, "an axis"));
    return std::nullopt;
  }
  int64_t axis = *arg.type.value->constant();
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    if (tensor.dims[i].group == 0) continue;
    // Behind a `...` only the axes counted from the end are known; a new one may stand before it.
    if (axis >= 0 && size_t(axis) < i + (extra ? 1 : 0)) return size_t(axis);
    if (axis < 0 && -axis <= rank - int64_t(i) - 1) return size_t(rank + axis);
    site.scope.cx.report(diag::wrong_rank(place, "axis " + std::to_string(axis) + " lies in what `...` stands for"));
    return std::nullopt;
  }
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) {
    site.scope.cx.report(
        diag::unknown_axis(place, std::to_string(*arg.type.value->constant()), site.scope.cx.text(tensor)));
    return std::nullopt;
  }
  return size_t(axis);
}

std::optional<Expr> take_dims(CallSite& site, size_t first, size_t keep) {
  size_t positional = 0;
  while (positional < site.given.size() && !site.given[positional].name) ++positional;
  const size_t last = positional > keep ? positional - keep : first;
  Type type = Type::of(Kind::List);
  node::List dims;
  if (last == first + 1) {
    Expr one = check_given(site.given[first], site.scope);
    if (one.type.is_error()) return std::nullopt;
    if (one.type.kind == Kind::List) {
      site.given.erase(site.given.begin() + long(first));
      one = convert(std::move(one), Type::list_of(Type::of(Kind::Int)), site.scope, "a dim");
      if (one.type.is_error()) return std::nullopt;
      return one;
    }
    if (one.type.kind == Kind::Tuple) {
      const std::string text = site.scope.cx.source_text(one.span);
      diagnostics::Diagnostic diagnostic =
          diag::wrong_argument(one.span, "a dim must be int, not " + site.scope.cx.text(one.type));
      if (one.is<node::Tuple>() && text.size() > 2)
        diagnostic.help("without the inner brackets: `{}({})`", site.name, text.substr(1, text.size() - 2))
            .fix(one.span, text.substr(1, text.size() - 2));
      site.scope.cx.report(std::move(diagnostic));
      return std::nullopt;
    }
    site.given[first].checked = std::move(one);
  }
  for (size_t i = first; i < last; ++i) {
    Expr dim = check_given_as(site.given[i], Type::of(Kind::Int), site.scope, "a dim");
    if (dim.type.is_error()) return std::nullopt;
    if (dim.type.value && dim.type.value->constant() && *dim.type.value->constant() < -1) {
      site.scope.cx.report(diag::negative_dim(dim.span, site.scope.cx.source_text(dim.span),
                                              std::to_string(*dim.type.value->constant())));
      return std::nullopt;
    }
    type.fields.push_back({"", dim.type});
    dims.elements.push_back(site.scope.cx.keep(std::move(dim)));
  }
  type.value = Polynomial(int64_t(dims.elements.size()));
  site.given.erase(site.given.begin() + long(first), site.given.begin() + long(last));
  return convert({std::move(type), site.span, std::move(dims)}, Type::list_of(Type::of(Kind::Int)), site.scope,
                 "a dim");
}

std::optional<std::vector<Dim>> dims_of(const ExprView& list, CallSite& site) {
  AtomTable& atoms = site.scope.cx.program.atoms;
  std::vector<Dim> dims;
  if (!list.type.uniform) {
    for (const TypeField& field : list.type.fields)
      dims.push_back({.size = field.type.value ? *field.type.value : atoms.unknown(), .group = 0});
    return dims;
  }
  const auto count = list.type.value ? list.type.value->constant() : std::nullopt;
  if (!count) {
    site.scope.cx.report(diag::wrong_argument(list.span.is_empty() ? site.span : list.span,
                                              "how many dims a list of any length gives is not known here")
                             .help("write them one by one: `{}(sizes[0], sizes[1])`", site.name));
    return std::nullopt;
  }
  for (int64_t i = 0; i < *count; ++i) dims.push_back({.size = atoms.unknown(), .group = 0});
  return dims;
}

Expr tensor_given(const Given& given, CallSite& site) {
  Expr value = check_given(given, site.scope);
  if (value.type.kind != Kind::List) return value;
  Type any = Type::tensor(Element::Any, {});
  return convert(std::move(value), any, site.scope, "the list");
}

bool want_tensor(const ExprView& expr, CallSite& site) {
  if (expr.type.is_tensor()) return true;
  if (!expr.type.is_error()) {
    diagnostics::Diagnostic diagnostic =
        diag::wrong_argument(expr.span, "`" + site.name + "` takes a tensor, not " + site.scope.cx.text(expr.type));
    const Type wanted = Type::tensor(Element::Float, {});
    add_cure(diagnostic, expr, wanted, site.scope.cx);
    if (expr.type.kind == Kind::Tuple) forget(expr, diagnostic, site.scope);
    site.scope.cx.report(std::move(diagnostic));
  }
  return false;
}

void adopt_element(std::vector<Expr>& args, size_t of, size_t at, const Context& cx) {
  const auto number_in = [](const ExprView& arg) { return arg.type.dims.empty() ? arg.get<node::Convert>() : nullptr; };
  const auto* number = number_in(args[at]);
  if (number == nullptr || number_in(args[of]) != nullptr) return;
  const Element element = args[of].type.element;
  const Kind host = cx.at(number->value).type.kind;
  const bool fits = host == Kind::Bool ? element == Element::Bool
                                       : is_floating(element) || (host == Kind::Int && element != Element::Bool);
  if (fits) args[at].type.element = element;
}

Expr typed_call(const FnInfo& op, Type type, CallSite& site, std::vector<Expr> args) {
  return op_expr(op.id, std::move(type), site.span, site.scope.cx.keep(std::move(args)));
}

Expr call_by_rule(const FnInfo& op, CallSite& site) {
  static constexpr ShapeRule kRules[] = {
      call_by_signature,
#define LTR_ROW(id, name, space, rule, ...) rule,
#include "dsl/library/functions.def"
  };
  return kRules[size_t(op.id)](op, site);
}

}  // namespace ltr::check
