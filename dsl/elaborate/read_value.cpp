#include "dsl/elaborate/read_value.h"

#include <cstdlib>
#include <vector>

#include "dsl/host/unit.h"

namespace ltr::elaborate {

using check::Kind;

namespace {

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

/// What stands between the commas of `[7, [8, 9]]`, outside of inner brackets and quotes; nothing without the brackets around.
std::optional<std::vector<std::string>> elements_of(const std::string& text) {
  const bool is_list =
      text.size() >= 2 && ((text.front() == '[' && text.back() == ']') || (text.front() == '(' && text.back() == ')'));
  if (!is_list) return std::nullopt;
  std::vector<std::string> parts(1);
  int depth = 0;
  bool is_quoted = false;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && text[i - 1] != '\\') is_quoted = !is_quoted;
    if (!is_quoted) depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    if (c == ',' && depth == 0 && !is_quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  if (parts.back().empty()) parts.pop_back();  // of `[]`, or behind a last comma
  return parts;
}

/// The number that `text` begins with; what stands behind it goes to `rest`.
std::optional<double> read_number(const std::string& text, std::string& rest) {
  char* stop = nullptr;
  const double real = std::strtod(text.c_str(), &stop);
  if (stop == text.c_str()) return std::nullopt;
  rest = trimmed(stop);
  return real;
}

std::optional<Value> read_quantity(Kind kind, const std::string& text) {
  std::string unit_text;
  const auto number = read_number(text, unit_text);
  const host::Unit* unit = host::find_unit(unit_text);
  if (!number || unit == nullptr) return std::nullopt;
  const bool is_time = unit->measure == host::Measure::Seconds, is_size = unit->measure == host::Measure::Bytes;
  // A time fits a period.
  const bool fits = kind == Kind::Bytes ? is_size : kind == Kind::Duration ? is_time : !is_size;
  if (!fits) return std::nullopt;
  Value value = Value::of_float(*number * unit->factor);
  value.text = host::to_text(unit->measure);
  return value;
}

std::optional<Value> read_elements(const check::Type& type, const std::string& text) {
  const auto parts = elements_of(text);
  const bool is_tuple = type.kind == Kind::Tuple;
  if (!parts || (is_tuple && parts->size() != type.fields.size())) return std::nullopt;
  Value list;
  list.kind = Value::Kind::List;
  for (size_t i = 0; i < parts->size(); ++i) {
    const check::Type& of = type.fields[is_tuple ? i : 0].type;
    std::string part = (*parts)[i];
    const bool is_quoted = part.size() >= 2 && part.front() == '"' && part.back() == '"';
    if (is_quoted && (of.kind == Kind::Str || of.kind == Kind::Path)) part = part.substr(1, part.size() - 2);
    const auto item = read_value(of, part);
    if (!item) return std::nullopt;
    list.items.push_back(*item);
  }
  return list;
}

}  // namespace

std::optional<Value> read_value(const check::Type& type, const std::string& text) {
  std::string rest;
  switch (type.kind) {
    case Kind::Int: {
      char* stop = nullptr;
      const int64_t whole = std::strtoll(text.c_str(), &stop, 10);
      if (text.empty() || *stop != '\0') return std::nullopt;
      return Value::of_int(whole);
    }
    case Kind::Float: {
      const auto real = read_number(text, rest);
      return real && rest.empty() ? std::optional(Value::of_float(*real)) : std::nullopt;
    }
    case Kind::Bool:
      if (text == "true" || text == "false") return Value::of_bool(text == "true");
      return std::nullopt;
    case Kind::Option: return text == "none" ? Value::none() : read_value(type.fields[0].type, text);
    case Kind::List:
    case Kind::Tuple: return read_elements(type, trimmed(text));
    case Kind::Duration:
    case Kind::Period:
    case Kind::Bytes: return read_quantity(type.kind, text);
    default: return Value::of_str(text);
  }
}

}  // namespace ltr::elaborate
