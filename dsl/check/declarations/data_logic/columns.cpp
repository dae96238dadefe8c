#include <algorithm>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

/// The fields of the first line of a table, RFC 4180.
std::vector<std::string> header_of(const std::string& line, char separator) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (size_t i = line.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (is_quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += '"';
        ++i;
      } else {
        is_quoted = !is_quoted;
      }
    } else if (c == separator && !is_quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

void check_table(Context& cx, const ExprView& table, const node::Op& call, const DataObject& data,
                 const ExprIds& arguments, const Experiment& experiment) {
  const auto text = [&](size_t i) -> std::string {
    if (i >= call.args.size()) return "";
    const Wired wired = wire(cx.at(call.args[i]), data.object, arguments, experiment, cx.program);
    const auto* constant = wired.expr.get<node::StrConst>();
    return constant != nullptr ? constant->text : "";
  };
  const std::string path = text(0), separator = text(1);
  if (path.empty() || separator.size() != 1) return;
  const auto line = cx.files->first_line(path, std::string(cx.sources.path(table.span.source)));
  if (!line) return;
  const std::vector<std::string> columns = header_of(*line, separator[0]);
  std::string list;
  for (const std::string& column : columns) list += (list.empty() ? "" : ", ") + column;
  const std::string source = cx.source_text(table.span);
  for (const TypeField& field : table.type.fields) {
    if (std::find(columns.begin(), columns.end(), field.name) != columns.end()) continue;
    // The name within `as {…}`, which the typed program no longer has a place for.
    Span span = table.span;
    const size_t schema = source.rfind('{');
    const size_t at = schema == std::string::npos ? schema : source.find(field.name, schema);
    if (at != std::string::npos) {
      span.begin = table.span.begin + uint32_t(at);
      span.end = span.begin + uint32_t(field.name.size());
    }
    diagnostics::Diagnostic diagnostic = diag::unknown_column(span, "\"" + path + "\"", field.name);
    diagnostic.note("its columns are {}", list);
    const size_t other = columns.size() == 1 ? columns[0].find_first_of(";\t|") : std::string::npos;
    if (other != std::string::npos) {
      const std::string shown = columns[0][other] == '\t' ? "\\t" : std::string(1, columns[0][other]);
      diagnostic.help("they seem to be separated by `{}`: `csv(…, sep = \"{}\")`", shown, shown);
      cx.report(std::move(diagnostic));
      return;
    }
    if (const auto near = diagnostics::suggest(field.name, columns))
      diagnostic.help("did you mean `{}`?", *near).fix(span, *near);
    cx.report(std::move(diagnostic));
  }
}

void find_tables(Context& cx, const ExprView& expr, const DataObject& data, const ExprIds& arguments,
                 const Experiment& experiment) {
  const auto* call = expr.get<node::Op>();
  if (call != nullptr && call->op == library::Id::CsvFile && !expr.type.is_error())
    check_table(cx, expr, *call, data, arguments, experiment);
  for_each_child(expr, [&](ExprId child) { find_tables(cx, cx.at(child), data, arguments, experiment); });
}

}  // namespace

void check_columns(Context& cx, const DataObject& data, const ExprIds& arguments, const Experiment& experiment) {
  if (cx.files == nullptr) return;
  for (const Member& member : data.object.members) find_tables(cx, member.value, data, arguments, experiment);
  for (const StreamDecl& stream : data.streams) find_tables(cx, stream.value, data, arguments, experiment);
}

}  // namespace ltr::check
