#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"

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
  const Symbol* each = given != nullptr ? cx.graph.find(symbol.module, resolve::each_of(symbol.name)) : nullptr;
  if (each == nullptr) return std::nullopt;
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
  site.given.erase(site.given.begin() + (given - site.given.data()));
  Symbol named = *each;
  named.name = symbol.name;  // Of which messages speak.
  return call_symbol(named, site);
}

}  // namespace ltr::check
