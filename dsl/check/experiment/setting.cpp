#include <algorithm>

#include "dsl/check/declarations/devices.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/expressions/evaluate.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

Type type_of_text(const std::string& text) {
  if (text == "int") return Type::of(Kind::Int);
  if (text == "str") return Type::of(Kind::Str);
  if (text == "bool") return Type::of(Kind::Bool);
  if (text == "bytes") return Type::of(Kind::Bytes);
  if (text == "duration") return Type::of(Kind::Duration);
  if (text == "period") return Type::of(Kind::Period);
  Type type = Type::of(Kind::OneOf);
  type.choices = choices_of(text);
  return type;
}

const std::string* word_of(const ast::Expr& value) {
  const auto* name = value.get<ast::NameRef>();
  return name != nullptr ? &name->name.text : nullptr;
}

Expr symbol(const ast::Expr& value, const std::string& text) {
  return make_expr(ExprKind::Symbol, Type::of(Kind::OneOf), value.span, {}, text);
}

bool reads_hparam(const Expr& expr) {
  return expr.kind == ExprKind::Hparam || std::any_of(expr.args.begin(), expr.args.end(), reads_hparam);
}

/// `auto`, `cpu`, `cuda[8]`: a kind, and how many of it on each node. The count is a number: `--devices` is what changes it.
std::optional<Expr> check_devices(const ast::Expr& value, Scope& scope) {
  const std::vector<std::string>& kinds = device_kinds();
  Context& cx = scope.cx;
  const auto* index = value.get<ast::Index>();
  const std::string* kind = word_of(index != nullptr ? *index->base : value);
  const std::string written = cx.source_text(value.span);
  if (kind != nullptr && *kind == "tpu") {
    cx.report(diag::device_not_built(value.span, written).note("`ltrc export --stablehlo` will run the step on any XLA device"));
    return std::nullopt;
  }
  const bool is_counted = index != nullptr && index->items.size() == 1 && index->items[0].kind == ast::IndexItem::Kind::Expr;
  if (kind == nullptr || std::find(kinds.begin(), kinds.end(), *kind) == kinds.end() || (index != nullptr && (!is_counted || *kind == "auto"))) {
    cx.report(diag::wrong_argument(value.span, "`" + written + "` names no devices").help("`auto`, `cpu`, `cpu[4]`, `cuda` or `cuda[8]`"));
    return std::nullopt;
  }
  if (index == nullptr) return symbol(value, *kind);
  const ast::Expr& given = **index->items[0].first;
  const Expr count = check_as(given, Type::of(Kind::Int), scope, "the count of devices");
  if (count.type.is_error()) return std::nullopt;
  const auto known = evaluate(count, cx.program);
  if (!known || reads_hparam(count)) {
    cx.report(diag::wrong_argument(given.span, "the count of devices is a number, not " + cx.source_text(given.span))
                  .help("`--devices {}[8]` gives another one at the start of a run", *kind));
    return std::nullopt;
  }
  if (const auto rule = broken_range("topology.", "devices", known->real)) {
    cx.report(diag::out_of_range(given.span, "a node cannot have " + cx.source_text(given.span) + " devices").note("`{}`", *rule));
    return std::nullopt;
  }
  return symbol(value, *kind + "[" + std::to_string(known->whole) + "]");
}

/// A form of a setting that edition 1 has and this version has not.
std::optional<std::string> later_form(const ast::Expr& value) {
  static const std::set<std::string> kCalls = {"by_epoch", "ramp", "fraction", "count"};
  const auto* call = value.get<ast::Call>();
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (callee != nullptr && kCalls.contains(callee->name.text)) return callee->name.text + "(…)";
  const std::string* word = word_of(value);
  if (word != nullptr && *word == "warn") return *word;
  return std::nullopt;
}

/// What a number is worth before the run; of an hparam its default.
std::optional<double> constant(const Expr& expr, Context& cx) {
  if (!expr.type.is_host_number() || expr.type.kind == Kind::Bool) return std::nullopt;
  const auto value = evaluate(expr, cx.program);
  return value ? std::optional(value->real) : std::nullopt;
}

}  // namespace

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

