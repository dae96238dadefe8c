#include <algorithm>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

/// Takes back what is said of fields that the schema lacks, the batch too, and the file has: it is the schema that calls one otherwise. Gives
/// back the name that the program asked for.
std::optional<std::string> withdraw_fields(const std::vector<std::string>& stored, const Type& schema, Context& cx) {
  std::optional<std::string> asked;
  const auto is_read = [&](const std::string& name) {
    return std::any_of(schema.fields.begin(), schema.fields.end(),
                       [&](const TypeField& field) { return field.name == name; });
  };
  cx.sink->withdraw([&](const diagnostics::Diagnostic& one) {
    const bool is_of_batch = one.code == diagnostics::Code::E0501;
    if (one.code != diagnostics::Code::E0308 && !is_of_batch) return false;
    const auto missing = std::find_if(stored.begin(), stored.end(), [&](const std::string& name) {
      if (is_read(name)) return false;
      return is_of_batch ? one.message.find("{" + name + ": ") != std::string::npos ||
                               one.message.find(", " + name + ": ") != std::string::npos
                         : one.words[1] == name;
    });
    if (missing != stored.end()) asked = *missing;
    return missing != stored.end();
  });
  return asked;
}

/// What to do where the file is written otherwise than it is read, so that none of its columns has its name; "" where it is not.
std::string other_form(const StoredFields& stored, const node::Op& call) {
  if (!stored.number.empty())
    return "there seems to be no header: " + stored.number + " is a number, and no name; write a line of names above";
  const bool is_one = call.op == library::Id::CsvFile && stored.names.size() == 1;
  if (!is_one) return "";
  // That which cuts the line into most parts; nothing else than the one that is given leaves it whole.
  const std::string& line = stored.names[0];
  const auto times = [&](char one) { return std::count(line.begin(), line.end(), one); };
  const std::string separators = ",;\t|";
  const char found = *std::ranges::max_element(separators, {}, times);
  if (times(found) == 0) return "";
  if (found == ',') return "they seem to be separated by `,`: leave `sep` out";
  const std::string shown = found == '\t' ? "\\t" : std::string(1, found);
  return "they seem to be separated by `" + shown + "`: `csv(…, sep = \"" + shown + "\")`";
}

/// Whether a file holds nothing that it is read for, nor anything that is called nearly so: it is another file.
bool has_nothing_of(const StoredFields& stored, const Type& schema) {
  return schema.fields.size() > 1 && std::ranges::none_of(schema.fields, [&](const TypeField& field) {
           return std::ranges::find(stored.names, field.name) != stored.names.end() ||
                  diagnostics::suggest(field.name, stored.names);
         });
}

void check_file(Context& cx, const ExprView& read, const node::Op& call, const DataObject& data,
                const ExprIds& arguments, const Experiment& experiment) {
  std::vector<std::string> texts;
  for (const ExprId argument : call.args) {
    const Wired wired = wire(cx.at(argument), data.object, arguments, experiment, cx.program);
    const auto* constant = wired.expr.get<node::StrConst>();
    texts.push_back(constant != nullptr ? constant->text : "");
  }
  if (texts.empty() || texts[0].empty()) return;
  const std::string from(cx.sources.path(read.span.source));
  const auto stored = cx.files->fields_of(library::info(call.op).name, texts, from);
  if (!stored) return;
  if (!stored->kind.empty() && !read.type.fields.empty()) {
    diagnostics::Diagnostic diagnostic =
        diag::unknown_column(read.span, stored->place, stored->word, read.type.fields[0].name);
    diagnostic.note("it is {}", stored->kind);
    if (!stored->reader.empty()) diagnostic.help("`{}(…)` reads it", stored->reader);
    cx.report(std::move(diagnostic));
    return;
  }
  std::string list;
  for (const std::string& name : stored->names) list += (list.empty() ? "" : ", ") + name;
  const std::string form = other_form(*stored, call);
  const bool is_other = !stored->may_lack_options && has_nothing_of(*stored, read.type);
  for (const TypeField& field : read.type.fields) {
    if (std::find(stored->names.begin(), stored->names.end(), field.name) != stored->names.end()) continue;
    if (stored->may_lack_options && field.type.kind == Kind::Option) continue;
    const Span span = schema_place(field.name, read.span, cx);
    const bool is_told = is_reported(cx, diagnostics::Code::E0512, span);
    if (is_told && (is_other || !form.empty())) return;
    if (is_told) continue;
    diagnostics::Diagnostic diagnostic = diag::unknown_column(span, stored->place, stored->word, field.name);
    diagnostic.note("its {}s are {}", stored->word, list);
    if (!form.empty()) {
      cx.report(std::move(diagnostic.help("{}", form)));
      return;
    }
    if (is_other) {
      cx.report(std::move(diagnostic.note("nor has it any other of the {} that are read", read.type.fields.size())));
      return;
    }
    const auto asked = withdraw_fields(stored->names, read.type, cx);
    if (const auto near = asked ? asked : diagnostics::suggest(field.name, stored->names)) {
      diagnostic.help("did you mean `{}`?", *near);
      if (span != read.span) diagnostic.guess(span, *near);
    }
    cx.report(std::move(diagnostic));
  }
}

void find_files(Context& cx, const ExprView& expr, const DataObject& data, const ExprIds& arguments,
                const Experiment& experiment) {
  const auto* call = expr.get<node::Op>();
  const bool is_read = call != nullptr && library::info(call->op).wants_schema;
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
