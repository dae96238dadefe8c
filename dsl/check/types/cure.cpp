#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "dsl/check/expressions/operands.h"
#include "dsl/check/types/types.h"

namespace ltr::check {

namespace {

/// Whether a text is a number, all of it.
bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  const bool has_digit = text.find_first_of("0123456789") != std::string::npos;  // `inf` has none.
  return has_digit && *end == '\0';
}

/// A number with its unit, as a text may hold it: `50 steps`.
bool is_quantity(const std::string& text) {
  const size_t blank = text.find(' ');
  return blank != std::string::npos && is_number(text.substr(0, blank)) &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", blank + 1) == std::string::npos;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// A value to stand for one that is missing.
std::string stand_in(const Type& type) {
  switch (type.kind) {
    case Kind::Int: return "0";
    case Kind::Float: return "0.0";
    case Kind::Bool: return "false";
    case Kind::Str: return "\"\"";
    default: return "VALUE";
  }
}

Span behind(Span span) { return {span.source, span.end, span.end}; }

/// `net` where weights are wanted: `net.weights`, each by itself of a list that is written.
void cure_weights(diagnostics::Diagnostic& diagnostic, const ExprView& given, const Context& cx) {
  const auto has_weights = [](const Type& type) { return type.kind == Kind::Block || holds_layers(type); };
  const auto* list = given.get<node::List>();
  const bool is_of_blocks = list != nullptr && !list->elements.empty() &&
                            std::all_of(list->elements.begin(), list->elements.end(), [&](ExprId element) {
                              return has_weights(cx.at(element).type) || cx.at(element).type.kind == Kind::Weights;
                            });
  if (list != nullptr && list->elements.empty()) {
    diagnostic.help("name what it moves: `net.weights`, or of several members `[a.weights, b.weights]`");
  } else if (is_of_blocks) {
    std::string text;
    for (const ExprId id : list->elements) {
      const ExprView& element = cx.at(id);
      const bool is_block = element.type.kind != Kind::Weights;
      text += (text.empty() ? "" : ", ") + cx.source_text(element.span) + (is_block ? ".weights" : "");
      if (is_block) diagnostic.fix(behind(element.span), ".weights");
    }
    diagnostic.help("`[{}]`", text);
  } else if (has_weights(given.type)) {
    diagnostic.help("`{}.weights`", cx.source_text(given.span)).fix(behind(given.span), ".weights");
  }
}

/// A text where something else is wanted that it spells.
void cure_text(diagnostics::Diagnostic& diagnostic, const ExprView& given, const Type& wanted, const Context& cx) {
  const auto* constant = given.get<node::StrConst>();
  const std::string text = constant != nullptr ? constant->text : "";
  const bool is_choice = std::find(wanted.choices.begin(), wanted.choices.end(), text) != wanted.choices.end();
  const bool is_period = wanted.kind == Kind::Period || wanted.kind == Kind::Duration;
  if (wanted.kind == Kind::Bool && (text == "true" || text == "false")) {
    diagnostic.help("without quotes: `{}`", text).fix(given.span, text);
  } else if (is_choice || (wanted.is_host_number() && is_number(text)) || (is_period && is_quantity(text))) {
    diagnostic.help("without quotes: `{}`", text);
    if (is_choice) diagnostic.fix(given.span, text);
  } else if (wanted.kind == Kind::Duration) {
    diagnostic.help("a time is a number with its unit, such as `90 s`, `30 min` or `2 h`");
  } else if (wanted.kind == Kind::Secret) {
    diagnostic.help("a secret stands in the environment, and its name here: `env(\"NAME\")`");
  } else if (wanted.kind == Kind::Tokenizer) {
    diagnostic.help("a `let` of data reads one from its file: `let tok = tokenizer(\"tokenizer.json\")`");
  } else if (wanted.kind == Kind::Tuple && text == "same") {
    diagnostic.help(
        "layers alone take it, as `Conv2d` does; a function takes numbers, `(kernel - 1) / 2` of an odd kernel");
  } else if (wanted.kind == Kind::Tuple && lower_case(text) == "same") {
    diagnostic.help("it is written `\"same\"`").fix(given.span, "\"same\"");
  } else if (wanted.kind == Kind::Tuple && lower_case(text) == "valid") {
    diagnostic.help("no padding is `0`").fix(given.span, "0");
  } else if (wanted.kind == Kind::List && !wanted.fields.empty() && wanted.fields[0].type.kind == Kind::Str) {
    const std::string whole = cx.source_text(given.span);
    diagnostic.help("`{}.split()` cuts it into words, `[{}]` is a list of it alone", as_base(whole), whole);
  } else if (const auto advice = diagnostics::foreign_advice(text); advice && wanted.is_host_number()) {
    diagnostic.help("{}", std::string(*advice));
  }
}

/// `stack([stack([1, 2]), stack([3, 4])])` of `[[1, 2], [3, 4]]`.
std::string stacked(const ExprView& list, const Context& cx) {
  const auto* written = list.get<node::List>();
  const bool is_nested =
      written != nullptr && !written->elements.empty() && cx.at(written->elements[0]).type.kind == Kind::List;
  if (!is_nested) return "stack(" + cx.source_text(list.span) + ")";
  std::string rows;
  for (const ExprId row : written->elements) rows += (rows.empty() ? "" : ", ") + stacked(cx.at(row), cx);
  return "stack([" + rows + "])";
}

/// A number without the unit that is wanted, or one with a unit where a count is wanted.
void cure_unit(diagnostics::Diagnostic& diagnostic, const ExprView& given, const Type& wanted, const Context& cx) {
  const std::string number = cx.source_text(given.span);
  const bool is_written = given.is<node::IntConst>() || given.is<node::FloatConst>();
  const bool is_one = number == "1";
  if (const auto* quantity = given.get<node::Quantity>(); quantity != nullptr && wanted.is_host_number()) {
    const std::string count = number.substr(0, number.find_first_not_of("0123456789_.e+-"));
    if (given.type.kind == Kind::Period && wanted.kind == Kind::Int)
      diagnostic.help("a count has no unit: `{}`", count);
  } else if (wanted.kind == Kind::Duration && given.type.kind == Kind::Period) {
    diagnostic.help("a time has the unit `s`, `min` or `h`, such as `30 min`");
  } else if (wanted.kind == Kind::Duration && is_written) {
    diagnostic.help("say `{} s`, `{} min` or `{} h`", number, number, number);
  } else if (wanted.kind == Kind::Bytes && is_written) {
    diagnostic.help("say `{} KiB`, `{} MiB` or `{} GiB`", number, number, number);
  } else if (wanted.kind == Kind::Period && given.is<node::IntConst>()) {
    diagnostic.help("say `{} {}` or `{} {}`", number, is_one ? "step" : "steps", number, is_one ? "epoch" : "epochs");
  } else if (wanted.kind == Kind::Period && given.is<node::FloatConst>()) {
    diagnostic.help("a part of an epoch has its unit: `{} epochs`", number);
  } else if (wanted.kind == Kind::Period && given.type.is_host_number()) {
    diagnostic.help("a period is a whole number with its unit, such as `100 steps` or `1 epoch`");
  }
}

/// A number with a point or an exponent where an int is wanted: `1e9` is one that is written otherwise, `0.5` is none.
void cure_fraction(diagnostics::Diagnostic& diagnostic, double value) {
  constexpr double kExact = 9007199254740992.0;
  if (value == std::floor(value) && std::abs(value) < kExact)
    diagnostic.help("an int is written without a point or exponent: `{}`", std::to_string(int64_t(value)));
  else
    diagnostic.note("it is no whole number");
}

bool is_of_fractions(const Type& tensor) {
  return tensor.is_tensor() && is_floating(tensor.element) && has_several_elements(tensor);
}

/// Whether a tuple is one element of the list of tuples that is wanted: the kinds of its parts are.
bool is_element(const Type& list, const Type& tuple) {
  if (list.fields.empty() || list.fields[0].type.kind != Kind::Tuple) return false;
  return std::ranges::equal(list.fields[0].type.fields, tuple.fields,
                            [](const TypeField& a, const TypeField& b) { return a.type.kind == b.type.kind; });
}

/// A number where a tensor of some dims is wanted: one that holds it everywhere, if its sizes have names.
void cure_number(diagnostics::Diagnostic& diagnostic, const std::string& text, const Type& wanted, const Context& cx) {
  const std::vector<Dim>& dims = wanted.dims;
  if (dims.size() == 1 && dims[0].group == 0 && dims[0].size.is_one())
    return void(diagnostic.help("`[{}]` has one element", text));
  std::string sizes;
  for (const Dim& dim : dims) {
    if (dim.group != 0) return;
    sizes += cx.text(dim.size) + ", ";
  }
  diagnostic.help("of these sizes it is `full({}{})`", sizes, text);
}

/// What an LSTM or a GRU gives: outputs `[B, S, D]`, and a state `[…, B, D]` or a tuple of two.
bool is_of_recurrent(const Type& type) {
  if (type.kind != Kind::Tuple || type.fields.size() != 2) return false;
  const Type &outputs = type.fields[0].type, &second = type.fields[1].type;
  const Type& state = second.kind == Kind::Tuple && !second.fields.empty() ? second.fields[0].type : second;
  return outputs.is_tensor() && state.is_tensor() && outputs.dims.size() == 3 && state.dims.size() == 3 &&
         outputs.dims[0] == state.dims[1];
}

}  // namespace

bool has_several_elements(const Type& tensor) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(),
                     [](const Dim& dim) { return dim.group == 0 && dim.size.constant() && *dim.size.constant() != 1; });
}

