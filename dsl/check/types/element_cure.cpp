#include "dsl/check/types/element_cure.h"

namespace ltr::check {

namespace {

/// The function that takes it: `mse` of "`x` of `mse`".
library::Id taker_of(const std::string& what) {
  const size_t end = what.size() - 1, begin = what.rfind('`', end - 1) + 1;
  const bool is_of = what.ends_with("`") && begin > 0 && begin < end;
  return is_of ? library::find(library::Space::Values, std::string_view(what).substr(begin, end - begin))
               : library::Id::None;
}

}  // namespace

std::string element_cure(const GivenFor& param, const Type& wanted, const Type& given) {
  const bool is_index =
      param.text.find("argmax(") != std::string::npos || param.text.find("argmin(") != std::string::npos;
  if (is_index && is_floating(wanted.element) && library::is_loss(taker_of(param.what)))
    return "no gradient passes `argmax`: a loss takes the scores themselves";
  if (given.element == Element::I64 && param.what == "`x` of `Dropout`")
    return "ids are looked up first, and what their table gives is dropped: `drop(table(ids))`";
  // Scores of each class where the number of one is wanted.
  const bool is_of_classes = param.what.starts_with("`label` of ") || param.what.starts_with("`target` of ");
  if (is_of_classes && wanted.element == Element::I64 && is_floating(given.element) && given.dims.size() >= 2 &&
      given.dims.size() == wanted.dims.size() + 1)
    return "the number of the class of each is wanted: of scores `" + param.text + ".argmax(1)`";
  return conversion_cure(param.is_op ? param.what : "", wanted, given);
}

void help_of_one_class(diagnostics::Diagnostic& diagnostic, const std::string& what, const std::vector<Dim>& bound,
                       const std::vector<Dim>& given) {
  const bool has_classes = bound.size() == 2 && given.size() == 1 && bound[0] == given[0];
  if (has_classes && what == "`target` of `bce_with_logits`")
    diagnostic.help("it is yes or no for each class; the number of one of them goes with `cross_entropy(x, label)`");
}

}  // namespace ltr::check
