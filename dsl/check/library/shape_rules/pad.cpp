#include <algorithm>
#include <cmath>

#include "dsl/check/library/shape_rules/rules.h"
#include "dsl/check/types/types.h"

namespace ltr::check {

namespace {

/// Mirrored or repeated, a border is made of what lies behind it: less than there is, or as much.
bool require_inside(const std::string& mode, const Polynomial& border, const Polynomial& size, Span use, Scope& scope) {
  if ((mode != "reflect" && mode != "circular") || border.constant() == 0) return true;
  const bool is_mirror = mode == "reflect";
  Requirement requirement;
  requirement.kind = is_mirror ? Requirement::Kind::Less : Requirement::Kind::AtMost;
  requirement.left = border;
  requirement.right = size;
  requirement.text = scope.cx.text(border) + (is_mirror ? " < " : " <= ") + scope.cx.text(size);
  requirement.origin = use;
  requirement.is_where = true;
  return require(std::move(requirement), use, scope);
}

/// Other borders than constant ones are of axes behind one or two others.
bool require_front(const std::string& mode, size_t axes, const Expr& tensor, Scope& scope) {
  const std::vector<Dim>& dims = tensor.type.dims;
  const bool has_groups = std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.group != 0; });
  if (mode == "constant" || has_groups || dims.size() == axes + 1 || dims.size() == axes + 2) return true;
  const std::string what = axes == 1 ? "an axis" : std::to_string(axes) + " axes";
  scope.cx.report(diag::wrong_argument(tensor.span, "`" + mode + "` makes borders of " + what +
                                                        " behind one or two others, and this is " +
                                                        scope.cx.text(tensor.type))
                      .help("{}", dims.size() == axes ? "`.unsqueeze(0)` puts one in front, `.squeeze(0)` takes it away"
                                                      : "`flatten` makes one axis of several in front"));
  return false;
}

/// What fills is a number of the tensor's kind, and only a constant border has one.
bool check_fill(const Expr& value, const std::string& mode, const Type& tensor, Scope& scope) {
  const auto* fill = value.get<node::FloatConst>();
  if (fill == nullptr || fill->value == 0) return true;
  if (mode != "constant") {
    scope.cx.report(diag::wrong_argument(value.span, "`" + mode + "` takes its border from the tensor, and no `value`")
                        .help("leave `value` out, or say `mode = constant`"));
    return false;
  }
  if (is_floating(tensor.element) || tensor.element == Element::Any || std::floor(fill->value) == fill->value)
    return true;
  scope.cx.report(diag::wrong_argument(
      value.span, "no border of " + scope.cx.source_text(value.span) + " fits into " + scope.cx.text(tensor)));
  return false;
}

}  // namespace

Expr rule_pad(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  Type type = (*args)[0].type;
  const std::vector<TypeField>& sizes = (*args)[1].type.fields;
  if (sizes.size() % 2 != 0 || sizes.size() / 2 > type.dims.size()) {
    site.scope.cx.report(
        diag::wrong_argument((*args)[1].span, "`pad` takes two sizes for each axis, from the last one on"));
    return error_at(site.span);
  }
  const auto* symbol = (*args)[2].get<node::Symbol>();
  const std::string mode = symbol != nullptr ? symbol->text : "";
  if (!require_front(mode, sizes.size() / 2, (*args)[0], site.scope)) return error_at(site.span);
  if (!check_fill((*args)[3], mode, type, site.scope)) return error_at(site.span);
  AtomTable& atoms = site.scope.cx.program.atoms;
  for (size_t i = 0; i < sizes.size(); i += 2) {
    Dim& dim = type.dims[type.dims.size() - 1 - i / 2];
    const bool is_known = sizes[i].type.value && sizes[i + 1].type.value;
    const Polynomial before = dim.size;
    dim.size = is_known ? dim.size + *sizes[i].type.value + *sizes[i + 1].type.value : atoms.unknown();
    const std::string text = site.scope.cx.text(before) + " + " + site.scope.cx.source_text((*args)[1].span);
    if (dim.group != 0) continue;
    if (!require_size(dim.size, text, (*args)[1].span, site.scope)) return error_at(site.span);
    for (size_t side = i; is_known && side < i + 2; ++side) {
      if (!require_inside(mode, *sizes[side].type.value, before, (*args)[1].span, site.scope))
        return error_at(site.span);
    }
  }
  return typed_call(op, std::move(type), site, std::move(*args));
}

}  // namespace ltr::check