bool may_have_several_elements(const Type& tensor) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(),
                     [](const Dim& dim) { return dim.group != 0 || dim.size.constant() != 1; });
}

std::string reductions_of(const Type& tensor, const std::string& text) {
  const bool is_bool = tensor.element == Element::Bool;
  return "of several elements `" + std::string(is_bool ? "all(" : "mean(") + text + ").item()` or `" +
         (is_bool ? "any(" : "sum(") + text + ").item()` is one " + (is_bool ? "bool" : "number");
}

std::string conversion_cure(const std::string& what, const Type& wanted, const Type& given) {
  const std::string converts = std::string("`.to(") + to_text(wanted.element) + ")` converts";
  const bool is_target = what.starts_with("`target` of ") && given.dims.size() == 1;
  if (!is_target || given.element != Element::I64) return converts;
  return "numbers of classes go with `cross_entropy(logits, target)`; of measured values " + converts;
}

bool add_number_cure(diagnostics::Diagnostic& diagnostic, const ExprView& given) {
  const auto* constant = given.get<node::StrConst>();
  if (constant == nullptr || !is_number(constant->text)) return false;
  diagnostic.help("without quotes: `{}`", constant->text).fix(given.span, constant->text);
  return true;
}

namespace {

/// Of a list that is written, with numbers and bools in it, the text of the first bool.
std::optional<std::string> bool_among_numbers(const ExprView& given, const Context& cx) {
  const auto* list = given.get<node::List>();
  if (list == nullptr) return std::nullopt;
  std::optional<std::string> found;
  bool has_number = false;
  for (const ExprId element : list->elements) {
    const ExprView& one = cx.at(element);
    if (one.type.kind == Kind::Bool && !found) found = cx.source_text(one.span);
    has_number = has_number || one.type.kind == Kind::Int || one.type.kind == Kind::Float;
  }
  return has_number ? found : std::nullopt;
}

}  // namespace

