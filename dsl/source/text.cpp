#include "dsl/source/text.h"

namespace ltr::source {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

std::string to_text(const Range& range) {
  const auto place = [](Position position) {
    return std::to_string(position.line) + ":" + std::to_string(position.column);
  };
  return place(range.begin) + "-" + place(range.end);
}

}  // namespace ltr::source
