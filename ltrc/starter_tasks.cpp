// The programs of the tasks that read a table, for columns that are there. Each is the starter of its task with other columns.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "doors/file_kind.h"
#include "ltrc/starter_data.h"
#include "ltrc/starter_table.h"

namespace ltr::driver {

namespace {

using Columns = std::vector<const TableColumn*>;

constexpr int64_t kFewestRows = 10;
/// What a column of classes, or of what is told, is called where it says so itself.
constexpr std::array kClassNames = {"label", "class", "species", "category", "kind", "target", "y"};
constexpr std::array kTableEndings = {".csv", ".tsv", ".json"};
constexpr std::array kTargetNames = {"target", "y", "label", "price", "value"};

/// Every `from` of the text as `to`. A starter without one is a mistake of ours.
void replace_all(std::string& text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the starter has no `" + from + "`");
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

/// From the first `begin` to the first `end` behind it, both included.
void replace_part(std::string& text, const std::string& begin, const std::string& end, const std::string& to) {
  const size_t from = text.find(begin);
  const size_t until = from == std::string::npos ? from : text.find(end, from + begin.size());
  if (until == std::string::npos) throw std::logic_error("the starter has no `" + begin + "` up to `" + end + "`");
  text.replace(from, until + end.size() - from, to);
}

[[noreturn]] void refuse_name(const Table& table, const TableColumn& column, const char* what) {
  throw Unfit{fmt::format("{}:1: the column `{}` is {}, and no program can name it", table.path, column.name, what),
              "rename it there: letters, digits and _, a letter first"};
}

[[noreturn]] void refuse_missing(const Table& table, const TableColumn& column, const char* wanted) {
  throw Unfit{fmt::format("{}:{}: the column `{}` is empty; {}", table.path, column.missing_line, column.name, wanted),
              "fill such cells in, or take the rows out"};
}

void set_separator(std::string& text, const Table& table) {
  if (table.separator != ",") replace_all(text, "csv(file)", fmt::format("csv(file, sep = \"{}\")", table.separator));
}

/// The column called as one of `names`, else null.
template <class Names>
const TableColumn* called(const Table& table, const Names& names) {
  for (const char* name : names) {
    for (const TableColumn& column : table.columns) {
      if (column.name == name) return &column;
    }
  }
  return nullptr;
}

/// Whether its cells say classes: values that come again. Of numbers, few.
bool says_classes(const Table& table, const TableColumn& column) {
  constexpr size_t kMostNumbers = 20;
  if (column.kinds.size() < 2 || column.has_more_kinds || int64_t(2 * column.kinds.size()) > table.rows) return false;
  return column.texts > 0 || column.kinds.size() <= kMostNumbers;
}

/// The column of classes: one that is called so, else the last that says some and is not `other`.
const TableColumn& class_column(const Table& table, const TableColumn* other) {
  const TableColumn* column = called(table, kClassNames);
  if (column == other) column = nullptr;
  for (auto one = table.columns.rbegin(); column == nullptr && one != table.columns.rend(); ++one) {
    if (&*one != other && says_classes(table, *one)) column = &*one;
  }
  const std::string help =
      "a column whose values come again, two different ones at least, such as `label`; there are " +
      table.columns_text();
  if (column == nullptr) {
    const TableColumn& last = table.columns.back();
    if (&last != other && last.kinds.size() == 1)
      throw Unfit{fmt::format("{}: the column `{}` has one class, \"{}\", in all rows", table.path, last.name,
                              last.kinds.begin()->first),
                  help};
    throw Unfit{fmt::format("{}: no column says of which class a row is", table.path), help};
  }
  if (column->missing > 0) refuse_missing(table, *column, "each row is of a class");
  if (column->kinds.size() < 2)
    throw Unfit{fmt::format("{}: the column `{}` has one class, \"{}\", in all rows", table.path, column->name,
                            column->kinds.begin()->first),
                help};
  if (column->has_more_kinds || int64_t(2 * column->kinds.size()) > table.rows)
    throw Unfit{fmt::format("{}: the column `{}` has {} classes in {} rows, so that most come once", table.path,
                            column->name, column->kinds.size(), table.rows),
                help};
  if (!column->is_name()) refuse_name(table, *column, "that of the classes");
  return *column;
}

/// The columns of numbers that say something, but for `other`. `left_out` becomes what is said of the rest.
Columns number_columns(const Table& table, const TableColumn& other, std::string& left_out) {
  Columns columns;
  const auto leave_out = [&](const TableColumn& column, const char* why) {
    left_out += fmt::format("{}`{}` ({})", left_out.empty() ? "" : ", ", column.name, why);
  };
  for (const TableColumn& column : table.columns) {
    if (&column == &other) continue;
    if (column.is_nearly_number())
      throw Unfit{fmt::format("{}:{}: the column `{}` is \"{}\", and its other cells are numbers", table.path,
                              column.text_line, column.name, column.text),
                  "mend it, or leave the cell empty: then it is taken as the median"};
    if (!column.is_number())
      leave_out(column, column.cells() == 0 ? "empty" : "texts");
    else if (column.is_constant())
      leave_out(column, "one value");
    else if (!column.is_name())
      leave_out(column, "no program can name it");
    else
      columns.push_back(&column);
  }
  if (columns.empty())
    throw Unfit{
        fmt::format("{}: no column holds numbers to tell `{}` by", table.path, other.name),
        "columns of numbers that differ, with names of letters, digits and _; there are " + table.columns_text()};
  return columns;
}

std::string type_of(const TableColumn& column) { return column.missing > 0 ? "option[float]" : "float"; }

std::string row_type(const Columns& numbers, const std::string& last) {
  std::string fields;
  for (const TableColumn* column : numbers) fields += fmt::format("{}: {}, ", column->name, type_of(*column));
  return "type Row = {" + fields + last + "}";
}

/// Numbers of a row, each from its mean in standard deviations.
std::string scaled(const Columns& numbers) {
  std::string items;
  for (const TableColumn* column : numbers) {
    const std::string& name = column->name;
    const std::string value =
        column->missing > 0 ? fmt::format("or_else(row.{0}, seen.{0}.median)", name) : "row." + name;
    items += fmt::format("{}({} - seen.{}.mean) / seen.{}.std", items.empty() ? "" : ",\n                ", value, name,
                         name);
  }
  return "stack([" + items + "])";
}

std::string names_of(const Columns& columns) {
  std::string text;
  for (const TableColumn* column : columns) text += (text.empty() ? "" : ", ") + column->name;
  return text;
}

std::string found_text(const std::string& what, const std::string& left_out) {
  return what + (left_out.empty() ? "" : "\nleft out: " + left_out);
}

}  // namespace

namespace {

/// Whether a table is of classes sooner than of a number that is told: by the name of a column, else by one of texts.
bool is_of_classes(const Table& table) {
  const TableColumn* label = called(table, kClassNames);
  if (label != nullptr && says_classes(table, *label)) return true;
  const TableColumn* target = called(table, kTargetNames);
  if (target != nullptr && target->is_number()) return false;
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](const TableColumn& column) { return column.texts > 0 && says_classes(table, column); });
}

/// Whether one of its columns holds sentences.
bool has_sentences(const Table& table) {
  constexpr int64_t kSentence = 20;  // letters of a cell, on average
  return std::any_of(table.columns.begin(), table.columns.end(), [](const TableColumn& column) {
    return column.texts > 0 && column.characters >= kSentence * column.cells();
  });
}

}  // namespace

