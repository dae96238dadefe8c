#include "dsl/check/shape_rules/rules.h"

namespace ltr::check {

namespace {

Element reduced_element(const std::string& op, Element element) {
  if (op == "argmin" || op == "argmax") return Element::I64;
  if (op == "any" || op == "all") return Element::Bool;
  const bool is_total = op == "sum" || op == "prod";
  if (is_total && !is_floating(element) && element != Element::Any) return Element::I64;
  return element;
}

}  // namespace

Expr rule_reduction(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_node(site.span);
  const Type before = (*args)[0].type;
  const bool needs_float = op.params[0].type.element == Element::Float;
  if (needs_float && !is_floating(before.element)) {
    cx.report(diag::wrong_element(
                  site.span, "`" + op.name + "` needs floating elements, not " + cx.text(before))
                  .label((*args)[0].span, "{}", cx.text(before))
                  .help("`.to(float)` converts"));
    return error_node(site.span);
  }
  size_t dim_at = 1, keep_at = 2;
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (op.params[i].name == "dim") dim_at = i;
    if (op.params[i].name == "keepdim") keep_at = i;
  }
  Type result = before;
  result.element = reduced_element(op.name, before.element);
  const bool keep = (*args)[keep_at].kind == ExprKind::BoolConst && (*args)[keep_at].whole == 1;
  if ((*args)[dim_at].kind == ExprKind::NoneConst) {
    result.dims.clear();
  } else {
    const auto axis = axis_of((*args)[dim_at], before, site);
    if (!axis) return error_node(site.span);
    if (keep) {
      result.dims[*axis].size = 1;
    } else {
      result.dims.erase(result.dims.begin() + long(*axis));
    }
  }
  return op_expr(op.name, std::move(result), site.span, std::move(*args));
}

Expr rule_topk(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_node(site.span);
  Type values = (*args)[0].type;
  const auto axis = axis_of((*args)[2], values, site);
  if (!axis) return error_node(site.span);
  values.dims[*axis].size =
      (*args)[1].type.value ? *(*args)[1].type.value : site.scope.cx.program.atoms.unknown();
  Type indices = values;
  indices.element = Element::I64;
  Type result = Type::of(Kind::Tuple);
  result.fields = {{"", values}, {"", indices}};
  return op_expr(op.name, std::move(result), site.span, std::move(*args));
}

namespace {

std::optional<Type> broadcast_all(const std::vector<Type>& types, CallSite& site) {
  Context& cx = site.scope.cx;
  Type result = types[0];
  for (size_t i = 1; i < types.size(); ++i) {
    const Broadcast shape = broadcast(result.dims, types[i].dims, cx);
    if (shape.is_symbolic_clash) {
      cx.report(diag::symbolic_broadcast(site.span, "combine", cx.text(result), cx.text(types[i])));
      return std::nullopt;
    }
    bool is_equal = shape.dims.has_value();
    for (const auto& [a, b] : shape.equal)
      is_equal = is_equal && require_equal(a, b, site.span, site.scope, true);
    if (!is_equal) {
      cx.report(diag::dims_differ(site.span, "`" + site.name + "` cannot combine " +
                                                 cx.text(result) + " and " + cx.text(types[i])));
      return std::nullopt;
    }
    result.dims = *shape.dims;
  }
  return result;
}

}  // namespace

Expr rule_broadcast(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args) return error_node(site.span);
  std::vector<Type> types;
  for (const Expr& arg : *args) {
    if (!want_tensor(arg, site)) return error_node(site.span);
    if (!types.empty() && types[0].element != arg.type.element) {
      site.scope.cx.report(diag::wrong_element(
          site.span, "`" + op.name + "` takes two tensors of one element type"));
      return error_node(site.span);
    }
    types.push_back(arg.type);
  }
  const auto type = broadcast_all(types, site);
  if (!type) return error_node(site.span);
  return op_expr(op.name, *type, site.span, std::move(*args));
}

