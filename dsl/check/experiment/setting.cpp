#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/devices.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/host_types.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/twice.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/ranges.h"

namespace ltr::check {

namespace {

Type type_of_text(const std::string& text) {
  if (const auto kind = host_kind(text)) return Type::of(*kind);
  Type type = Type::of(Kind::OneOf);
  type.choices = choices_of(text);
  return type;
}

const std::string* word_of(const ast::Expr& value) {
  const auto* name = value.get<ast::NameRef>();
  return name != nullptr ? &name->name.text : nullptr;
}

Expr symbol(const ast::Expr& value, const std::string& text) {
  return symbol_const(text, Type::of(Kind::OneOf), value.span);
}

/// `auto`, `cpu`, `cuda[8]`: a kind, and how many of it on each node. The count is a number: `--devices` is what changes it.
std::optional<Expr> check_devices(const ast::Expr& value, Scope& scope) {
  const std::vector<std::string>& kinds = device_kinds();
  Context& cx = scope.cx;
  const auto* index = value.get<ast::Index>();
  const std::string* kind = word_of(index != nullptr ? *index->base : value);
  const std::string written = cx.source_text(value.span);
  if (kind != nullptr && *kind == "tpu") {
    cx.report(diag::device_not_built(value.span, written)
                  .note("`ltrc export --stablehlo` will run the step on any XLA device"));
    return std::nullopt;
  }
  const bool is_counted =
      index != nullptr && index->items.size() == 1 && index->items[0].kind == ast::IndexItem::Kind::Expr;
  if (kind == nullptr || std::find(kinds.begin(), kinds.end(), *kind) == kinds.end() ||
      (index != nullptr && (!is_counted || *kind == "auto"))) {
    cx.report(diag::wrong_argument(value.span, "`" + written + "` names no devices")
                  .help("`auto`, `cpu`, `cpu[4]`, `cuda` or `cuda[8]`"));
    return std::nullopt;
  }
  if (index == nullptr) return symbol(value, *kind);
  const ast::Expr& given = **index->items[0].first;
  const Expr count = check_as(given, Type::of(Kind::Int), scope, "the count of devices");
  if (count.type.is_error()) return std::nullopt;
  const auto known = evaluate(count, cx.program);
  if (!known || reads_hparam(count, cx.program)) {
    cx.report(diag::wrong_argument(given.span, "the count of devices is a number, not " + cx.source_text(given.span))
                  .help("`--devices {}[8]` gives another one at the start of a run", *kind));
    return std::nullopt;
  }
  if (const auto rule = broken_rule("topology.devices", known->real)) {
    cx.report(diag::out_of_range(given.span, "a node cannot have " + cx.source_text(given.span) + " devices")
                  .note("`{}`", *rule));
    return std::nullopt;
  }
  return symbol(value, *kind + "[" + std::to_string(known->whole) + "]");
}

/// What a type such as `int or fraction` asks for: a type, or calls of the named functions.
struct Asked {
  std::string type;
  std::vector<std::string> calls;
};

Asked asked_for(const std::string& text) {
  constexpr std::string_view kOr = " or ";
  Asked asked;
  size_t end = text.find(kOr);
  asked.type = text.substr(0, end);
  while (end != std::string::npos) {
    const size_t begin = end + kOr.size();
    end = text.find(kOr, begin);
    asked.calls.push_back(text.substr(begin, end - begin));
  }
  return asked;
}

/// The setting that was meant, where its value says so: of `limit_train = 0.5` a share, of `epochs = 200 steps` the steps. Empty
/// if it may well be this one.
std::string meant_by(const ast::Setting& setting, const Asked& asked, const Context& cx) {
  const bool takes_share = std::find(asked.calls.begin(), asked.calls.end(), "fraction") != asked.calls.end();
  const auto* share = setting.value.get<ast::FloatLiteral>();
  if (takes_share && share != nullptr && share->value <= 1)
    return setting.name.text + " = fraction(" + cx.source_text(setting.value.span) + ")";
  const auto* quantity = setting.value.get<ast::Quantity>();
  const bool is_length = setting.name.text == "epochs" || setting.name.text == "steps";
  if (!is_length || quantity == nullptr || !quantity->is_int) return "";
  const host::Unit* unit = host::find_unit(quantity->unit);
  const bool is_length_too =
      unit != nullptr && (unit->measure == host::Measure::Epochs || unit->measure == host::Measure::Steps);
  return is_length_too && unit->read != setting.name.text
             ? std::string(unit->read) + " = " + std::to_string(int64_t(quantity->value))
             : "";
}

/// Whether it calls a function of another setting's values.
bool names_setting_value(const ast::Expr& value, const Scope& scope) {
  const auto* call = value.get<ast::Call>();
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  return callee != nullptr && scope.cx.graph.setting_values.contains(callee->name.text) &&
         scope.cx.graph.find(scope.module, callee->name.text) == nullptr;
}

/// Rules of a call's arguments that no `where` says; false after a report.
bool check_pairs(const node::Call& call, Context& cx) {
  if (call.op == library::Id::Ramp) {
    const ExprView over = cx.at(call.args[2].value);
    const auto* period = over.get<node::Quantity>();
    if (period == nullptr || period->measure != host::Measure::Seconds) return true;
    cx.report(diag::wrong_type(over.span, "`ramp` goes over steps or epochs, not over a time"));
    return false;
  }
  const auto* pairs = call.op == library::Id::ByEpoch ? cx.at(call.args[0].value).get<node::List>() : nullptr;
  if (pairs != nullptr && pairs->elements.empty()) {
    cx.report(diag::wrong_argument(cx.at(call.args[0].value).span, "`by_epoch` takes at least one pair")
                  .help("`by_epoch([(0, 1), (4, 8)])`"));
    return false;
  }
  std::optional<int64_t> before;
  for (const ExprId id : pairs != nullptr ? pairs->elements : ExprIds{}) {
    const auto* pair = cx.at(id).get<node::Tuple>();
    if (pair == nullptr || pair->elements.size() != 2) continue;
    const ExprView from = cx.at(pair->elements[0]), count = cx.at(pair->elements[1]);
    // Where a pair is wanted one number is both of it.
    if (from.span == count.span) {
      cx.report(diag::wrong_argument(from.span, "`by_epoch` takes pairs of an epoch and the batches from then on")
                    .help("`by_epoch([(0, 1), (4, 8)])`"));
      return false;
    }
    const auto epoch = evaluate(from, cx.program), batches = evaluate(count, cx.program);
    if (epoch && (epoch->whole < 0 || (before && epoch->whole <= *before))) {
      cx.report(diag::out_of_range(from.span, "the epochs of `by_epoch` begin at 0 or later, and rise"));
      return false;
    }
    if (batches && batches->whole < 1) {
      cx.report(diag::out_of_range(count.span, "an update takes at least 1 batch"));
      return false;
    }
    if (epoch) before = epoch->whole;
  }
  return true;
}

/// What a number is worth before the run; of an hparam its default.
std::optional<double> constant(const ExprView& expr, Context& cx) {
  if (!expr.type.is_host_number() || expr.type.kind == Kind::Bool) return std::nullopt;
  const auto value = evaluate(expr, cx.program);
  return value ? std::optional(value->real) : std::nullopt;
}

}  // namespace

std::optional<Expr> check_setting_call(const ast::Expr& value, const std::vector<std::string>& names, Scope& scope) {
  const auto* call = value.get<ast::Call>();
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (callee == nullptr || std::find(names.begin(), names.end(), callee->name.text) == names.end()) return std::nullopt;
  CallSite site{callee->name.text, callee->name.span, value.span, {}, scope};
  site.given = given_of(*call);
  return call_op(fn_of(scope.cx, scope.cx.graph.setting_values.at(callee->name.text)), site);
}

std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  std::string word;
  for (const char c : type.substr(type.find('[') + 1)) {
    if (c == ',' || c == ']') {
      choices.push_back(word);
      word.clear();
    } else if (c != ' ') {
      word += c;
    }
  }
  return choices;
}

