#include "dsl/check/settings.h"

#include "dsl/check/context.h"
#include "dsl/check/evaluate.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

Type type_of_text(const std::string& text) {
  if (text == "int") return Type::of(Kind::Int);
  if (text == "bool") return Type::of(Kind::Bool);
  if (text == "duration") return Type::of(Kind::Duration);
  if (text == "period") return Type::of(Kind::Period);
  Type type = Type::of(Kind::OneOf);
  std::string word;
  for (const char c : text.substr(text.find('[') + 1)) {
    if (c == ',' || c == ']') {
      type.choices.push_back(word);
      word.clear();
    } else if (c != ' ') {
      word += c;
    }
  }
  return type;
}

/// `auto`, `cpu`, `cuda[8]`.
bool is_device(const std::string& text) {
  if (text == "auto" || text == "cpu" || text == "cuda") return true;
  for (const char* kind : {"cpu[", "cuda["}) {
    if (text.starts_with(kind) && text.ends_with("]")) return true;
  }
  return false;
}

/// A form of a setting that edition 1 has and this version has not.
std::optional<std::string> later_form(const ast::Expr& value) {
  static const std::set<std::string> kCalls = {"by_epoch", "ramp", "fraction", "count"};
  const auto* call = value.get<ast::Call>();
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (callee != nullptr && kCalls.contains(callee->name.text)) return callee->name.text + "(…)";
  const auto* word = value.get<ast::NameRef>();
  if (word != nullptr && word->name.text == "warn") return word->name.text;
  return std::nullopt;
}

/// What a number is worth before the run; of an hparam its default.
std::optional<double> constant(const Expr& expr, Context& cx) {
  if (!expr.type.is_host_number() || expr.type.kind == Kind::Bool) return std::nullopt;
  const auto value = evaluate(expr, cx.program);
  return value ? std::optional(value->real) : std::nullopt;
}

}  // namespace

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
  if (info == known.end() &&
      (setting.name.text == "benchmark" || setting.name.text == "host_ahead")) {
    cx.report(
        diag::not_in_this_version(setting.name.span, "the trainer's `" + setting.name.text + "`"));
    return std::nullopt;
  }
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
    result.value = make_expr(ExprKind::StrConst, Type::of(Kind::Str), setting.value.span, {},
                             cx.source_text(setting.value.span));
    if (result.path == "devices" && !is_device(result.value.name) &&
        !result.value.name.starts_with("tpu")) {
      cx.report(
          diag::wrong_argument(setting.value.span, "`" + result.value.name + "` names no devices")
              .help("`auto`, `cpu`, `cpu[4]`, `cuda` or `cuda[8]`"));
      return std::nullopt;
    }
    if (result.path == "devices" && result.value.name.starts_with("tpu")) {
      cx.report(diag::device_not_built(setting.value.span, result.value.name)
                    .note("`ltrc export --stablehlo` will run the step on any XLA device"));
    }
    return result;
  }
  result.value = check_as(setting.value, type_of_text(info->type), scope,
                          ("`" + setting.name.text + "`").c_str());
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
