#include <algorithm>
#include <cctype>

#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

namespace {

/// One part of a pattern: `bij`, or `...ij`, whose dots stand for the axes that no letter names.
struct Term {
  std::string letters;
  std::optional<size_t> dots;  ///< before which letter
};

std::optional<Term> read_term(const std::string& text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0 && !term.dots) {
      term.dots = term.letters.size();
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      term.letters += text[i];
    } else {
      return std::nullopt;
    }
  }
  return term;
}

struct Pattern {
  std::vector<Term> inputs;
  Term output;
};

/// Without `->` the letters that occur once are kept, in alphabetical order, behind the dots.
Term implied_output(const std::vector<Term>& inputs) {
  std::map<char, int> counts;
  Term output;
  for (const Term& term : inputs) {
    for (const char letter : term.letters) ++counts[letter];
    if (term.dots) output.dots = 0;
  }
  for (const auto& [letter, count] : counts) {
    if (count == 1) output.letters += letter;
  }
  return output;
}

std::optional<Pattern> read_pattern(std::string text) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string inputs = text.substr(0, arrow);
  Pattern pattern;
  for (size_t begin = 0; begin <= inputs.size();) {
    const size_t end = std::min(inputs.find(',', begin), inputs.size());
    const auto term = read_term(inputs.substr(begin, end - begin));
    if (!term) return std::nullopt;
    pattern.inputs.push_back(*term);
    begin = end + 1;
  }
  if (arrow == std::string::npos) {
    pattern.output = implied_output(pattern.inputs);
    return pattern;
  }
  const auto output = read_term(text.substr(arrow + 2));
  if (!output) return std::nullopt;
  pattern.output = *output;
  return pattern;
}

/// What the letters and the dots stand for, filled operand by operand.
struct Sizes {
  CallSite& site;
  Span span;
  std::map<char, Dim> letters;
  std::optional<std::vector<Dim>> dots;

  Context& cx() { return site.scope.cx; }

  bool fail(const std::string& text) {
    cx().report(diag::dims_differ(span, text));
    return false;
  }

  bool take_letter(char letter, const Dim& dim, const Type& type) {
    const auto [place, is_new] = letters.try_emplace(letter, dim);
    if (is_new || place->second == dim) return true;
    const bool has_group = dim.group != 0 || place->second.group != 0;
    if (!has_group && require_equal(place->second.size, dim.size, span, site.scope, true)) return true;
    return fail("`" + std::string(1, letter) + "` of the pattern is `" + cx().text(place->second.size) +
                "` before and `" + cx().text(dim.size) + "` in " + cx().text(type));
  }

  bool take_dots(const std::vector<Dim>& dims, const Type& type) {
    if (!dots) {
      dots = dims;
      return true;
    }
    Broadcast shape = broadcast(*dots, dims, cx());
    bool is_equal = shape.dims.has_value();
    for (const auto& [a, b] : shape.equal) is_equal = is_equal && require_equal(a, b, span, site.scope, true);
    if (!is_equal) return fail("the axes under `...` differ in " + cx().text(type));
    dots = *shape.dims;
    return true;
  }

  bool take(const Term& term, const Type& type) {
    const size_t rank = type.dims.size(), count = term.letters.size();
    if (term.dots ? rank < count : rank != count) {
      cx().report(diag::wrong_rank(span, "the pattern names " + std::to_string(count) + " axes of " + cx().text(type)));
      return false;
    }
    const size_t hidden = rank - count, at = term.dots.value_or(count);
    for (size_t i = 0; i < count; ++i) {
      const Dim& dim = type.dims[i < at ? i : i + hidden];
      if (!take_letter(term.letters[i], dim, type)) return false;
    }
    if (!term.dots) return true;
    const auto first = type.dims.begin() + long(at);
    return take_dots(std::vector<Dim>(first, first + long(hidden)), type);
  }
};

/// `einsum("ij,jk->ik", a, b)` is the list of its tensors, as in PyTorch.
void gather_tensors(CallSite& site) {
  const bool is_plain =
      std::none_of(site.given.begin(), site.given.end(), [](const Given& given) { return given.name.has_value(); });
  if (site.given.size() < 2 || !is_plain) return;
  for (size_t i = 1; i < site.given.size(); ++i) {
    if (!site.given[i].checked) site.given[i].checked = check_given(site.given[i], site.scope);
  }
  if (site.given.size() == 2 && site.given[1].checked->type.kind == Kind::List) return;
  Type type = Type::of(Kind::List);
  node::List list;
  Span span = site.given[1].span;
  for (size_t i = 1; i < site.given.size(); ++i) {
    type.fields.push_back({"", site.given[i].checked->type});
    if (site.given[i].checked->type.is_error()) type = Type::error();
    span = source::join(span, site.given[i].span);
    list.elements.push_back(site.scope.cx.keep(*site.given[i].checked));
    if (type.is_error()) break;
  }
  if (!type.is_error()) type.value = Polynomial(int64_t(list.elements.size()));
  site.given.resize(1);
  site.given.push_back({std::nullopt, nullptr, Expr{std::move(type), span, std::move(list)}, span});
}

}  // namespace

Expr rule_einsum(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  gather_tensors(site);
  auto args = plain_arguments(op, site);
  if (!args) return error_at(site.span);
  const auto* text = (*args)[0].get<node::StrConst>();
  if (text == nullptr) {
    cx.report(diag::not_a_constant((*args)[0].span, "the pattern of `einsum`"));
    return error_at(site.span);
  }
  const auto pattern = read_pattern(text->text);
  const std::vector<TypeField>& operands = (*args)[1].type.fields;
  if (!pattern || pattern->inputs.size() != operands.size()) {
    cx.report(diag::wrong_argument((*args)[0].span,
                                   pattern ? "the pattern speaks of " + std::to_string(pattern->inputs.size()) +
                                                 " tensors, and the list has " + std::to_string(operands.size())
                                           : "a pattern of `einsum` is letters, `,`, `...` and `->`: "
                                             "\"bij,bjk->bik\""));
    return error_at(site.span);
  }
  Sizes sizes{site, site.span, {}, std::nullopt};
  for (size_t i = 0; i < operands.size(); ++i) {
    const Type& type = operands[i].type;
    if (!type.is_tensor() || !is_floating(type.element) || type.element != operands[0].type.element) {
      cx.report(diag::wrong_element((*args)[1].span, "`einsum` multiplies tensors of one floating type, not " +
                                                         cx.text(operands[0].type) + " and " + cx.text(type)));
      return error_at(site.span);
    }
    if (!sizes.take(pattern->inputs[i], type)) return error_at(site.span);
  }
  std::vector<Dim> dims;
  const auto add_dots = [&] {
    if (sizes.dots) dims.insert(dims.end(), sizes.dots->begin(), sizes.dots->end());
  };
  std::set<char> kept;
  for (size_t i = 0; i < pattern->output.letters.size(); ++i) {
    if (pattern->output.dots == i) add_dots();
    const char letter = pattern->output.letters[i];
    const auto size = sizes.letters.find(letter);
    if (size == sizes.letters.end() || !kept.insert(letter).second) {
      cx.report(diag::wrong_argument(
          (*args)[0].span,
          "`" + std::string(1, letter) +
              (size == sizes.letters.end() ? "` of the result is in no operand" : "` stands twice in the result")));
      return error_at(site.span);
    }
    dims.push_back(size->second);
  }
  if (pattern->output.dots == pattern->output.letters.size()) add_dots();
  const Element element = operands[0].type.element;
  return typed_call(op, Type::tensor(element, std::move(dims)), site, std::move(*args));
}

}  // namespace ltr::check
