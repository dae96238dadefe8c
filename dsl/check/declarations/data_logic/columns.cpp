#include <algorithm>
#include <cctype>

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

/// What a file says of its records.
struct Stored {
  std::string place;  ///< as messages name it
  std::vector<std::string> names;
};

std::optional<Stored> stored_columns(const std::string& path, const std::string& separator, const std::string& from,
                                     const DataFiles& files) {
  if (separator.size() != 1) return std::nullopt;
  const auto line = files.first_line(path, from);
  if (!line) return std::nullopt;
  return Stored{"\"" + path + "\"", header_of(*line, separator[0])};
}

std::optional<Stored> stored_fields(const std::string& pattern, const std::string& from, const DataFiles& files) {
  auto row = files.first_row(pattern, from);
  if (!row) return std::nullopt;
  return Stored{std::move(row->place), std::move(row->fields)};
}

/// Where `name` stands within `as {…}`, which the typed program no longer has a place for.
Span written_place(const std::string& name, Span whole, const std::string& source) {
  const auto is_word = [&](size_t at) {
    return at < source.size() && (std::isalnum(static_cast<unsigned char>(source[at])) != 0 || source[at] == '_');
  };
  for (size_t at = source.rfind('{'); at != std::string::npos; ++at) {
    at = source.find(name, at);
    if (at == std::string::npos) break;
    if (is_word(at + name.size()) || is_word(at - 1)) continue;
    whole.end = whole.begin + uint32_t(at + name.size());
    whole.begin += uint32_t(at);
    break;
  }
  return whole;
}

void check_file(Context& cx, const ExprView& read, const node::Op& call, const DataObject& data,
                const ExprIds& arguments, const Experiment& experiment) {
  const auto text = [&](size_t i) -> std::string {
    if (i >= call.args.size()) return "";
    const Wired wired = wire(cx.at(call.args[i]), data.object, arguments, experiment, cx.program);
    const auto* constant = wired.expr.get<node::StrConst>();
    return constant != nullptr ? constant->text : "";
  };
  const std::string path = text(0);
  if (path.empty()) return;
  const bool is_table = call.op == library::Id::CsvFile;
  const std::string from(cx.sources.path(read.span.source));
  const auto stored = is_table ? stored_columns(path, text(1), from, *cx.files) : stored_fields(path, from, *cx.files);
  if (!stored) return;
  std::string list;
  for (const std::string& name : stored->names) list += (list.empty() ? "" : ", ") + name;
  const std::string source = cx.source_text(read.span);
  for (const TypeField& field : read.type.fields) {
    if (std::find(stored->names.begin(), stored->names.end(), field.name) != stored->names.end()) continue;
    // A row need not have what is an option.
    if (!is_table && field.type.kind == Kind::Option) continue;
    const Span span = written_place(field.name, read.span, source);
    diagnostics::Diagnostic diagnostic =
        diag::unknown_column(span, stored->place, is_table ? "column" : "field", field.name);
    diagnostic.note("its {} are {}", is_table ? "columns" : "fields", list);
    const size_t other =
        is_table && stored->names.size() == 1 ? stored->names[0].find_first_of(";\t|") : std::string::npos;
    if (other != std::string::npos) {
      const char found = stored->names[0][other];
      const std::string shown = found == '\t' ? "\\t" : std::string(1, found);
      diagnostic.help("they seem to be separated by `{}`: `csv(…, sep = \"{}\")`", shown, shown);
      cx.report(std::move(diagnostic));
      return;
    }
    if (const auto near = diagnostics::suggest(field.name, stored->names)) {
      diagnostic.help("did you mean `{}`?", *near);
      if (span != read.span) diagnostic.guess(span, *near);
    }
    cx.report(std::move(diagnostic));
  }
}

void find_files(Context& cx, const ExprView& expr, const DataObject& data, const ExprIds& arguments,
                const Experiment& experiment) {
  const auto* call = expr.get<node::Op>();
  const bool is_read = call != nullptr && (call->op == library::Id::CsvFile || call->op == library::Id::JsonLines);
  if (is_read && !expr.type.is_error()) check_file(cx, expr, *call, data, arguments, experiment);
  for_each_child(expr, [&](ExprId child) { find_files(cx, cx.at(child), data, arguments, experiment); });
}

}  // namespace

void check_columns(Context& cx, const DataObject& data, const ExprIds& arguments, const Experiment& experiment) {
  if (cx.files == nullptr) return;
  for (const Member& member : data.object.members) find_files(cx, member.value, data, arguments, experiment);
  for (const StreamDecl& stream : data.streams) find_files(cx, stream.value, data, arguments, experiment);
}

}  // namespace ltr::check
