#include "runtime/settings/value_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "doors/csv.h"
#include "doors/number.h"
#include "runtime/api/long_lived.h"
#include "runtime/settings/devices.h"

namespace ltr {

namespace {

Str trim(const Str& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == Str::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

/// A recursive-descent reader of values as `.ltr` writes them. `ok` turns false at the first fault.
class Reader {
 public:
  explicit Reader(const Str& text) : text_(text) {}

  Option<Value> whole() {
    Value value = read();
    skip_blanks();
    if (!ok_ || position_ != text_.size()) return std::nullopt;
    return value;
  }

 private:
  void skip_blanks() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0) ++position_;
  }
  char peek() {
    skip_blanks();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  Value fail() {
    ok_ = false;
    return {};
  }

  Value read() {
    if (!ok_ || ++depth_ > 64) return fail();
    const char c = peek();
    Value value;
    if (c == '"')
      value = quoted();
    else if (c == '[')
      value = group('[', ']', Value::Kind::List);
    else if (c == '(')
      value = group('(', ')', Value::Kind::Tuple);
    else if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.')
      value = number();
    else
      value = word();
    --depth_;
    return value;
  }

  Value quoted() {
    Str out;
    ++position_;
    while (position_ < text_.size() && text_[position_] != '"') {
      const bool is_escaped = text_[position_] == '\\' && position_ + 1 < text_.size();
      const char c = text_[position_ += is_escaped ? 1 : 0];
      out += is_escaped && c == 'n' ? '\n' : is_escaped && c == 't' ? '\t' : c;
      ++position_;
    }
    if (!take('"')) return fail();
    return Value(out);
  }

  Value group(char open, char close, Value::Kind kind) {
    Value value;
    value.kind = kind;
    take(open);
    while (ok_ && peek() != close) {
      value.items.push_back({"", read(), "", {}});
      if (!take(',')) break;
    }
    return take(close) ? value : fail();
  }

  Str name() {
    const size_t begin = position_;
    while (position_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[position_])) != 0 ||
                                        text_[position_] == '_' || text_[position_] == '.')) {
      ++position_;
    }
    return text_.substr(begin, position_ - begin);
  }

  Value number() {
    const size_t begin = position_;
    if (text_[position_] == '-' || text_[position_] == '+') ++position_;
    Str digits;
    bool is_real = false;
    for (; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      const bool is_sign = (c == '-' || c == '+') && !digits.empty() && (digits.back() == 'e' || digits.back() == 'E');
      if (c == '_') continue;
      if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && c != 'e' && c != 'E' && !is_sign) break;
      // The `e` of `5 epochs` and `5epochs` begins a unit, not an exponent.
      if ((c == 'e' || c == 'E') && position_ + 1 < text_.size() &&
          std::isalpha(static_cast<unsigned char>(text_[position_ + 1])) != 0)
        break;
      is_real = is_real || c == '.' || c == 'e' || c == 'E';
      digits += c;
    }
    if (text_[begin] == '-') digits.insert(digits.begin(), '-');
    int64_t whole = 0;
    double real = 0;
    const bool is_int = !is_real && doors::parse_int(digits, whole);
    if (digits.empty() || !doors::parse_float(digits, real) || std::isnan(real)) return fail();
    skip_blanks();
    const Str unit = name();
    // 1e400 is infinity, which only a number without a unit may be asked about.
    if (!unit.empty() && !std::isfinite(real)) return fail();
    if (unit.empty()) return is_int ? Value(whole) : Value(real);
    if (unit == "step" || unit == "steps") return Value::steps(real);
    if (unit == "epoch" || unit == "epochs") return Value::epochs(real);
    if (unit == "ms") return Value::seconds(real / 1000);
    if (unit == "s" || unit == "sec") return Value::seconds(real);
    if (unit == "min" || unit == "m") return Value::seconds(real * 60);
    if (unit == "h") return Value::seconds(real * 3600);
    if (unit == "B") return Value::bytes(int64_t(real));
    if (unit == "KiB") return Value::bytes(int64_t(real * 1024));
    if (unit == "MiB") return Value::bytes(int64_t(real * 1048576));
    if (unit == "GiB") return Value::bytes(int64_t(real * 1073741824));
    return fail();
  }

  Value word() {
    const Str text = name();
    if (text.empty()) return fail();
    if (text == "none") return {};
    if (text == "true") return Value(true);
    if (text == "false") return Value(false);
    if (text == "nan" || text == "inf") return Value(text == "nan" ? NAN : INFINITY);
    if (peek() == '(') return call(text);
    if (peek() == '[') {
      // Devices: cuda[4].
      const Value list = group('[', ']', Value::Kind::List);
      return ok_ && list.items.size() == 1 ? Value::symbol(text + "[" + list.items[0].value.to_text() + "]") : fail();
    }
    return text.find('.') != Str::npos ? Value::series(text) : Value::symbol(text);
  }

  Value call(const Str& callee) {
    std::vector<Argument> arguments;
    take('(');
    while (ok_ && peek() != ')') {
      const size_t before = position_;
      const Str argument = name();
      const bool is_named = !argument.empty() && peek() == '=';
      if (is_named)
        take('=');
      else
        position_ = before;
      arguments.push_back({is_named ? long_lived(argument) : "", read(), "", {}});
      if (!take(',')) break;
    }
    if (!take(')')) return fail();
    return Value::call(callee, std::move(arguments));
  }

  const Str& text_;
  size_t position_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

