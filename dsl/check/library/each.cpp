#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"
#include "dsl/library/each.h"

namespace ltr::check {

namespace {

constexpr const char* kReduction = "reduction";

}  // namespace

// The shape of the result hangs on a word, which no signature says. So a loss has a function beside it for what it is of each
// element or sample, which has a signature of its own and is Ltr as well.
std::optional<Expr> call_for_each(const Symbol& symbol, CallSite& site) {
  Context& cx = site.scope.cx;
  if (!cx.graph.modules[symbol.module].is_library) return std::nullopt;
  const std::vector<ParamInfo>& params = fn_of(cx, symbol).params;
  const auto param =
      std::find_if(params.begin(), params.end(), [](const ParamInfo& one) { return one.name == kReduction; });
  if (param == params.end()) return std::nullopt;
  const auto place = size_t(param - params.begin());
  Given* given = place < site.given.size() && !site.given[place].name ? &site.given[place] : nullptr;
  for (Given& one : site.given) {
    if (one.name && one.name->text == kReduction) given = &one;
  }
  const bool gives_each = library::info(library::find(library::Space::Values, symbol.name)).gives_each;
  const Symbol* each = cx.graph.find(symbol.module, library::each_of(symbol.name));
  if (given == nullptr || (each == nullptr && !gives_each)) return std::nullopt;
  const std::string what = "`reduction` of `" + symbol.name + "`";
  given->checked = check_given_as(*given, param->type, site.scope, what.c_str());
  if (given->checked->type.is_error()) return error_at(site.span);
  const auto* word = given->checked->get<node::Symbol>();
  if (word == nullptr) {
    const std::vector<std::string>& choices = given->checked->type.choices;
    if (std::find(choices.begin(), choices.end(), "none") == choices.end()) return std::nullopt;
    cx.report(diag::wrong_argument(given->span, "only a run knows whether `reduction` is `none`, and the loss a tensor")
                  .help("a parameter that only takes `one_of[mean, sum]` can be given"));
    return error_at(site.span);
  }
  if (word->text != "none") return std::nullopt;
  if (gives_each) {
    Expr losses = call_op(fn_of(cx, symbol), site);
    if (const auto* op = losses.get<node::Op>()) losses.type = cx.at(op->args[0]).type;
    return losses;
  }
  site.given.erase(site.given.begin() + (given - site.given.data()));
  // What is wrong with it is so of the mean, too, and the declaration of the loss says what it wants.
  CallSite as_mean = site;
  FnInfo& fn = fn_of(cx, symbol);
  const Expr mean = fn.is_op ? call_op(fn, as_mean) : call_fn(fn, std::nullopt, as_mean);
  if (mean.type.is_error()) return error_at(site.span);
  // `cross_entropy` of probabilities is another loss.
  if (const auto* op = mean.get<node::Op>())
    each = cx.graph.find(symbol.module, library::each_of(library::info(op->op).name));
  if (each == nullptr) return std::nullopt;
  fn_of(cx, *each);  // Declares it under its own name, by which later phases know it.
  Symbol named = *each;
  named.name = symbol.name;  // Of which messages speak.
  return call_symbol(named, site);
}

}  // namespace ltr::check
