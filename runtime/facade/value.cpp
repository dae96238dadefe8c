#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ltr/api.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/step_watch.h"

namespace ltr {

namespace {

Value make(Value::Kind kind, double real) {
  Value value;
  value.kind = kind;
  value.real = real;
  return value;
}

Value named(Value::Kind kind, Str name) {
  Value value;
  value.kind = kind;
  value.text = std::move(name);
  return value;
}

Value group(Value::Kind kind, std::vector<Value> values) {
  Value value;
  value.kind = kind;
  for (Value& item : values) value.items.push_back({"", std::move(item), "", {}});
  return value;
}

/// The shortest decimals that read back as `value`, with a point or exponent.
Str shortest(double value) {
  Str text = fmt::format("{}", value);
  if (text.find_first_of(".en") == Str::npos) text += ".0";
  return text;
}

/// In the largest unit that it is a whole number of.
Str size_text(int64_t bytes) {
  constexpr std::pair<const char*, int64_t> kUnits[] = {
      {"GiB", int64_t(1) << 30}, {"MiB", int64_t(1) << 20}, {"KiB", int64_t(1) << 10}};
  for (const auto& [unit, size] : kUnits) {
    if (bytes != 0 && bytes % size == 0) return fmt::format("{} {}", bytes / size, unit);
  }
  return fmt::format("{} B", bytes);
}

Str joined(const std::vector<Argument>& items, bool with_names) {
  Str text;
  for (const Argument& item : items) {
    if (!text.empty()) text += ", ";
    if (with_names) text += fmt::format("{} = ", item.name);
    text += item.value.to_text();
  }
  return text;
}

Str quoted(const Str& text) {
  Str out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      if (c == '"' || c == '\\' || c == '{') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

template <class T>
Str formatted(const T& value, const char* format) {
  if (*format == '\0') return fmt::format("{}", value);
  try {
    return fmt::format(fmt::runtime(fmt::format("{{:{}}}", format)), value);
  } catch (const fmt::format_error& error) {
    throw error_here(err::shape_check_failed, fmt::format("the format `{}`: {}", format, error.what()));
  }
}

}  // namespace

Value Value::symbol(Str name) { return named(Kind::Symbol, std::move(name)); }

Value Value::series(Str name) { return named(Kind::Series, std::move(name)); }

Value Value::steps(double count) { return make(Kind::Steps, count); }

Value Value::epochs(double count) { return make(Kind::Epochs, count); }

Value Value::seconds(double count) { return make(Kind::Seconds, count); }

Value Value::bytes(int64_t count) {
  Value value = make(Kind::Bytes, double(count));
  value.whole = count;
  return value;
}

Value Value::list(std::vector<Value> values) { return group(Kind::List, std::move(values)); }

Value Value::tuple(std::vector<Value> values) { return group(Kind::Tuple, std::move(values)); }

Value Value::call(Str name, std::vector<Argument> arguments, Location location) {
  Value value = named(Kind::Call, std::move(name));
  value.items = std::move(arguments);
  value.location = location;
  return value;
}

const Value* Value::find(const char* name) const {
  for (const Argument& item : items) {
    if (std::strcmp(item.name, name) == 0) return &item.value;
  }
  return nullptr;
}

Str Value::to_text() const {
  switch (kind) {
    case Kind::None: return "none";
    case Kind::Bool: return whole != 0 ? "true" : "false";
    case Kind::Int: return fmt::format("{}", whole);
    case Kind::Float: return shortest(real);
    case Kind::Str: return quoted(text);
    case Kind::Symbol:
    case Kind::Series: return text;
    case Kind::Steps: return fmt::format("{} steps", real);
    case Kind::Epochs: return fmt::format("{} {}", real, real == 1 ? "epoch" : "epochs");
    case Kind::Seconds: return fmt::format("{} s", real);
    case Kind::Bytes: return size_text(whole);
    case Kind::List: return fmt::format("[{}]", joined(items, false));
    case Kind::Tuple: return fmt::format("({})", joined(items, false));
    case Kind::Call: return fmt::format("{}({})", text, joined(items, true));
  }
  return "";
}

Str text_of(int64_t value, const char* format) { return formatted(value, format); }

// Of what is not a number the sign says nothing.
Str text_of(double value, const char* format) {
  return formatted(std::isnan(value) ? std::fabs(value) : value, format);
}

Str text_of(bool value, const char* format) { return formatted(value, format); }

Str text_of(const Str& value, const char* format) { return formatted(value, format); }

namespace {

/// Of more elements than this, each axis shows its first and last three, as PyTorch does.
constexpr int64_t kShownWhole = 1000;
constexpr int64_t kEdge = 3;

Str element_text(const at::Tensor& tensor, const char* format) {
  if (tensor.scalar_type() == at::kBool) return formatted(tensor.item<bool>(), format);
  return tensor.is_floating_point() ? text_of(tensor.item<double>(), format)
                                    : formatted(tensor.item<int64_t>(), format);
}

/// `tensor` lies in host memory.
Str nested_text(const at::Tensor& tensor, const char* format, bool is_long) {
  if (tensor.dim() == 0) return element_text(tensor, format);
  const int64_t size = tensor.size(0);
  Str text = "[";
  for (int64_t i = 0; i < size; i++) {
    if (i > 0) text += ", ";
    if (is_long && i == kEdge && size > 2 * kEdge) {
      text += "…, ";
      i = size - kEdge;
    }
    text += nested_text(tensor.select(0, i), format, is_long);
  }
  return text + "]";
}

}  // namespace

Str text_of(const Tensor& value, const char* format) {
  refuse_plan(Unplanned::HostRead);
  const In tensor(value);
  if (!tensor->defined()) return "none";
  return nested_text(tensor->detach().cpu(), format, tensor->numel() > kShownWhole);
}

Text& Text::add(const char* literal) {
  text_ += literal;
  return *this;
}

Text& Text::add(int64_t value, const char* format) { return add(text_of(value, format).c_str()); }
Text& Text::add(double value, const char* format) { return add(text_of(value, format).c_str()); }
Text& Text::add(bool value, const char* format) { return add(text_of(value, format).c_str()); }
Text& Text::add(const Str& value, const char* format) {
  text_ += text_of(value, format);
  return *this;
}
Text& Text::add(const Tensor& value, const char* format) { return add(text_of(value, format).c_str()); }

Str Text::take() { return std::move(text_); }

// ---- what hooks see ------------------------------------------------------------------------------------------

Tensor batch_field(const Context& cx, const char* name) {
  for (size_t i = 0; cx.batch != nullptr && i < cx.schema->size(); i++) {
    if (std::strcmp((*cx.schema)[i].name, name) == 0 && cx.batch->fields[i].defined()) return cx.batch->fields[i];
  }
  throw error_here(err::shape_check_failed, fmt::format("this batch has no field {}", name));
}

Tensor output_field(const Context& cx, const char* name) {
  for (const Output& one : cx.outputs()) {
    if (std::strcmp(one.name, name) == 0) return one.value;
  }
  throw error_here(err::shape_check_failed, fmt::format("step predict gave no {}", name));
}

// ---- host arithmetic -----------------------------------------------------------------------------------------

namespace {

/// The quotient of the least int and -1 is no int.
void check_quotient(int64_t a, int64_t b, const Location& location) {
  if (b == 0) throw error_at(location, err::does_not_divide, b, a);
  if (a == INT64_MIN && b == -1) fail_overflow(a, "/", b, location);
}

}  // namespace

void fail_overflow(int64_t a, const char* op, int64_t b, const Location& location) {
  throw error_at(location, err::shape_check_failed, fmt::format("{} {} {} is more than an int holds", a, op, b));
}

int64_t exact_div(int64_t a, int64_t b, const Location& location) {
  check_quotient(a, b, location);
  if (a % b != 0) throw error_at(location, err::does_not_divide, b, a);
  return a / b;
}

int64_t floor_div(int64_t a, int64_t b, const Location& location) {
  check_quotient(a, b, location);
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t ceil_div(int64_t a, int64_t b, const Location& location) {
  check_quotient(a, b, location);
  return a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0);
}

int64_t mod(int64_t a, int64_t b, const Location& location) {
  if (b == 0) throw error_at(location, err::does_not_divide, b, a);
  if (b == -1) return 0;
  const int64_t rest = a % b;
  if (rest >= 0) return rest;
  return b < 0 ? rest - b : rest + b;
}

int64_t int_pow(int64_t base, int64_t exponent, const Location& location) {
  if (exponent < 0) throw error_at(location, err::shape_check_failed, "a whole number to a negative power");
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; i++) {
    if (__builtin_mul_overflow(result, base, &result)) fail_overflow(base, "**", exponent, location);
  }
  return result;
}

double real_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest < 0 ? rest + std::fabs(b) : rest;
}

int64_t whole(double value, const Location& location) {
  constexpr double kEnd = 9223372036854775808.0;
  if (!(value >= -kEnd && value < kEnd))
    throw error_at(location, err::shape_check_failed, fmt::format("{} is no int", value));
  return int64_t(value);
}

double real_pow(double base, double exponent) { return std::pow(base, exponent); }

int64_t list_end(int64_t from, int64_t to, const Location& location) {
  constexpr uint64_t kMostElements = 1'000'000'000;  // As `ltrc check` says of a length that it knows.
  if (to > from && uint64_t(to) - uint64_t(from) > kMostElements) {
    throw error_at(location, err::shape_check_failed,
                   fmt::format("the list of {} .. {} is longer than 1,000,000,000 elements", from, to));
  }
  return to;
}

void fail_slice(int64_t first, int64_t end, int64_t size, const Location& location) {
  throw error_at(location, err::shape_check_failed,
                 fmt::format("the range {} .. {} lies outside of a list of length {}", first, end, size));
}

void fail_index(int64_t index, int64_t size, const Location& location) {
  throw error_at(location, err::shape_check_failed,
                 fmt::format("the index {} lies outside of a list of length {}", index, size));
}

}  // namespace ltr
