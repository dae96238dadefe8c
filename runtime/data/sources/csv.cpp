// `csv`: the columns that the program names, parsed once when the file is opened.

#include "doors/csv.h"

#include <algorithm>
#include <filesystem>

#include "doors/utf8.h"
#include "ltr/streams.h"
#include "runtime/data/image_cells.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/table.h"

namespace ltr {

namespace {

/// False if `cell` is no value of the column.
bool put(std::string_view cell, Column& column) {
  int64_t whole = 0;
  double real = 0;
  switch (column.kind()) {
    case CellKind::Int:
      if (!doors::parse_int(cell, whole)) return false;
      column.push_whole(whole);
      return true;
    case CellKind::Real:
      if (!doors::parse_float(cell, real)) return false;
      column.push_real(real);
      return true;
    case CellKind::Bool:
      if (cell != "true" && cell != "false" && cell != "True" && cell != "False" && cell != "0" && cell != "1") {
        return false;
      }
      column.push_whole(cell == "true" || cell == "True" || cell == "1");
      return true;
    case CellKind::Text:
      if (cell.empty()) return false;
      column.push_bytes(cell);
      return true;
  }
  return false;
}

/// Where each field stands in a line.
std::vector<size_t> places_of(const Schema& schema, const std::vector<Str>& header, const Str& path) {
  std::vector<size_t> places;
  for (const FieldInfo& field : schema) {
    const auto found = std::find(header.begin(), header.end(), field.name);
    if (found == header.end()) {
      if (const Str fault = doors::utf8_fault(fmt::format("{}", fmt::join(header, ","))); !fault.empty())
        throw error_here(err::bad_record, path + ":1", fault);
      const Error error =
          error_here(err::schema_differs, path,
                     fmt::format("the header has no column {} (it has: {})", field.name, fmt::join(header, ", ")));
      const Str other = doors::likely_separator(header);
      if (const Str* number = doors::number_among(header))
        throw with_help(error, fmt::format("there seems to be no header: {} is a number, and no name; write a line of "
                                           "names above",
                                           *number));
      if (other.empty()) throw error;
      throw with_help(error, fmt::format("its columns seem to be separated by `{0}`: csv(…, sep = \"{0}\")", other));
    }
    if (std::find(found + 1, header.end(), field.name) != header.end()) {
      throw error_here(err::schema_differs, path, fmt::format("the header has two columns {}", field.name));
    }
    places.push_back(size_t(found - header.begin()));
  }
  return places;
}

/// Whether a cell that is no number is one of the marks for nothing that tables use.
bool seems_missing(std::string_view cell) {
  constexpr std::string_view kMarks[] = {"-",   "--",  "?",   ".",    "NA",   "N/A",  "#N/A", "na",
                                         "n/a", "nan", "NaN", "null", "NULL", "None", "none", "missing"};
  return std::ranges::find(kMarks, cell) != std::end(kMarks);
}

/// Of a cell that its field cannot take: what `missing` has to do with it.
Str hint_of(std::string_view cell, const std::vector<Str>& missing) {
  if (std::find(missing.begin(), missing.end(), cell) != missing.end())
    return fmt::format(" (`missing` has \"{}\")", cell);
  if (!seems_missing(cell)) return "";
  Str all;
  for (const Str& one : missing) all += fmt::format("\"{}\", ", one);
  return fmt::format("; csv(…, missing = [{}\"{}\"]) takes it for an empty cell", all, cell);
}

/// `missing`: cells that say that there is nothing, beside empty ones.
void load(Table& table, const Str& text, char separator, const std::vector<Str>& missing, const Str& path) {
  const Schema& schema = table.schema();
  need_text(text, path);
  doors::CsvReader reader(text, separator);
  std::vector<Str> header;
  if (!next_row(reader, header, text, path)) throw error_here(err::schema_differs, path, "there is no header line");
  const std::vector<size_t> places = places_of(schema, header, path);
  table.reserve(size_t(std::count(text.begin(), text.end(), '\n')));
  std::vector<std::string_view> cells;
  while (next_row(reader, cells, text, path)) {
    Str fault;
    if (cells.size() != header.size())
      fault = fmt::format("{} fields, but the header has {}", cells.size(), header.size());
    for (size_t i = 0; fault.empty() && i < schema.size(); ++i) {
      std::string_view cell = cells[places[i]];
      if (std::find(missing.begin(), missing.end(), cell) != missing.end()) cell = "";
      Column& column = table.column(i);
      if (cell.empty() && schema[i].form == FieldForm::Option)
        column.push_missing();
      else if (!put(cell, column))
        fault = fault_of(schema[i], cell) + hint_of(cells[places[i]], missing);
    }
    for (size_t i = 0; fault.empty() && i < schema.size(); ++i) {
      const Column& column = table.column(i);
      if (column.kind() == CellKind::Real && !column.is_missing(column.size() - 1))
        table.note_number(i, reader.line(), column.real(column.size() - 1), cells[places[i]]);
    }
    table.end_row(reader.line(), fault);
  }
}

}  // namespace

Stream csv(const Str& file, const Str& sep, const std::vector<Str>& missing, const Schema& schema) {
  if (sep.size() != 1) throw error_here(err::out_of_range, "csv: sep", '"' + sep + '"', "one character");
  for (const FieldInfo& field : schema) {
    if (field.dims.empty() || is_image(field)) continue;
    throw with_help(error_here(err::schema_differs, file,
                               fmt::format("{} is {}, but a cell is one number", field.name, type_text(field))),
                    "a map makes a tensor of several columns: `stack([row.a, row.b])`; `u8[3, ?, ?]` is the image that "
                    "a cell names");
  }
  return open_source(schema, [&] {
    const Str path = find_path(file);
    note_opened(path);
    const Str folder = std::filesystem::path(path).parent_path().string();
    auto* table = new Table(schema, path, ":", folder.empty() ? "." : folder);
    Stream stream(table);
    load(*table, reading(path, [&] { return doors::read_file(path); }), sep[0], missing, path);
    note_records(path, table->size());
    note_doubt(path, table->not_finite());
    return stream;
  });
}

}  // namespace ltr
