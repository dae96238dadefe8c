#include <algorithm>

#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

namespace {

/// Whether what a list of ints says may be sizes; reports it otherwise.
bool are_sizes(const ExprView& list, const std::vector<Dim>& sizes, CallSite& site) {
  const Context& cx = site.scope.cx;
  const auto* written = list.get<node::List>();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool is_written = written != nullptr && i < written->elements.size();
    const Span place = is_written ? cx.at(written->elements[i]).span : list.span;
    const Span use = place.is_empty() ? site.span : place;
    if (sizes[i].group == 0 && !require_size(sizes[i].size, cx.source_text(use), use, site.scope)) return false;
  }
  return true;
}

/// `normal(0, 0.02)`, as others write it: what is no dim has a name. False after a report.
bool has_dims_alone(const FnInfo& op, const CallSite& site) {
  const auto fraction = std::find_if(site.given.begin(), site.given.end(), [](const Given& given) {
    return !given.name && given.value != nullptr && given.value->get<ast::FloatLiteral>() != nullptr;
  });
  if (op.params.size() < 2 || fraction == site.given.end()) return true;
  Context& cx = site.scope.cx;
  diagnostics::Diagnostic diagnostic =
      diag::wrong_argument(fraction->span, "what stands in `" + op.name + "` without a name is a dim, so an int");
  // The last are what follows the dims, `uniform([2], 8.0, 24.0)`, or all of them are.
  const size_t follow = op.params.size() - 1;
  const size_t dims = site.given.size() > follow ? site.given.size() - follow : 0;
  const bool are_bare =
      std::ranges::all_of(site.given, [](const Given& one) { return !one.name && one.value != nullptr; });
  if (dims > 0 && are_bare && size_t(fraction - site.given.begin()) >= dims) {
    std::string code;
    for (size_t i = 0; i < site.given.size(); ++i) {
      std::string text = cx.source_text(site.given[i].value->span);
      if (i < dims && site.given[i].value->get<ast::List>() != nullptr) text = text.substr(1, text.size() - 2);
      code += (i == 0 ? "" : ", ") + (i < dims ? "" : op.params[i - dims + 1].name + " = ") + text;
    }
    cx.report(std::move(diagnostic.help("`{}({})`", op.name, code)));
    return false;
  }
  std::string named = site.scope.own_dims;
  for (size_t i = 0; i < site.given.size() && i + 1 < op.params.size(); ++i) {
    if (site.given[i].value == nullptr) return true;  // piped in: no dim is
    const std::string name = site.given[i].name ? site.given[i].name->text : op.params[i + 1].name;
    named += (named.empty() ? "" : ", ") + name + " = " + cx.source_text(site.given[i].value->span);
  }
  if (site.given.size() < op.params.size()) diagnostic.help("`{}({})`", op.name, named);
  cx.report(std::move(diagnostic));
  return false;
}

// `full(B, 1, value)` has its value behind the dims, the others name what follows.
Expr create(const FnInfo& op, bool has_value, CallSite& site) {
  if (!has_value && !has_dims_alone(op, site)) return error_at(site.span);
  bool value_is_named = false;
  for (const Given& given : site.given) value_is_named = value_is_named || (given.name && given.name->text == "value");
  std::optional<Expr> dims = take_dims(site, 0, has_value && !value_is_named ? 1 : 0);
  if (!dims) return error_at(site.span);
  auto sizes = dims_of(*dims, site);
  if (!sizes) return error_at(site.span);
  if (!are_sizes(*dims, *sizes, site)) return error_at(site.span);
  if (sizes->size() == 1 && sizes->front().group == 0 && library::info(op.id).begins_matrices) {
    site.scope.cx.report(
        diag::wrong_argument(site.span, "`" + op.name + "` begins matrices: it needs two dims at least")
            .help("one dim begins with `zeros`, `ones`, `normal` or `uniform`"));
    return error_at(site.span);
  }
  FnInfo rest;
  rest.name = op.name;
  rest.module = op.module;
  rest.params.assign(op.params.begin() + 1, op.params.end());
  rest.requirements = op.requirements;
  Element element = Element::Float;
  std::vector<Expr> args;
  if (has_value) {
    if (site.given.size() != 1) {
      site.scope.cx.report(
          diag::wrong_argument(site.name_span, "`full` needs a value behind the dims: `full(B, 1, 0.5)`"));
      return error_at(site.span);
    }
    Expr value = check_given(site.given[0], site.scope);
    if (value.type.is_error()) return error_at(site.span);
    if (!value.type.is_host_number()) {
      diagnostics::Diagnostic diagnostic =
          diag::wrong_argument(value.span, "`full` takes a host number, not " + site.scope.cx.text(value.type));
      if (value.type.is_tensor() && value.type.dims.empty() && site.given.size() == 1 && site.span != value.span)
        diagnostic.help("it is a tensor without dims already: `{}`", site.scope.cx.source_text(value.span));
      site.scope.cx.report(std::move(diagnostic));
      return error_at(site.span);
    }
    element = value.type.kind == Kind::Int    ? Element::I64
              : value.type.kind == Kind::Bool ? Element::Bool
                                              : Element::Float;
    args.push_back(std::move(value));
  } else {
    auto others = plain_arguments(rest, site);
    if (!others) return error_at(site.span);
    args = std::move(*others);
  }
  args.insert(args.begin(), std::move(*dims));
  return typed_call(op, Type::tensor(element, std::move(*sizes)), site, std::move(args));
}

}  // namespace

Expr rule_creation(const FnInfo& op, CallSite& site) { return create(op, false, site); }

Expr rule_full(const FnInfo& op, CallSite& site) { return create(op, true, site); }

Expr rule_randint(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args) return error_at(site.span);
  auto sizes = dims_of((*args)[2], site);
  if (!sizes || !are_sizes((*args)[2], *sizes, site)) return error_at(site.span);
  return typed_call(op, Type::tensor(Element::I64, std::move(*sizes)), site, std::move(*args));
}

}  // namespace ltr::check
