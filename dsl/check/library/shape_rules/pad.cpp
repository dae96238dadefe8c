#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

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
  AtomTable& atoms = site.scope.cx.program.atoms;
  for (size_t i = 0; i < sizes.size(); i += 2) {
    Dim& dim = type.dims[type.dims.size() - 1 - i / 2];
    const bool is_known = sizes[i].type.value && sizes[i + 1].type.value;
    const Polynomial before = dim.size;
    dim.size = is_known ? dim.size + *sizes[i].type.value + *sizes[i + 1].type.value : atoms.unknown();
    const std::string text = site.scope.cx.text(before) + " + " + site.scope.cx.source_text((*args)[1].span);
    if (dim.group == 0 && !require_size(dim.size, text, (*args)[1].span, site.scope)) return error_at(site.span);
  }
  return typed_call(op, std::move(type), site, std::move(*args));
}

}  // namespace ltr::check
