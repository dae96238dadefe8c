// `sample`, `balance` and `folds`: which records come, and how often.

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/streams.h"

namespace ltr::check {

namespace {

/// A stage whose second param says something of each record, and those behind it are plain.
Expr stage_by(const FnInfo& op, const WantedValue& wanted, CallSite& site) {
  Context& cx = site.scope.cx;
  Expr stream = *site.given[0].checked;
  if (stream.type.uniform) {
    cx.report(
        diag::wrong_place(site.name_span, "`" + op.name + "` stands in front of `collate`, which makes the batches"));
    return error_at(site.span);
  }
  const auto bound = bind_arguments(op.params, site, op.name);
  if (!bound) return error_at(site.span);
  std::vector<Expr> args = {stream, value_by(stream, *(*bound)[1], wanted, site)};
  std::vector<Expr> before;
  for (size_t i = 2; i < op.params.size(); ++i) {
    const Given* given = (*bound)[i];
    const std::string what = "`" + op.params[i].name + "`";
    args.push_back(given != nullptr ? check_given_as(*given, op.params[i].type, site.scope, what.c_str())
                                    : default_of(op.params, i, before, op.module, site.scope));
  }
  for (const Expr& arg : args) {
    if (arg.type.is_error()) return error_at(site.span);
  }
  Type type = stream.type;
  return typed_call(op, std::move(type), site, std::move(args));
}

}  // namespace

Expr rule_sample(const FnInfo& op, CallSite& site) {
  const auto is_number = [](const Type& type) {
    return type.is_host_number() || (type.is_tensor() && type.dims.empty());
  };
  return stage_by(op, {Type::of(Kind::Float), is_number, "that is a number"}, site);
}

Expr rule_balance(const FnInfo& op, CallSite& site) {
  const auto is_class = [](const Type& type) {
    return type.kind == Kind::Int || type.kind == Kind::Bool || type.kind == Kind::Str ||
           (type.is_tensor() && type.dims.empty() && !is_floating(type.element));
  };
  return stage_by(op, {Type::of(Kind::Int), is_class, "that is an int, bool or text"}, site);
}

Expr rule_folds(const FnInfo& op, CallSite& site) {
  const Type stream = site.given[0].checked->type;
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args || !names_field(args->back(), stream, site.scope.cx)) return error_at(site.span);
  Type list = Type::of(Kind::List);
  list.fields.assign(2, TypeField{"", stream});
  list.value = Polynomial(int64_t(2));
  return typed_call(op, std::move(list), site, std::move(*args));
}

}  // namespace ltr::check
