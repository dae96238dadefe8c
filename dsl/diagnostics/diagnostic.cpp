#include "dsl/diagnostics/diagnostic.h"

#include <array>

namespace ltr::diagnostics {

namespace {

constexpr std::array kCodes = {
    CodeInfo{},
#define LTR_DIAGNOSTIC(code, name, severity, format, ...) \
  CodeInfo{Code::code, #code, #name, Severity::severity, format},
#include "dsl/diagnostics/diagnostics.def"
};

}  // namespace

std::string fill(std::string_view format, std::span<const std::string> arguments) {
  std::string out;
  auto next = arguments.begin();
  for (size_t i = 0; i < format.size(); ++i) {
    if (format.substr(i, 2) == "{}" && next != arguments.end()) {
      out += *next++;
      ++i;
    } else {
      out += format[i];
    }
  }
  return out;
}

std::string fill(std::string_view format, std::initializer_list<Text> arguments) {
  std::vector<std::string> words;
  for (const Text& argument : arguments) words.push_back(argument.value());
  return fill(format, words);
}

std::span<const CodeInfo> all_codes() { return std::span(kCodes).subspan(1); }

const CodeInfo& info(Code code) { return kCodes[static_cast<size_t>(code)]; }

std::string_view to_text(Code code) { return info(code).text; }

std::optional<Code> find_code(std::string_view text) {
  for (const CodeInfo& row : all_codes()) {
    if (row.text == text) return row.code;
  }
  return std::nullopt;
}

}  // namespace ltr::diagnostics