namespace {

/// The word in front of the type of a setting, `warn` of `warn_or_bool`, where it is written as a text; "" if it is not.
std::string quoted_word(const ast::Expr& value, const std::string& type, const Context& cx) {
  const size_t or_at = type.find("_or_");
  if (or_at == std::string::npos || value.get<ast::StrLiteral>() == nullptr) return "";
  const std::string word = type.substr(0, or_at);
  return cx.source_text(value.span) == "\"" + word + "\"" ? word : "";
}

}  // namespace

std::optional<SettingValue> check_setting(const ast::Setting& setting, const std::vector<SettingInfo>& known,
                                          const std::string& section, Scope& scope) {
  if (setting.name.text.empty()) return std::nullopt;  // told when it was read
  Context& cx = scope.cx;
  const auto info = std::find_if(known.begin(), known.end(),
                                 [&](const SettingInfo& candidate) { return candidate.name == setting.name.text; });
  if (info == known.end()) {
    std::vector<std::string> names;
    for (const SettingInfo& candidate : known) names.emplace_back(candidate.name);
    diagnostics::Diagnostic diagnostic = diag::unknown_setting(setting.name.span, section, setting.name.text);
    if (!did_you_mean(diagnostic, setting.name.text, setting.name.span, names, diagnostics::WordUse::Setting))
      note_known(diagnostic, names);
    cx.report(std::move(diagnostic));
    return std::nullopt;
  }
  SettingValue result;
  result.path = setting.name.text;
  result.type = info->type;
  result.span = setting.name.span;
  if (result.type == "text") {
    result.type = "str";
    result.value = str_const(cx.source_text(setting.value.span), setting.value.span);
    return result;
  }
  if (result.type == "devices") {
    auto devices = check_devices(setting.value, scope);
    if (!devices) return std::nullopt;
    result.value = std::move(*devices);
    return result;
  }
  const std::string* word = word_of(setting.value);
  if (const std::string quoted = quoted_word(setting.value, result.type, cx); !quoted.empty()) {
    cx.report(diag::wrong_argument(setting.value.span, "`" + setting.name.text + "` is given a word, not a text")
                  .help("without quotes: `{}`", quoted)
                  .fix(setting.value.span, quoted));
    return std::nullopt;
  }
  // `auto_or_int` is a type, or the one word that stands in front of it.
  const size_t or_at = result.type.find("_or_");
  if (or_at != std::string::npos && word != nullptr && *word == result.type.substr(0, or_at)) {
    result.value = symbol(setting.value, *word);
    return result;
  }
  const Asked asked = asked_for(or_at == std::string::npos ? result.type : result.type.substr(or_at + 4));
  if (auto call = check_setting_call(setting.value, asked.calls, scope)) {
    const auto* made = call->get<node::Call>();
    if (made == nullptr || !check_pairs(*made, cx)) return std::nullopt;
    result.value = std::move(*call);
  } else if (const std::string meant = meant_by(setting, asked, cx); !meant.empty()) {
    const Expr value = check_expr(setting.value, scope);
    cx.report(diag::wrong_argument(setting.value.span,
                                   "`" + setting.name.text + "` must be " + asked.type + ", not " + cx.text(value.type))
                  .help("`{}`", meant));
    return std::nullopt;
  } else if (names_setting_value(setting.value, scope)) {
    cx.report(diag::wrong_argument(setting.value.span, "`" + setting.name.text + "` takes " + result.type + ", not " +
                                                           cx.source_text(setting.value.span)));
    return std::nullopt;
  } else {
    const ClosedCall calls{callee_of(setting.value), [&] { return asked.calls; }};
    scope.closed = &calls;
    result.value = check_as(setting.value, type_of_text(asked.type), scope, ("`" + setting.name.text + "`").c_str());
    scope.closed = nullptr;
  }
  if (result.value.type.is_error()) return std::nullopt;
  const auto* made = result.value.get<node::Call>();
  const bool is_fraction = made != nullptr && made->op == library::Id::Fraction;
  const ExprView bounded = is_fraction ? cx.at(made->args[0].value) : ExprView(result.value);
  const auto* quantity = bounded.get<node::Quantity>();
  const auto value = quantity != nullptr ? std::optional(quantity->value) : constant(bounded, cx);
  const auto rule = value ? broken_rule(std::string(info->section) + "." + result.path, *value) : std::nullopt;
  if (rule) {
    cx.report(
        diag::out_of_range(result.value.span, "`" + result.path + "` cannot be " + cx.source_text(result.value.span))
            .note("`{}`", *rule));
    return std::nullopt;
  }
  return result;
}

void check_twice(Context& cx, const std::vector<ast::Setting>& settings) {
  for_each_twice(settings, [&](const ast::Setting& one, const ast::Setting& first) {
    cx.report(diag::setting_twice(one.name.span, one.name.text).label(first.name.span, "first here"));
  });
}

void put(std::vector<ast::Setting>& into, const std::vector<ast::Setting>& from) {
  for (const ast::Setting& setting : from) {
    const auto same = std::find_if(into.begin(), into.end(),
                                   [&](const ast::Setting& other) { return other.name.text == setting.name.text; });
    if (same != into.end()) {
      *same = setting;
    } else {
      into.push_back(setting);
    }
  }
}

}  // namespace ltr::check
