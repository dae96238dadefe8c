// `sqlite`: the rows of a query, read once when the database is opened.

#include "doors/sqlite.h"

#include <algorithm>

#include "ltr/streams.h"
#include "runtime/data/image_cells.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/table.h"

namespace ltr {

namespace {

using doors::SqlKind;

/// As SQL writes it, so that 1, 1.0 and '1' are told apart.
Str shown_value(const doors::SqlRows& rows, size_t at) {
  switch (rows.kind(at)) {
    case SqlKind::Int: return std::to_string(rows.whole(at));
    case SqlKind::Real: {
      const Str real = fmt::format("{}", rows.real(at));
      return real.find_first_not_of("-0123456789") == Str::npos ? real + ".0" : real;
    }
    case SqlKind::Text: return fmt::format("'{}'", rows.bytes(at).substr(0, 60));
    case SqlKind::Blob: return fmt::format("a blob of {} bytes", rows.bytes(at).size());
    case SqlKind::Null: return "";
  }
  return "";
}

/// Puts the value at `at` into the column; false if it is none of its field.
bool put(const doors::SqlRows& rows, size_t at, const FieldInfo& field, Column& column) {
  const SqlKind kind = rows.kind(at);
  switch (column.kind()) {
    case CellKind::Int:
      if (kind != SqlKind::Int) return false;
      column.push_whole(rows.whole(at));
      return true;
    case CellKind::Bool:
      if (kind != SqlKind::Int || (rows.whole(at) != 0 && rows.whole(at) != 1)) return false;
      column.push_whole(rows.whole(at));
      return true;
    case CellKind::Real:
      if (kind != SqlKind::Int && kind != SqlKind::Real) return false;
      column.push_real(rows.real(at));
      return true;
    case CellKind::Text:
      if (kind != (field.host[0] == '\0' ? SqlKind::Blob : SqlKind::Text)) return false;
      column.push_bytes(rows.bytes(at));
      return true;
  }
  return false;
}

void load(Table& table, doors::SqlRows& rows, const Str& path) {
  const Schema& schema = table.schema();
  const std::vector<Str> names = rows.columns();
  std::vector<size_t> places;
  for (const FieldInfo& field : schema) {
    const auto found = std::find(names.begin(), names.end(), field.name);
    if (found == names.end()) throw no_column(path, "column", field.name, names);
    places.push_back(size_t(found - names.begin()));
  }
  for (int64_t number = 1; rows.next(); ++number) {
    Str fault;
    for (size_t i = 0; fault.empty() && i < schema.size(); ++i) {
      Column& column = table.column(i);
      if (rows.kind(places[i]) == SqlKind::Null && schema[i].form == FieldForm::Option) {
        column.push_missing();
      } else if (!put(rows, places[i], schema[i], column)) {
        fault = fault_of(schema[i], shown_value(rows, places[i]));
      } else if (column.kind() == CellKind::Real) {
        table.note_number(i, number, rows.real(places[i]), shown_value(rows, places[i]));
      }
    }
    table.end_row(number, fault);
  }
}

}  // namespace

Stream sqlite(const Str& file, const Str& query, const Schema& schema) {
  for (const FieldInfo& field : schema) {
    if (field.dims.empty() || is_image(field) || row_bytes(field) >= 0) continue;
    throw error_here(
        err::schema_differs, file,
        fmt::format("{} is {}; a blob is an image or of a size that is known", field.name, type_text(field)));
  }
  return open_source(schema, [&] {
    const Str path = find_path(file);
    note_opened(path);
    auto* table = new Table(schema, path, " row ");
    Stream stream(table);
    try {
      reading(path, [&] {
        doors::SqlRows rows(path, query);
        load(*table, rows, path);
        if (!rows.is_ordered())
          note_doubt(path, fmt::format("{}: the query does not say the order of its rows; write `order by`", path));
      });
    } catch (const doors::QueryError& error) {
      throw error_here(err::schema_differs, path, error.what());
    }
    if (!table->not_finite().empty()) note_doubt(path, table->not_finite());
    note_records(path, table->size());
    return stream;
  });
}

}  // namespace ltr
