#include <array>
#include <string_view>

#include "dsl/diagnostics/render.h"

namespace ltr::diagnostics {

namespace {

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xfU];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_place(std::string& out, Span span, const source::SourceManager& sources) {
  if (!sources.contains(span.source)) {
    out += R"("file":null,"line":0,"column":0,"end_line":0,"end_column":0)";
    return;
  }
  const source::Range range = sources.position(span);
  out += "\"file\":";
  append_string(out, sources.path(span.source));
  out += fill(R"(,"line":{},"column":{},"end_line":{},"end_column":{})",
              {range.begin.line, range.begin.column, range.end.line, range.end.column});
}

template <class Range, class Append>
void append_list(std::string& out, std::string_view name, const Range& range, const Append& append) {
  out += ",\"";
  out += name;
  out += "\":[";
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += ',';
    first = false;
    append(element);
  }
  out += ']';
}

}  // namespace

std::string render_json(const Diagnostic& diagnostic, const source::SourceManager& sources) {
  std::string out = "{\"code\":";
  append_string(out, to_text(diagnostic.code));
  out += diagnostic.severity == Severity::Error ? R"(,"severity":"error","message":)"
                                                : R"(,"severity":"warning","message":)";
  append_string(out, diagnostic.message);
  out += ',';
  append_place(out, diagnostic.span, sources);
  append_list(out, "labels", diagnostic.labels, [&](const Label& label) {
    out += '{';
    append_place(out, label.span, sources);
    out += ",\"message\":";
    append_string(out, label.message);
    out += '}';
  });
  append_list(out, "notes", diagnostic.notes, [&](const std::string& note) { append_string(out, note); });
  out += ",\"help\":";
  if (diagnostic.helps.empty()) {
    out += "null";
  } else {
    std::string help;
    for (const std::string& line : diagnostic.helps) {
      if (!help.empty()) help += '\n';
      help += line;
    }
    append_string(out, help);
  }
  append_list(out, "fix", diagnostic.fixes, [&](const Fix& fix) {
    out += "{\"file\":";
    append_string(out, sources.path(fix.span.source));
    out += fill(R"(,"start":{},"end":{},"text":)", {fix.span.begin, fix.span.end});
    append_string(out, fix.replacement);
    out += '}';
  });
  out += "}\n";
  return out;
}

}  // namespace ltr::diagnostics