std::vector<std::string> likely_tasks(const std::string& data) {
  namespace fs = std::filesystem;
  if (fs::is_directory(data)) return {"image_classifier", "segmenter"};
  const std::string name = fs::path(data).filename().string();
  const bool is_called_table = std::any_of(kTableEndings.begin(), kTableEndings.end(),
                                           [&](const char* ending) { return name.find(ending) != std::string::npos; });
  try {
    const Table table = look_at_table(data, 1);
    if (table.columns.size() == 1 && !is_called_table) return {"language_model"};
    std::vector<std::string> tasks = {"tabular_regressor", "forecaster"};
    tasks.insert(is_of_classes(table) ? tasks.begin() : tasks.end(), "tabular_classifier");
    tasks.insert(has_sentences(table) ? tasks.begin() : tasks.end(), "text_classifier");
    return tasks;
  } catch (const Unfit&) {
    // What is no table may be a text; what is called one says why it is none.
    return {is_called_table || doors::kind_of_file(data) ? "tabular_classifier" : "language_model"};
  }
}

std::string fit_classifier(std::string& text, const std::string& data) {
  const Table table = look_at_table(data, kFewestRows);
  if (table.columns.size() < 2)
    throw Unfit{fmt::format("{}:1: one column, `{}`", data, table.columns[0].name),
                "a column of classes is wanted, and numbers to tell them by"};
  const TableColumn& label = class_column(table, nullptr);
  std::string left_out;
  const Columns numbers = number_columns(table, label, left_out);
  const std::string width = std::to_string(numbers.size());
  set_separator(text, table);
  replace_all(text, "three kinds of iris", "what `" + label.name + "` says of each");
  replace_all(text, "Flowers", "Rows");
  replace_all(text, "float[B, 4]", "float[B, " + width + "]");
  replace_all(text, "float[4]", "float[" + width + "]");
  replace_all(text, "classifier(4,", "classifier(" + width + ",");
  replace_all(text, "row.species", "row." + label.name);
  replace_all(text, "seen.species", "seen." + label.name);
  replace_all(text, "\"species\"", "\"" + label.name + "\"");
  // Names of columns may be words of the starter, so they are put in last.
  replace_part(text, "type Row = {", "}", row_type(numbers, label.name + ": str"));
  replace_part(text, "stack([", "])", scaled(numbers));
  return found_text(fmt::format("{} rows of {} classes in `{}`, by {} numbers: {}", table.rows, label.kinds.size(),
                                label.name, width, names_of(numbers)),
                    left_out);
}