Str inside_brackets(const Str& type) {
  const size_t open = type.find('[');
  return open == Str::npos ? "" : type.substr(open + 1, type.size() - open - 2);
}

std::vector<Str> choices(const Str& type) {
  std::vector<Str> out;
  Str word;
  for (const char c : inside_brackets(type) + ",") {
    if (c == ',') {
      out.push_back(trim(word));
      word.clear();
    } else {
      word += c;
    }
  }
  return out;
}

Option<Value> parse_choice(const Str& text, const Str& type, Str& wanted) {
  const std::vector<Str> names = choices(type);
  if (std::find(names.begin(), names.end(), text) != names.end()) return Value::symbol(text);
  wanted.clear();
  for (const Str& name : names) wanted += (wanted.empty() ? "" : &name == &names.back() ? " or " : ", ") + name;
  return std::nullopt;
}

/// What stands between brackets, cut at the commas outside of inner ones.
std::vector<Str> parts_of(const Str& type) {
  std::vector<Str> parts(1);
  int depth = 0;
  for (const char c : type.substr(1, type.size() - 2)) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (Str& part : parts) part = trim(part);
  return parts;
}

/// The elements of a list or tuple, each as a value of its own type. JSON has no tuples: a list of as many elements is one.
Option<Value> parse_elements(const Value& read, const Str& type, Str& wanted) {
  const bool is_list = type.starts_with("list[");
  if (type == "list[str]" && (read.kind == Value::Kind::Symbol || read.kind == Value::Kind::Str)) {
    wanted = fmt::format("a list such as [\"{}\"]", show(read));
    return std::nullopt;
  }
  const std::vector<Str> parts = is_list ? std::vector<Str>{inside_brackets(type)} : parts_of(type);
  Value value = read;
  const bool is_row = value.kind == Value::Kind::List || value.kind == Value::Kind::Tuple;
  const bool fits = is_list ? value.kind == Value::Kind::List : is_row && value.items.size() == parts.size();
  if (fits && !is_list) value.kind = Value::Kind::Tuple;
  for (size_t i = 0; fits && i < value.items.size(); ++i) {
    Value& item = value.items[i].value;
    Str unused;
    const Option<Value> element = parse_value(show(item), is_list ? parts[0] : parts[i], unused);
    if (!element) {
      wanted = type;
      return std::nullopt;
    }
    item = *element;
  }
  if (fits) return value;
  wanted = type;
  return std::nullopt;
}

struct Param {
  const char* name;
  const char* type;
  const char* initial = "";  ///< "": it must be given
};

struct CallForm {
  const char* name;
  std::vector<Param> params;
};

