#include "ltrc/starter_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>

#include "doors/csv.h"
#include "doors/file.h"
#include "doors/file_kind.h"
#include "doors/json.h"
#include "doors/utf8.h"
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

/// Unfit for what is no text, and for rows in another form.
void need_csv(const std::string& text, const std::string& path) {
  const std::string kNames = "a CSV file whose first line names its columns";
  const auto in_program = [&](const std::string& source) {
    return fmt::format(
        "write it as CSV; or begin with other data, and write `{}(file) as Row` in the program, for `csv`", source);
  };
  if (const auto kind = doors::kind_of(text))
    throw Unfit{fmt::format("{} is {}, and this task reads a table in CSV", path, kind->what),
                kind->source.empty() ? kNames : in_program(kind->source)};
  if (const auto bad = doors::line_not_utf8(text))
    throw Unfit{fmt::format("{}:{}: {}", path, bad->line, bad->fault), "a text in UTF-8 is wanted"};
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool may_be_json = begin != std::string::npos && (text[begin] == '{' || text[begin] == '[');
  if (may_be_json && doors::try_json(text.substr(begin, text.find('\n', begin) - begin)).is_structured())
    throw Unfit{fmt::format("{}: rows in JSON, and this task reads a table in CSV", path), in_program("jsonl")};
}

void read_rows(Table& table, const std::string& text, char separator) {
  doors::CsvReader reader(text, separator);
  std::vector<std::string> header;
  if (!reader.next(header)) throw Unfit{table.path + " is empty", "a table begins with a line that names its columns"};
  if (const std::string other = doors::likely_separator(header); !other.empty() && separator == ',') {
    table.separator = other;
    return read_rows(table, text, other == "\\t" ? '\t' : other[0]);
  }
  if (const std::string* number = doors::number_among(header))
    throw Unfit{fmt::format("{}:1: {} is a number, and no name of a column", table.path, *number),
                "there seems to be no header: write a line of names above, or rename the column"};
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
    const std::string text = doors::read_file(path);
    need_csv(text, path);
    read_rows(table, text, ',');
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