std::string fit_regressor(std::string& text, const std::string& data) {
  const Table table = look_at_table(data, kFewestRows);
  if (table.columns.size() < 2)
    throw Unfit{fmt::format("{}:1: one column, `{}`", data, table.columns[0].name),
                "a number that is told is wanted, and others to tell it by"};
  const auto may_be_told = [](const TableColumn& column) { return column.is_number() || column.is_nearly_number(); };
  const TableColumn* target = called(table, kTargetNames);
  if (target != nullptr && !may_be_told(*target)) target = nullptr;
  for (auto one = table.columns.rbegin(); target == nullptr && one != table.columns.rend(); ++one) {
    if (may_be_told(*one)) target = &*one;
  }
  if (target == nullptr)
    throw Unfit{fmt::format("{}: no column holds numbers", data),
                "a number that is told is wanted, such as `target`; there are " + table.columns_text()};
  if (target->texts > 0)
    throw Unfit{fmt::format("{}:{}: the column `{}`, which is told, is \"{}\" and no number", data, target->text_line,
                            target->name, target->text)};
  if (target->is_constant())
    throw Unfit{fmt::format("{}: the column `{}`, which is told, has one value in all rows", data, target->name)};
  if (!target->is_name()) refuse_name(table, *target, "that of what is told");
  std::string left_out;
  const Columns numbers = number_columns(table, *target, left_out);
  const std::string width = std::to_string(numbers.size());
  const std::string& name = target->name;
  set_separator(text, table);
  replace_all(text, "how far a car goes on a gallon", "`" + name + "` of each");
  replace_all(text, "Cars", "Rows");
  replace_all(text, "# Ten miles per gallon are 1, which a network learns sooner.",
              "# What is told is counted in standard deviations of `" + name + "`, from its mean.");
  replace_all(text, "float[B, 5]", "float[B, " + width + "]");
  replace_all(text, "float[5]", "float[" + width + "]");
  replace_all(text, "regressor(5,", "regressor(" + width + ",");
  if (target->missing > 0) {
    replace_all(text, "= row.miles_per_gallon != none", "= row." + name + " != none");
  } else {
    replace_part(text, "  fn is_told", "\n\n", "");
    replace_all(text, " |> filter(is_told)", "");
  }
  const std::string told = target->missing > 0 ? fmt::format("or_else(row.{}, 0.0)", name) : "row." + name;
  replace_part(text, "full(", "/ 10)", fmt::format("full(({} - seen.{}.mean) / seen.{}.std)", told, name, name));
  replace_part(text, "type Row = {", "}", row_type(numbers, name + ": " + type_of(*target)));
  replace_part(text, "stack([", "])", scaled(numbers));
  return found_text(fmt::format("{} rows of `{}`, by {} numbers: {}", table.rows, name, width, names_of(numbers)),
                    left_out);
}

