#include <algorithm>

#include "dsl/check/declarations/declarations.h"

// What `step predict` gives: each an output, of which a row is that of a record.

namespace ltr::check {

namespace {

/// Tensors and texts, which have rows.
bool has_rows(const Type& type) { return (type.is_tensor() || type.kind == Kind::Texts) && !type.dims.empty(); }

/// The binder that stands first in all that the step takes, the number of records; nothing where they differ.
std::optional<Polynomial> records_of(const FnInfo& fn) {
  std::optional<Polynomial> records;
  for (const ParamInfo& param : fn.params) {
    if (!has_rows(param.type)) continue;
    const Dim& first = param.type.dims[0];
    if (first.group != 0 || !first.size.single_atom() || (records && !(*records == first.size))) return std::nullopt;
    records = first.size;
  }
  return records;
}

/// Where the type of field number `at` stands, which a record calls `name`.
Span field_span(const ast::TypeExpr& result, size_t at, const std::string& name) {
  if (const auto* tuple = result.get<ast::TupleType>()) return tuple->elements[at].span;
  if (const auto* record = result.get<ast::RecordType>()) {
    for (const ast::FieldType& field : record->fields) {
      if (field.name.text == name) return field.type->span;
    }
  }
  return result.span;
}

/// E0518 for outputs whose first size is certainly another one than the number of records.
void check_first_dims(const FnInfo& fn, Context& cx) {
  const std::optional<Polynomial> records = records_of(fn);
  if (!records || !fn.ast->result) return;
  const bool is_structure = fn.result.kind == Kind::Record || fn.result.kind == Kind::Tuple;
  const size_t count = is_structure ? fn.result.fields.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    const Type& type = is_structure ? fn.result.fields[i].type : fn.result;
    if (!has_rows(type) || type.dims[0].group != 0) continue;
    const Polynomial& size = type.dims[0].size;
    if (size.is_lost() || cx.program.atoms.mentions_unknown(size) || are_same_size(size, *records, cx)) continue;
    const std::string name = is_structure ? fn.result.fields[i].name : "";
    const std::string what = !name.empty()  ? "`" + name + "`"
                             : is_structure ? "output " + std::to_string(i)
                                            : std::string("the output");
    diagnostics::Diagnostic diagnostic =
        diag::output_not_of_records(field_span(*fn.ast->result, i, name), what, cx.text(size), cx.text(*records));
    const bool is_behind = std::any_of(type.dims.begin() + 1, type.dims.end(), [&](const Dim& dim) {
      return dim.group == 0 && are_same_size(dim.size, *records, cx);
    });
    if (is_behind)
      diagnostic.help("the records come first: `transpose` or `permute` put them there");
    else
      diagnostic.help(
          "what is said of the whole batch is logged, or given to each of its records: `value.expand({}, …)`",
          cx.text(*records));
    cx.report(std::move(diagnostic));
  }
}

}  // namespace

void check_outputs(FnInfo& fn, Context& cx) {
  const auto is_output = [](const Type& type) { return type.is_error() || type.kind == Kind::Texts || has_rows(type); };
  const Type& result = fn.result;
  const bool is_structure = result.kind == Kind::Record || result.kind == Kind::Tuple;
  const bool all_fit = is_structure ? std::all_of(result.fields.begin(), result.fields.end(),
                                                  [&](const TypeField& one) { return is_output(one.type); })
                                    : is_output(result);
  if (all_fit) return check_first_dims(fn, cx);
  diagnostics::Diagnostic diagnostic =
      diag::wrong_type(fn.ast->result ? fn.ast->result->span : fn.ast->name.span,
                       "`step predict` returns tensors or texts with the batch first, one or a record "
                       "or tuple of them, not " +
                           cx.text(result));
  if (result.is_host_number() && fn.ast->result && !fn.ast->binders.empty()) {
    const char* element = result.kind == Kind::Int ? "i64" : result.kind == Kind::Bool ? "bool" : "float";
    const std::string text = std::string(element) + "[" + fn.ast->binders[0].text + "]";
    diagnostic.help("one of each sample is `{}`", text).guess(fn.ast->result->span, text);
  }
  cx.report(std::move(diagnostic.help("each becomes an output of `predict --write`")));
  fn.result = Type::error();  // What its code gives says no more.
}

}  // namespace ltr::check