/// The calls of `stdlib/trainer/` and `stdlib/sweep/`.
const std::vector<CallForm>& call_forms() {
  static const std::vector<CallForm> forms = {
      {"fraction", {{"x", "float"}}},
      {"by_epoch", {{"pairs", "list[(int, int)]"}}},
      {"ramp", {{"from", "int"}, {"to", "int"}, {"over", "period"}}},
      {"count", {{"field", "str"}, {"ignore", "int", "-100"}}},
      {"uniform", {{"low", "float"}, {"high", "float"}}},
      {"log_uniform", {{"low", "float"}, {"high", "float"}}},
      {"normal", {{"mean", "float"}, {"std", "float"}}},
      {"int_uniform", {{"low", "int"}, {"high", "int"}}},
  };
  return forms;
}

/// The call with all of its arguments, each under its name and of its type; nothing where one is missing, or one too
/// many.
Option<Value> bound_call(const Value& call) {
  const auto form = std::find_if(call_forms().begin(), call_forms().end(),
                                 [&](const CallForm& one) { return call.text == one.name; });
  if (form == call_forms().end() || call.items.size() > form->params.size()) return std::nullopt;
  std::vector<Argument> arguments;
  size_t used = 0;
  for (size_t i = 0; i < form->params.size(); ++i) {
    const Param& param = form->params[i];
    const Value* given = call.find(param.name);
    if (given == nullptr && i < call.items.size() && *call.items[i].name == 0) given = &call.items[i].value;
    used += given != nullptr ? 1 : 0;
    Str unused;
    const Option<Value> value = parse_value(given != nullptr ? show(*given) : Str(param.initial), param.type, unused);
    if (!value || (given == nullptr && *param.initial == 0)) return std::nullopt;
    arguments.push_back({param.name, *value, param.type, {}});
  }
  return used == call.items.size() ? Option<Value>(Value::call(call.text, std::move(arguments))) : std::nullopt;
}

/// `int or by_epoch or ramp`: a value of the type, or one of the calls behind it. Of `int or all` the word, of
/// `float or period` a value of the other type.
Option<Value> parse_alternatives(const Str& text, const Str& type, Str& wanted) {
  const size_t first = type.find(" or ");
  if (Option<Value> plain = parse_value(text, type.substr(0, first), wanted)) return plain;
  if (type == "int or all") {
    if (text == "all") return Value::symbol(text);
    wanted += " or all";
    return std::nullopt;
  }
  if (type == "float or period") {
    Str other;
    if (Option<Value> period = parse_value(text, "period", other)) return period;
    wanted += " or " + other;
    return std::nullopt;
  }
  const Option<Value> read = Reader(text).whole();
  const bool is_named =
      read && read->kind == Value::Kind::Call && (type + " ").find(" or " + read->text + " ") != Str::npos;
  if (is_named) {
    if (Option<Value> call = bound_call(*read)) return call;
  }
  for (const CallForm& form : call_forms()) {
    if ((type + " ").find(fmt::format(" or {} ", form.name)) == Str::npos) continue;
    Str params;
    for (const Param& param : form.params)
      params += fmt::format("{}{}: {}", params.empty() ? "" : ", ", param.name, param.type);
    wanted += fmt::format(" or {}({})", form.name, params);
  }
  return std::nullopt;
}

}  // namespace

