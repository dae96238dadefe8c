#include "dsl/diagnostics/render.h"

namespace ltr::diagnostics {

std::string render_short(const Diagnostic& diagnostic, const source::SourceManager& sources) {
  std::string out;
  if (sources.contains(diagnostic.span.source)) {
    const source::Position place = sources.position(diagnostic.span).begin;
    out += fill("{}:{}:{}: ", {sources.path(diagnostic.span.source), place.line, place.column});
  }
  out += diagnostic.severity == Severity::Error ? "error[" : "warning[";
  out += to_text(diagnostic.code);
  out += "]: ";
  out += diagnostic.message;
  out += '\n';
  return out;
}

}  // namespace ltr::diagnostics