void add_cure(diagnostics::Diagnostic& diagnostic, const ExprView& given, const Type& wanted, const Context& cx) {
  const Type& have = given.type;
  const std::string text = cx.source_text(given.span);
  const bool has_numbers = is_made_of(have, {Kind::Int, Kind::Float, Kind::Bool, Kind::List});
  if (wanted.kind == Kind::Weights) return cure_weights(diagnostic, given, cx);
  if (wanted.kind == Kind::Schedule && have.kind == Kind::Function) {
    diagnostic.help(
        "a schedule of your own is a function with a name: `fn rate(step: int, total: int) -> float = …` at the top of "
        "the "
        "file, and `schedule = rate`");
    return;
  }
  if (wanted.kind == Kind::Duration || wanted.kind == Kind::Period || wanted.kind == Kind::Bytes ||
      have.kind == Kind::Period)
    cure_unit(diagnostic, given, wanted, cx);
  if (have.kind == Kind::Str) cure_text(diagnostic, given, wanted, cx);
  const Type held = have.kind == Kind::Option && !have.fields.empty() ? have.fields[0].type : Type::error();
  if (!held.is_error() && (held.kind == wanted.kind || (held.is_host_number() && wanted.is_tensor()))) {
    diagnostic.help("`or_else({}, {})` says what stands for a missing one", text, stand_in(held));
  } else if (wanted.kind == Kind::Int &&
             (have.kind == Kind::List ? is_made_of(have, {Kind::Float, Kind::List}) : is_of_fractions(have))) {
    // Neither the length nor the sum of fractions is meant.
    diagnostic.note("it is one whole number, such as how many there are");
  } else if (have.is_tensor() && wanted.is_host_number() && may_have_several_elements(have)) {
    diagnostic.help("{}", reductions_of(have, text));
  } else if (have.is_tensor() && wanted.is_host_number()) {
    diagnostic.help("a tensor becomes a host number only by `.item()`, which waits for the device");
  } else if (wanted.kind == Kind::Int && given.is<node::FloatConst>() && text.ends_with(".0")) {
    diagnostic.help("an int is written without a point: `{}`", text.substr(0, text.size() - 2));
  } else if (wanted.kind == Kind::Int && given.is<node::FloatConst>()) {
    cure_fraction(diagnostic, given.get<node::FloatConst>()->value);
  } else if (wanted.kind == Kind::Int && have.kind == Kind::Float) {
    diagnostic.help("`floor(…)`, `ceil(…)` and `round(…)` make an int of a float");
  } else if (given.is<node::BoolConst>() && wanted.is_host_number()) {
    diagnostic.help("a number is wanted, such as `{}`", wanted.kind == Kind::Int ? "1" : "1.0");
  } else if (have.kind == Kind::Bool && (wanted.kind == Kind::Float || wanted.kind == Kind::Int)) {
    const bool is_int = wanted.kind == Kind::Int;
    diagnostic.help("`if {} then {} else {}`", text, is_int ? "1" : "1.0", is_int ? "0" : "0.0");
  } else if (wanted.kind == Kind::Int && have.is_vocabulary()) {
    diagnostic.help("how many {} it has is `{}.size`", have.kind == Kind::Tokenizer ? "tokens" : "words", text)
        .fix(behind(given.span), ".size");
  } else if (wanted.kind == Kind::Int && have.kind == Kind::List) {
    diagnostic.help("how many elements it has is `{}.length`", text).fix(behind(given.span), ".length");
  } else if (wanted.kind == Kind::List && have.kind == Kind::Tuple && is_element(wanted, have)) {
    diagnostic.help("a list of one has square brackets around it: `[{}]`", text)
        .fix({given.span.source, given.span.begin, given.span.begin}, "[")
        .fix(behind(given.span), "]");
  } else if (wanted.kind == Kind::List && have.kind == Kind::Tuple && given.is<node::Tuple>() && text.size() > 2) {
    diagnostic.help("a list has square brackets: `[{}]`", text.substr(1, text.size() - 2))
        .fix({given.span.source, given.span.begin, given.span.begin + 1}, "[")
        .fix({given.span.source, given.span.end - 1, given.span.end}, "]");
  } else if (wanted.kind == Kind::List && have.kind == Kind::Range) {
    diagnostic.help("`[i for i in {}]` is a list", text);
  } else if (wanted.kind == Kind::Tuple && have.kind == Kind::List && given.is<node::List>() &&
             have.fields.size() == wanted.fields.size()) {
    diagnostic.help("a tuple has round brackets: `({})`", text.substr(1, text.size() - 2));
  } else if (const auto truth = wanted.is_tensor() ? bool_among_numbers(given, cx) : std::nullopt) {
    diagnostic.help("a number of each kind of element: `if {} then 1.0 else 0.0`", *truth);
  } else if (wanted.is_tensor() && have.kind == Kind::List && !have.fields.empty() &&
             std::ranges::all_of(have.fields, [](const TypeField& one) { return one.type.is_tensor(); })) {
    diagnostic.help("a list becomes a tensor by `stack`: `stack({})`", text);
  } else if (wanted.is_tensor() && have.kind == Kind::List && has_numbers) {
    diagnostic.help("a list becomes a tensor by `stack`: `{}`", stacked(given, cx));
  } else if (wanted.is_tensor() && have.is_host_number() && !wanted.dims.empty()) {
    cure_number(diagnostic, text, wanted, cx);
  } else if (wanted.is_tensor() && given.is<node::Tuple>() && text.size() > 2 &&
             std::ranges::all_of(have.fields, [](const TypeField& one) { return one.type.is_host_number(); })) {
    diagnostic.help("a list of numbers becomes a tensor: `[{}]`", text.substr(1, text.size() - 2))
        .fix({given.span.source, given.span.begin, given.span.begin + 1}, "[")
        .fix({given.span.source, given.span.end - 1, given.span.end}, "]");
  } else if (wanted.is_tensor() && is_of_recurrent(have)) {
    diagnostic.help("it is a tuple, and the state its second: `{}, state = {}`", given.is<node::Local>() ? text : "y",
                    given.is<node::Local>() ? "…" : text);
  } else if (wanted.is_tensor() && have.kind == Kind::Tuple) {
    diagnostic.help("it is a tuple: take it apart, `a, b = {}`", text);
  } else if (have.kind == Kind::Function && wanted.kind != Kind::Function && !have.name.empty()) {
    const bool is_name = text.find(' ') == std::string::npos;
    diagnostic.help("`{}` is a function: call it, `{}(…)`", text, is_name ? text : "(" + text + ")");
  } else if (have.kind == Kind::Block && wanted.is_tensor()) {
    diagnostic.help("`{}` is a block: apply it, `{}(…)`", text, text);
  }
}