std::string fit_texts(std::string& text, const std::string& data) {
  const Table table = look_at_table(data, kFewestRows);
  if (table.columns.size() < 2)
    throw Unfit{fmt::format("{}:1: one column, `{}`", data, table.columns[0].name),
                "a column of texts is wanted, and one of their classes"};
  const TableColumn* words = nullptr;
  for (const TableColumn& column : table.columns) {
    if (column.texts > 0 && (words == nullptr || column.characters > words->characters)) words = &column;
  }
  if (words == nullptr)
    throw Unfit{fmt::format("{}: no column holds texts", data),
                "a column of texts is wanted, and one of their classes; there are " + table.columns_text()};
  const TableColumn& label = class_column(table, words);
  if (words->missing > 0) refuse_missing(table, *words, "each row has a text");
  if (!words->is_name()) refuse_name(table, *words, "that of the texts");
  set_separator(text, table);
  replace_all(text, "from which of four plays a speech is", "what `" + label.name + "` says of each");
  // Either name may be the other's word of the starter.
  const std::string mark = "row.\1";
  replace_all(text, "row.speech", mark);
  replace_all(text, "row.play", "row." + label.name);
  replace_all(text, "seen.play", "seen." + label.name);
  replace_all(text, "\"play\"", "\"" + label.name + "\"");
  replace_all(text, mark, "row." + words->name);
  replace_part(text, "type Row = {", "}", fmt::format("type Row = {{{}: str, {}: str}}", words->name, label.name));
  return fmt::format("{} texts in `{}`, of {} classes in `{}`", table.rows, words->name, label.kinds.size(),
                     label.name);
}

std::string fit_series(std::string& text, const std::string& data) {
  // The last fifth, where it is measured, holds some windows of 24 values and the next.
  const Table table = look_at_table(data, 150);
  const TableColumn* series = called(table, std::array{"value", "target", "y"});
  for (auto one = table.columns.rbegin(); series == nullptr && one != table.columns.rend(); ++one) {
    if (one->is_number() || one->is_nearly_number()) series = &*one;
  }
  if (series == nullptr)
    throw Unfit{fmt::format("{}: no column holds numbers", data),
                "a series is a column of numbers in the order of their time; there are " + table.columns_text()};
  if (series->texts > 0)
    throw Unfit{fmt::format("{}:{}: the column `{}`, the series, is \"{}\" and no number", data, series->text_line,
                            series->name, series->text)};
  if (series->missing > 0) refuse_missing(table, *series, "a series has a number in each row");
  if (series->is_constant())
    throw Unfit{fmt::format("{}: the column `{}`, the series, has one value in all rows", data, series->name)};
  if (!series->is_name()) refuse_name(table, *series, "the series");
  set_separator(text, table);
  replace_all(text, "sea temperature, month by month", "`" + series->name + "` of a table, row by row");
  replace_part(text, "{year: int", "}", "{" + series->name + ": float}");
  replace_all(text, "celsius", series->name);
  return fmt::format("{} rows of the series `{}`", table.rows, series->name);
}

}  // namespace ltr::driver
