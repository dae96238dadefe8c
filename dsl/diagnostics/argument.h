#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ltr::diagnostics {

/// An argument of a message. A type of ours becomes one through a function `to_text(value)` in its own
/// namespace, so messages print types, dims and names the same way everywhere.
class Text {
 public:
  Text(std::string value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): an argument
  Text(std::string_view value) : value_(value) {}        // NOLINT(google-explicit-constructor)
  Text(const char* value) : value_(value) {}             // NOLINT(google-explicit-constructor)
  template <std::integral T>
  Text(T value) : value_(std::to_string(value)) {}  // NOLINT(google-explicit-constructor)
  template <class T>
    requires requires(const T& value) {
      { to_text(value) } -> std::convertible_to<std::string>;
    }
  Text(const T& value) : value_(to_text(value)) {}  // NOLINT(google-explicit-constructor)

  const std::string& value() const { return value_; }

 private:
  std::string value_;
};

/// Number of `{}` in a message; `{` stands for nothing else.
constexpr size_t count_placeholders(std::string_view format) {
  size_t count = 0;
  for (size_t i = 0; i + 1 < format.size(); ++i) {
    if (format[i] == '{' && format[i + 1] == '}') ++count;
  }
  return count;
}

/// A message whose placeholders were counted by the C++ compiler.
template <size_t N>
class Format {
 public:
  template <class S>
    requires std::convertible_to<const S&, std::string_view>
  consteval Format(const S& format) : format_(format) {  // NOLINT(google-explicit-constructor): a literal
    if (count_placeholders(format_) != N) throw "the number of {} and of arguments differ";
  }
  constexpr std::string_view text() const { return format_; }

 private:
  std::string_view format_;
};

/// `format` with its placeholders replaced in order.
std::string fill(std::string_view format, std::span<const std::string> arguments);
std::string fill(std::string_view format, std::initializer_list<Text> arguments);

}  // namespace ltr::diagnostics