bool help_of_argument(diagnostics::Diagnostic& diagnostic, const std::string& what) {
  constexpr std::string_view kBetween = "` of `";
  const size_t between = what.find(kBetween);
  if (between == std::string::npos) return false;
  const size_t callee = between + kBetween.size();
  const auto advice =
      diagnostics::advice_of_argument(what.substr(callee, what.size() - callee - 1), what.substr(1, between - 1));
  if (advice) diagnostic.help("{}", std::string(*advice));
  return advice.has_value();
}

namespace {

/// Where `dims` lack one dim of `all`, and have all others.
std::optional<size_t> axis_between(const std::vector<Dim>& dims, const std::vector<Dim>& all) {
  if (dims.size() + 1 != all.size()) return std::nullopt;
  const auto [here, there] = std::mismatch(dims.begin(), dims.end(), all.begin());
  const bool is_rest_same = std::equal(here, dims.end(), there + 1, all.end());
  return is_rest_same && !dims.empty() ? std::optional(size_t(here - dims.begin())) : std::nullopt;
}

}  // namespace

void add_same_cure(diagnostics::Diagnostic& diagnostic, const ExprView& left, const ExprView& right,
                   const Context& cx) {
  const std::vector<Dim>&a = left.type.dims, &b = right.type.dims;
  if (a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0]) {
    diagnostic.help("one lies on its side: `{}.transpose(0, 1)`", cx.source_text(right.span));
    return;
  }
  // Two vectors whose sizes are declared apart are paired, each element of one with each of the other, rather than the same.
  const auto is_declared = [&](const ExprView& side) {
    const auto atom = side.type.dims.size() == 1 ? side.type.dims[0].size.single_atom() : std::nullopt;
    return atom && cx.program.atoms.at(*atom).is_binder;
  };
  if (left.is<node::Op>() && is_declared(left) && is_declared(right)) {
    const auto operand = [&](const ExprView& side) {
      const std::string text = cx.source_text(side.span);
      return text.find(' ') == std::string::npos ? text : "(" + text + ")";
    };
    diagnostic.help("to pair each with each: `{}.unsqueeze(0)` and `{}.unsqueeze(1)`", operand(left), operand(right));
    return;
  }
  const ExprView& smaller = a.size() < b.size() ? left : right;
  if (const auto axis = axis_between(smaller.type.dims, a.size() < b.size() ? b : a)) {
    const std::string text = cx.source_text(smaller.span);
    diagnostic.help("`{}.unsqueeze({})` is the same all along that dim",
                    text.find(' ') == std::string::npos ? text : "(" + text + ")", *axis);
    return;
  }
  Type same = left.type;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    Dim& dim = same.dims[a.size() - 1 - i];
    const Dim& other = b[b.size() - 1 - i];
    if (dim == other || dim.size.is_one() || other.size.is_one()) continue;
    // One size twice is none that two values have in common by another name.
    if (std::find(same.dims.begin(), same.dims.end(), other) != same.dims.end()) return;
    dim = other;
  }
  diagnostic.help("if they are the same, say it: `{} as {}`", cx.source_text(left.span), cx.text(same));
}

}  // namespace ltr::check
