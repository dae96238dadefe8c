#include <fmt/core.h>

#include "ltrc/language_server/features.h"

namespace ltr::language_server {

namespace {

using diagnostics::Diagnostic;

Json to_json(const Diagnostic& diagnostic, const Snapshot& snapshot) {
  std::string message = diagnostic.message;
  for (const std::string& note : diagnostic.notes) message += "\nnote: " + note;
  for (const std::string& help : diagnostic.helps) message += "\nhelp: " + help;
  Json related = Json::array();
  for (const diagnostics::Label& label : diagnostic.labels) {
    Json location = snapshot.location(label.span);
    if (!location.is_null()) related.push_back({{"location", std::move(location)}, {"message", label.message}});
  }
  Json result = {{"range", snapshot.range(diagnostic.span)},
                 {"severity", diagnostic.severity == diagnostics::Severity::Error ? 1 : 2},
                 {"code", diagnostics::to_text(diagnostic.code)},
                 {"source", "ltrc"},
                 {"message", std::move(message)}};
  if (!related.empty()) result["relatedInformation"] = std::move(related);
  return result;
}

bool touches(const Json& range, Span span, const Snapshot& snapshot) {
  return snapshot.offset(range.at("start")) <= span.end && span.begin <= snapshot.offset(range.at("end"));
}

Json edits_of(const std::vector<diagnostics::Fix>& fixes, const Snapshot& snapshot) {
  Json edits = Json::array();
  for (const diagnostics::Fix& fix : fixes)
    edits.push_back({{"range", snapshot.range(fix.span)}, {"newText", fix.replacement}});
  return edits;
}

/// A place in the program for what was found in the library: the fault is the use of it.
bool is_in_library(const Diagnostic& diagnostic, const Snapshot& snapshot) {
  return snapshot.sources().path(diagnostic.span.source).starts_with("std/");
}

}  // namespace

Diagnostics diagnostics_of(const Snapshot& snapshot) {
  Diagnostics result;
  if (!snapshot.failure.empty()) {
    result.own.push_back({{"range", snapshot.range({kMain, 0, 0})},
                          {"severity", 1},
                          {"source", "ltrc"},
                          {"message", "ltrc itself made a mistake: " + snapshot.failure +
                                          "\nhelp: please report it with the .ltr file"}});
  }
  if (!snapshot.compilation.sink) return result;
  for (const Diagnostic& diagnostic : snapshot.compilation.sink->sorted()) {
    Json json = to_json(diagnostic, snapshot);
    const source::SourceId file = diagnostic.span.source;
    if (file == kMain || !snapshot.sources().contains(file) || is_in_library(diagnostic, snapshot)) {
      if (file != kMain) json["range"] = snapshot.range({kMain, 0, 0});
      result.own.push_back(std::move(json));
    } else {
      Json& list = result.others[uri_of(openable(snapshot.sources().path(file)))];
      list.push_back(std::move(json));
    }
  }
  return result;
}

Json code_actions(const Snapshot& snapshot, const std::string& uri, const Json& range) {
  Json actions = Json::array();
  if (!snapshot.compilation.sink) return actions;
  for (const Diagnostic& diagnostic : snapshot.compilation.sink->sorted()) {
    if (diagnostic.fixes.empty() || diagnostic.span.source != kMain) continue;
    if (!touches(range, diagnostic.span, snapshot)) continue;
    const diagnostics::Fix& first = diagnostic.fixes[0];
    const std::string old(snapshot.sources().text(first.span));
    std::string title = first.span.is_empty()       ? fmt::format("insert `{}`", first.replacement)
                        : first.replacement.empty() ? fmt::format("remove `{}`", old)
                                                    : fmt::format("write `{}`", first.replacement);
    while (title.find('\n') != std::string::npos) title.replace(title.find('\n'), 1, " ");
    actions.push_back({{"title", title},
                       {"kind", "quickfix"},
                       {"isPreferred", !first.is_guess},
                       {"diagnostics", Json::array({to_json(diagnostic, snapshot)})},
                       {"edit", {{"changes", {{uri, edits_of(diagnostic.fixes, snapshot)}}}}}});
  }
  return actions;
}

}  // namespace ltr::language_server
