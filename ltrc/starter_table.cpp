#include "ltrc/starter_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>

#include "doors/csv.h"
#include "doors/file.h"
#include "ltrc/starter_data.h"

namespace ltr::driver {

bool TableColumn::is_name() const {
  static const std::set<std::string> kReserved = {"and",  "or",   "not",  "in",    "as",  "if",
                                                  "then", "else", "true", "false", "none"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && is_letter(name[0]) && !kReserved.contains(name) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string Table::columns_text() const {
  std::string text;
  for (const TableColumn& column : columns) {
    const std::string kinds = fmt::format("{}{}", column.has_more_kinds ? "more than " : "", column.kinds.size());
    text += fmt::format("{}`{}` ({})", text.empty() ? "" : ", ", column.name,
                        column.cells() == 0  ? "empty"
                        : column.is_number() ? "numbers"
                                             : kinds + (column.kinds.size() == 1 ? " text" : " texts"));
  }
  return text;
}

namespace {

/// Bytes of a cell that a message shows.
constexpr size_t kShown = 60;

void add(TableColumn& column, std::string_view cell, int64_t line) {
  if (cell.empty()) {
    if (column.missing++ == 0) column.missing_line = line;
    return;
  }
  double number = 0;
  if (doors::parse_float(cell, number) && std::isfinite(number)) {
    ++column.numbers;
  } else if (column.texts++ == 0) {
    column.text_line = line;
    column.text = cell.size() > kShown ? std::string(cell.substr(0, kShown)) + "…" : std::string(cell);
  }
  column.characters += int64_t(cell.size());
  if (const auto kind = column.kinds.find(std::string(cell)); kind != column.kinds.end())
    ++kind->second;
  else if (column.kinds.size() < TableColumn::kMostKinds)
    column.kinds.emplace(cell, 1);
  else
    column.has_more_kinds = true;
}

void read_rows(Table& table, const std::string& text, char separator) {
  doors::CsvReader reader(text, separator);
  std::vector<std::string> header;
  if (!reader.next(header)) throw Unfit{table.path + " is empty", "a table begins with a line that names its columns"};
  if (const std::string other = doors::likely_separator(header); !other.empty() && separator == ',') {
    table.separator = other;
    return read_rows(table, text, other == "\\t" ? '\t' : other[0]);
  }
  for (const std::string& name : header) {
    const bool is_twice = std::any_of(table.columns.begin(), table.columns.end(),
                                      [&](const TableColumn& column) { return column.name == name && !name.empty(); });
    if (is_twice) throw Unfit{fmt::format("{}:1: two columns are called `{}`", table.path, name)};
    table.columns.emplace_back().name = name;
  }
  std::vector<std::string_view> cells;
  while (reader.next(cells)) {
    if (cells.size() != header.size())
      throw Unfit{fmt::format("{}:{}: {} cells, and the header has {}", table.path, reader.line(), cells.size(),
                              header.size())};
    for (size_t i = 0; i < cells.size(); ++i) add(table.columns[i], cells[i], reader.line());
    ++table.rows;
  }
}

}  // namespace

Table look_at_table(const std::string& path, int64_t fewest) {
  Table table{path, ",", 0, {}};
  if (std::filesystem::is_directory(path))
    throw Unfit{fmt::format("{} is a folder, and this task reads a table", path),
                "a CSV file whose first line names its columns"};
  try {
    read_rows(table, doors::read_file(path), ',');
  } catch (const doors::FormatError& error) {
    throw Unfit{fmt::format("{}: at byte {}: {}", path, error.offset, error.reason),
                "a CSV file whose first line names its columns"};
  } catch (const std::system_error& error) {
    throw Unfit{fmt::format("cannot read {}: {}", path, error.code().message())};
  }
  if (table.rows < fewest)
    throw Unfit{fmt::format("{}: {} rows, and {} at least are wanted", path, table.rows, fewest)};
  return table;
}

}  // namespace ltr::driver