Expr rule_where(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args) return error_node(site.span);
  if (!want_tensor((*args)[0], site)) return error_node(site.span);
  if ((*args)[0].type.element != Element::Bool) {
    site.scope.cx.report(
        diag::wrong_element((*args)[0].span, "the condition of `where` is a bool tensor"));
    return error_node(site.span);
  }
  // Beside a tensor a host number takes its element type.
  for (const auto& [self, other] : {std::pair<size_t, size_t>{1, 2}, {2, 1}}) {
    Expr& arg = (*args)[self];
    const Expr& beside = (*args)[other];
    if (arg.kind == ExprKind::Convert && beside.kind != ExprKind::Convert)
      arg.type.element = beside.type.element;
  }
  if ((*args)[1].type.element != (*args)[2].type.element) {
    site.scope.cx.report(diag::wrong_element(
        site.span, "the branches of `where` are " + site.scope.cx.text((*args)[1].type) + " and " +
                       site.scope.cx.text((*args)[2].type)));
    return error_node(site.span);
  }
  const auto type = broadcast_all({(*args)[1].type, (*args)[2].type, (*args)[0].type}, site);
  if (!type) return error_node(site.span);
  return op_expr(op.name, *type, site.span, std::move(*args));
}

Expr rule_index_select(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site) || !want_tensor((*args)[2], site))
    return error_node(site.span);
  Type type = (*args)[0].type;
  const auto axis = axis_of((*args)[1], type, site);
  if (!axis) return error_node(site.span);
  if ((*args)[2].type.dims.size() != 1) {
    site.scope.cx.report(
        diag::wrong_rank((*args)[2].span, "the index of `index_select` has one dim"));
    return error_node(site.span);
  }
  type.dims[*axis] = (*args)[2].type.dims[0];
  return op_expr(op.name, std::move(type), site.span, std::move(*args));
}

Expr rule_select(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_node(site.span);
  Type type = (*args)[0].type;
  const auto axis = axis_of((*args)[1], type, site);
  if (!axis) return error_node(site.span);
  type.dims.erase(type.dims.begin() + long(*axis));
  return op_expr(op.name, std::move(type), site.span, std::move(*args));
}

Expr rule_gather(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site) || !want_tensor((*args)[2], site))
    return error_node(site.span);
  Type type = (*args)[0].type;
  if (!axis_of((*args)[1], type, site)) return error_node(site.span);
  if ((*args)[2].type.dims.size() != type.dims.size()) {
    site.scope.cx.report(diag::wrong_rank(
        site.span, "`gather` needs an index with as many dims as its tensor: " +
                       site.scope.cx.text(type) + " and " + site.scope.cx.text((*args)[2].type)));
    return error_node(site.span);
  }
  type.dims = (*args)[2].type.dims;
  return op_expr(op.name, std::move(type), site.span, std::move(*args));
}

Expr rule_pad(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_node(site.span);
  Type type = (*args)[0].type;
  const std::vector<TypeField>& sizes = (*args)[1].type.fields;
  if (sizes.size() % 2 != 0 || sizes.size() / 2 > type.dims.size()) {
    site.scope.cx.report(diag::wrong_argument(
        (*args)[1].span, "`pad` takes two sizes for each axis, from the last one on"));
    return error_node(site.span);
  }
  AtomTable& atoms = site.scope.cx.program.atoms;
  for (size_t i = 0; i < sizes.size(); i += 2) {
    Dim& dim = type.dims[type.dims.size() - 1 - i / 2];
    const bool is_known = sizes[i].type.value && sizes[i + 1].type.value;
    dim.size =
        is_known ? dim.size + *sizes[i].type.value + *sizes[i + 1].type.value : atoms.unknown();
  }
  return op_expr(op.name, std::move(type), site.span, std::move(*args));
}

Expr rule_axis_checked(const FnInfo& op, CallSite& site) {
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args) return error_node(site.span);
  if (!axis_of((*args)[1], (*args)[0].type, site)) return error_node(site.span);
  const Type type = (*args)[0].type;
  return op_expr(op.name, type, site.span, std::move(*args));
}

}  // namespace ltr::check