std::optional<std::string> broken_range(const std::string& section, const std::string& name, double value) {
  struct Range {
    std::string_view path;
    std::string_view op;
    double bound;
  };
  static constexpr Range kRanges[] = {
#define LTR_RANGE(path, op, bound) {path, op, bound},
#include "runtime/api/ranges.def"
#undef LTR_RANGE
  };
  for (const Range& range : kRanges) {
    if (range.path != section + name) continue;
    const bool holds = range.op == ">=" ? value >= range.bound : range.op == ">" ? value > range.bound
                       : range.op == "<=" ? value <= range.bound : value < range.bound;
    if (!holds) return name + " " + std::string(range.op) + " " + std::to_string(int64_t(range.bound));
  }
  return std::nullopt;
}

std::optional<SettingValue> check_setting(const ast::Setting& setting,
                                          const std::vector<SettingInfo>& known,
                                          const std::string& section,
                                          Scope& scope) {
  Context& cx = scope.cx;
  const auto info = std::find_if(known.begin(), known.end(), [&](const SettingInfo& candidate) {
    return candidate.name == setting.name.text;
  });
  if (info == known.end()) {
    std::vector<std::string> names;
    for (const SettingInfo& candidate : known) names.emplace_back(candidate.name);
    diagnostics::Diagnostic diagnostic =
        diag::unknown_setting(setting.name.span, section, setting.name.text);
    note_known(diagnostic, names);
    did_you_mean(diagnostic, setting.name.text, setting.name.span, names);
    cx.report(std::move(diagnostic));
    return std::nullopt;
  }
  if (const auto word = later_form(setting.value)) {
    cx.report(diag::not_in_this_version(setting.value.span, "`" + *word + "` as a setting"));
    return std::nullopt;
  }
  SettingValue result;
  result.path = setting.name.text;
  result.type = info->type;
  result.span = setting.name.span;
  if (result.type == "text") {
    result.type = "str";
    result.value = make_expr(ExprKind::StrConst, Type::of(Kind::Str), setting.value.span, {}, cx.source_text(setting.value.span));
    return result;
  }
  if (result.type == "devices") {
    auto devices = check_devices(setting.value, scope);
    if (!devices) return std::nullopt;
    result.value = std::move(*devices);
    return result;
  }
  const std::string* word = word_of(setting.value);
  if (result.type.starts_with("auto_or_") && word != nullptr && *word == "auto") {
    result.value = symbol(setting.value, *word);
    return result;
  }
  const std::string type = result.type.starts_with("auto_or_") ? result.type.substr(8) : result.type;
  result.value = check_as(setting.value, type_of_text(type), scope, ("`" + setting.name.text + "`").c_str());
  if (result.value.type.is_error()) return std::nullopt;
  const auto value = result.value.kind == ExprKind::Quantity ? std::optional(result.value.number) : constant(result.value, cx);
  const auto rule = value ? broken_range(section == "a trainer" ? "trainer." : "topology.", result.path, *value) : std::nullopt;
  if (rule) {
    cx.report(diag::out_of_range(result.value.span, "`" + result.path + "` cannot be " + cx.source_text(result.value.span))
                  .note("`{}`", *rule));
    return std::nullopt;
  }
  return result;
}

void check_twice(Context& cx, const std::vector<ast::Setting>& settings) {
  for (size_t i = 0; i < settings.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (settings[i].name.text != settings[j].name.text) continue;
      cx.report(diag::setting_twice(settings[i].name.span, settings[i].name.text)
                    .label(settings[j].name.span, "first here"));
      break;
    }
  }
}

void put(std::vector<ast::Setting>& into, const std::vector<ast::Setting>& from) {
  for (const ast::Setting& setting : from) {
    const auto same = std::find_if(into.begin(), into.end(), [&](const ast::Setting& other) {
      return other.name.text == setting.name.text;
    });
    if (same != into.end()) {
      *same = setting;
    } else {
      into.push_back(setting);
    }
  }
}

}  // namespace ltr::check