Option<Value> parse_value(const Str& given, const Str& type, Str& wanted) {
  using Kind = Value::Kind;
  const Str text = trim(given);
  if (type == "str" || type == "path" || type == "text") {
    // Quotes are not needed, but those of a config file's text are understood.
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return Reader(text).whole();
    return Value(given);
  }
  if (type.starts_with("option[")) {
    if (text == "none" || text == "null") return Value();  // `null` is what JSON says.
    return parse_value(text, inside_brackets(type), wanted);
  }
  if (type.find(" or ") != Str::npos) return parse_alternatives(text, type, wanted);
  if (type == "auto_or_int" || type == "auto_or_bytes") {
    if (text == "auto") return Value::symbol(text);
    const bool is_count = type == "auto_or_int";
    const Option<Value> own = parse_value(text, is_count ? "int" : "bytes", wanted);
    wanted = is_count ? "auto or a number" : "auto or a size with its unit, such as 25 MiB";
    return own;
  }
  if (type == "fixed") {
    wanted = "nothing: records are given in the program";
    return std::nullopt;
  }
  if (type.starts_with("one_of[")) return parse_choice(text, type, wanted);
  Option<Value> value = Reader(text).whole();
  const Kind kind = value ? value->kind : Kind::None;
  if (type == "int") {
    const size_t first = text.starts_with('-') ? 1 : 0;
    const bool is_whole = text.size() > first && text.find_first_not_of("0123456789_", first) == Str::npos;
    wanted = is_whole ? "a whole number between -2^63 and 2^63 - 1" : "a whole number";
    if (kind == Kind::Float && std::floor(value->real) == value->real && std::abs(value->real) < 9e15) {
      return Value(int64_t(value->real));  // 1e5
    }
    return kind == Kind::Int ? value : std::nullopt;
  }
  if (type == "float") {
    wanted = "a finite number";
    if (kind == Kind::Float && !std::isfinite(value->real)) return std::nullopt;
    if (kind == Kind::Int) return Value(double(value->whole));
    return kind == Kind::Float ? value : std::nullopt;
  }
  if (type == "bool") {
    wanted = "true or false";
    return kind == Kind::Bool ? value : std::nullopt;
  }
  if (type == "duration") {
    wanted = "a time such as 30 s, 5 min or 2 h";
    return kind == Kind::Seconds ? value : std::nullopt;
  }
  if (type == "period") {
    wanted = "a count with a unit, such as 200 steps, 1 epoch or 10 min";
    return kind == Kind::Steps || kind == Kind::Epochs || kind == Kind::Seconds ? value : std::nullopt;
  }
  if (type == "bytes") {
    wanted = "a size with its unit, such as 4 GiB";
    return kind == Kind::Bytes ? value : std::nullopt;
  }
  if (type == "devices") {
    wanted = "auto, cpu, cpu[4], cuda or cuda[8]";
    return kind == Kind::Symbol && read_devices(value->text) ? value : std::nullopt;
  }
  if (type == "series") {
    wanted = "a series such as val.loss";
    if (kind == Kind::Series) return value;
    return std::nullopt;
  }
  if (type == "limit") {
    wanted = "a count of batches or a part such as 10%";
    double percent = 0;
    if (text.size() > 1 && text.back() == '%' && doors::parse_float(text.substr(0, text.size() - 1), percent)) {
      if (!(percent >= 0 && percent <= 100)) return std::nullopt;
      return Value::call("fraction", {{"x", Value(percent / 100), "float", {}}});
    }
    if (kind == Kind::Float) {
      wanted = value->real == 1 ? "1 or 100%" : doors::shortest(value->real * 100) + "%";
      return std::nullopt;
    }
    if (kind == Kind::Call && value->text == "fraction") {
      const Option<Value> part = bound_call(*value);
      return part && part->items[0].value.real >= 0 && part->items[0].value.real <= 1 ? part : std::nullopt;
    }
    return kind == Kind::Int && value->whole >= 0 ? value : std::nullopt;
  }
  wanted = type.empty() ? "a value as in .ltr" : type;
  if (value && (type.starts_with("list[") || type.starts_with("("))) return parse_elements(*value, type, wanted);
  return value;
}

Str show(const Value& value) {
  if (value.kind == Value::Kind::Str) return value.text;
  if (value.kind == Value::Kind::Float) return doors::shortest(value.real);
  return value.to_text();
}

Str to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::None: return "null";
    case Value::Kind::Bool: return value.as_bool() ? "true" : "false";
    case Value::Kind::Int: return std::to_string(value.whole);
    case Value::Kind::Float: return doors::json_number(value.real);
    case Value::Kind::Str: return doors::json_string(value.text);
    default: return doors::json_string(value.to_text());
  }
}

}  // namespace ltr
