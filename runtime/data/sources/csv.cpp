// `csv`: the columns that the program names, parsed once when the file is opened.

#include <algorithm>
#include <cmath>
#include <map>

#include "doors/csv.h"
#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/row_records.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Values of one column: numbers as parsed, text as it stands.
struct Column {
  size_t position = 0;  ///< in a line of the file
  std::vector<int64_t> whole;
  std::vector<double> real;
  std::vector<Str> text;
  std::vector<bool> missing;  ///< of an option

  /// Brings the column of `kind` to `count` values.
  void pad(CellKind kind, size_t count) {
    missing.resize(count);
    if (kind == CellKind::Real)
      real.resize(count);
    else if (kind == CellKind::Text)
      text.resize(count);
    else
      whole.resize(count);
  }
};

/// False if `cell` is no value of `kind`.
bool parse(const Str& cell, CellKind kind, Column& column) {
  int64_t whole = 0;
  double real = 0;
  switch (kind) {
    case CellKind::Int:
      if (!doors::parse_int(cell, whole)) return false;
      column.whole.push_back(whole);
      return true;
    case CellKind::Real:
      if (!doors::parse_float(cell, real)) return false;
      column.real.push_back(real);
      return true;
    case CellKind::Bool:
      if (cell != "true" && cell != "false" && cell != "True" && cell != "False" && cell != "0" && cell != "1") {
        return false;
      }
      column.whole.push_back(cell == "true" || cell == "True" || cell == "1");
      return true;
    case CellKind::Text:
      if (cell.empty()) return false;
      column.text.push_back(cell);
      return true;
  }
  return false;
}

class Csv : public Source {
 public:
  Csv(Schema fields, Str path) : Source(std::move(fields)), path_(std::move(path)) {}

  int64_t size() const override { return int64_t(lines_.size()); }
  Str name_of(const ReadAt& at) const override { return fmt::format("{}:{}", path_, lines_[size_t(at.index)]); }

  void check() const override {
    if (!bad_.empty()) refuse(*bad_.begin());
  }

  bool read(const ReadAt& at, Record& out) const override {
    const auto row = size_t(at.index);
    if (const auto bad = bad_.find(at.index); bad != bad_.end()) refuse(*bad);
    out.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      Cell& cell = out[i];
      cell.is_missing = column.missing[row];
      switch (cell_kind(schema_[i])) {
        case CellKind::Int:
        case CellKind::Bool: cell.whole = column.whole[row]; break;
        case CellKind::Real: cell.real = column.real[row]; break;
        case CellKind::Text: cell.text = column.text[row]; break;
      }
      if (schema_[i].host[0] == '\0') {
        const at::Scalar value =
            cell_kind(schema_[i]) == CellKind::Real ? at::Scalar(cell.real) : at::Scalar(cell.whole);
        cell.tensor = give(at::scalar_tensor(value, at::TensorOptions().dtype(scalar_type(schema_[i].dtype))));
      }
    }
    return true;
  }

  void load(const Str& text, char separator) {
    doors::CsvReader reader(text, separator);
    std::vector<Str> cells;
    if (!next_row(reader, cells, text, path_)) throw error_here(err::schema_differs, path_, "there is no header line");
    find_columns(cells);
    const size_t width = cells.size();
    while (next_row(reader, cells, text, path_)) {
      Str fault;
      if (cells.size() != width) fault = fmt::format("{} fields, but the header has {}", cells.size(), width);
      for (size_t i = 0; fault.empty() && i < columns_.size(); ++i) {
        const Str& cell = cells[columns_[i].position];
        const bool is_missing = cell.empty() && schema_[i].form == FieldForm::Option;
        columns_[i].missing.push_back(is_missing);
        if (is_missing)
          columns_[i].pad(cell_kind(schema_[i]), columns_[i].missing.size());
        else if (!parse(cell, cell_kind(schema_[i]), columns_[i]))
          fault = fault_of(schema_[i], cell);
      }
      lines_.push_back(reader.line());
      if (fault.empty()) {
        note_numbers(cells);
        continue;
      }
      bad_.emplace(int64_t(lines_.size() - 1), std::move(fault));
      for (size_t i = 0; i < columns_.size(); ++i) columns_[i].pad(cell_kind(schema_[i]), lines_.size());
    }
  }

  /// The first number that is not finite, "" if all are.
  Str not_finite() const { return not_finite_text(not_finite_, not_finite_count_); }

 private:
  void note_numbers(const std::vector<Str>& cells) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (cell_kind(schema_[i]) != CellKind::Real || columns_[i].missing.back() ||
          std::isfinite(columns_[i].real.back()))
        continue;
      const Str& cell = cells[columns_[i].position];
      if (not_finite_count_++ == 0)
        not_finite_ = fmt::format("{}:{}: the field {} is {}", path_, lines_.back(), schema_[i].name,
                                  cell.empty() ? Str("empty, taken as nan") : cell);
    }
  }

  static Str fault_of(const FieldInfo& field, const Str& cell) {
    if (!cell.empty())
      return fmt::format("the field {} is \"{}\", but {} is wanted", field.name, cell, type_text(field));
    return fmt::format("the field {} is empty; {} has no value for that, option[{}] has none", field.name,
                       type_text(field), type_text(field));
  }

  [[noreturn]] void refuse(const std::pair<const int64_t, Str>& bad) const {
    throw with_help(
        error_at(location(), err::bad_record, fmt::format("{}:{}", path_, lines_[size_t(bad.first)]), bad.second),
        "mend it, or leave such records out: map(…, on_bad = skip(10))");
  }

  void find_columns(const std::vector<Str>& header) {
    for (const FieldInfo& field : schema_) {
      const auto found = std::find(header.begin(), header.end(), field.name);
      if (found == header.end()) {
        const Error error =
            error_here(err::schema_differs, path_,
                       fmt::format("the header has no column {} (it has: {})", field.name, fmt::join(header, ", ")));
        const Str other = doors::likely_separator(header);
        if (other.empty()) throw error;
        throw with_help(error, fmt::format("its columns seem to be separated by `{0}`: csv(…, sep = \"{0}\")", other));
      }
      if (std::find(found + 1, header.end(), field.name) != header.end()) {
        throw error_here(err::schema_differs, path_, fmt::format("the header has two columns {}", field.name));
      }
      columns_.emplace_back().position = size_t(found - header.begin());
    }
  }

  Str path_;
  std::vector<Column> columns_;
  std::vector<int64_t> lines_;
  Str not_finite_;
  int64_t not_finite_count_ = 0;
  std::map<int64_t, Str> bad_;  ///< records with a cell that does not fit: what is wrong
};

}  // namespace

Stream csv(const Str& file, const Str& sep, const Schema& schema) {
  if (sep.size() != 1) throw error_here(err::out_of_range, "csv: sep", '"' + sep + '"', "one character");
  if (is_mock_data()) return mock_source(schema);
  return open_or_absent(schema, [&] {
    const Str path = find_path(file);
    note_opened(path);
    auto* source = new Csv(schema, path);
    Stream stream(source);
    source->load(reading(path, [&] { return doors::read_file(path); }), sep[0]);
    note_records(path, source->size());
    note_doubt(path, source->not_finite());
    return stream;
  });
}

}  // namespace ltr
