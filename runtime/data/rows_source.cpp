#include "runtime/data/rows_source.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>

#include "doors/csv.h"
#include "doors/json.h"
#include "doors/utf8.h"
#include "runtime/api/suggest.h"
#include "runtime/data/json_cells.h"
#include "runtime/data/row_records.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

using Json = nlohmann::json;

bool is_text(const FieldInfo& field) { return field.host[0] == 's' || field.host[0] == 'p'; }

/// Gathers records under the names that the rows give.
class RowReader {
 public:
  RowReader(Str file, const Schema& schema, RowRules rules)
      : file_(std::move(file)), schema_(schema), rules_(rules), is_there_(schema.size(), false) {}

  /// R3002 if one of `names` is no field.
  void need_known(const std::vector<Str>& names, const Str& place) const {
    std::vector<Str> known;
    for (const FieldInfo& field : schema_) known.emplace_back(field.name);
    std::vector<Str> unknown;
    for (const Str& name : names) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const Str near = nearest(name, known);
      unknown.push_back(near.empty() ? name : fmt::format("{} (did you mean {}?)", name, near));
    }
    if (!unknown.empty()) {
      throw with_help(
          error_at({}, err::schema_differs, place, fmt::format("no field {} in the records", fmt::join(unknown, ", "))),
          fmt::format("the records have: {}; --ignore-columns reads no others", fmt::join(known, ", ")));
    }
  }
  void set_known(const std::vector<Str>& names, const Str& place) {
    if (rules_.refuses_names) return need_known(names, place);
    for (const Str& name : names) {
      const bool is_field =
          std::any_of(schema_.begin(), schema_.end(), [&](const FieldInfo& field) { return name == field.name; });
      if (!is_field && std::find(ignored_.begin(), ignored_.end(), name) == ignored_.end()) ignored_.push_back(name);
    }
  }
  /// The fields that rows have.
  void set_fields(const std::vector<Str>& names, const Str& place) {
    set_known(names, place);
    for (size_t i = 0; i < schema_.size(); ++i) {
      is_there_[i] = std::find(names.begin(), names.end(), schema_[i].name) != names.end();
    }
    has_fields_ = true;
  }
  bool has_fields() const { return has_fields_; }
  bool has(size_t field) const { return is_there_[field]; }

  /// A row; `body` fills the record's known fields. What it throws as Misfit is the row's fault.
  template <class Body>
  void add(const Str& place, Body&& body) {
    Record record;
    for (const FieldInfo& field : schema_) record.push_back(stand_in(field, 0));
    places_.push_back(place);
    try {
      body(record);
      faults_.emplace_back();
      note_numbers(record, place);
    } catch (const Misfit& misfit) {
      if (rules_.refuses_rows) throw error_at({}, err::bad_record, place, misfit.text);
      faults_.push_back(place + ": " + misfit.text);
      record.clear();
    }
    records_.push_back(std::move(record));
  }

  ForeignRows done() {
    if (records_.empty()) throw error_at({}, err::stream_too_short, fmt::format("{} has no rows", file_));
    ForeignRows rows;
    for (size_t i = 0; i < schema_.size(); ++i) {
      if (!is_there_[i]) rows.absent.push_back(i);
    }
    rows.faults = std::move(faults_);
    rows.places = places_;
    rows.ignored = std::move(ignored_);
    rows.not_finite = not_finite_text(not_finite_, not_finite_count_);
    rows.source = new RowSource(schema_, std::move(places_), std::move(records_), !rules_.refuses_rows);
    rows.stream = Stream(rows.source);
    return rows;
  }

 private:
  void note_numbers(const Record& record, const Str& place) {
    for (size_t i = 0; i < schema_.size(); ++i) {
      if (schema_[i].host[0] != 'f' || !is_there_[i] || record[i].is_missing || std::isfinite(record[i].real)) continue;
      if (not_finite_count_++ == 0)
        not_finite_ = fmt::format("{}: the field {} is {}", place, schema_[i].name, record[i].real);
    }
  }

  Str file_;
  const Schema& schema_;
  RowRules rules_;
  bool has_fields_ = false;
  std::vector<bool> is_there_;
  std::vector<Str> ignored_;
  std::vector<Str> places_;
  Str not_finite_;
  int64_t not_finite_count_ = 0;
  std::vector<Str> faults_;
  std::vector<Record> records_;
};

void read_json_lines(std::istream& in, const Str& file, const Schema& schema, RowReader& reader) {
  Str line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == Str::npos) continue;
    const Str place = fmt::format("{}:{}", file, number);
    Json row;
    Str reason;
    try {
      row = row_of(line, place);
    } catch (const Misfit& misfit) {
      reason = misfit.text;
    }
    if (reason.empty()) {
      std::vector<Str> names;
      for (const auto& [name, value] : row.items()) names.push_back(name);
      if (reader.has_fields())
        reader.set_known(names, place);
      else
        reader.set_fields(names, place);
    }
    reader.add(place, [&](Record& record) {
      if (!reason.empty()) throw Misfit{reason};
      for (size_t i = 0; i < schema.size(); ++i) {
        const auto found = row.find(schema[i].name);
        if (found == row.end() && reader.has(i)) throw Misfit{fmt::format("the field {} is missing", schema[i].name)};
        if (found == row.end()) continue;
        if (!reader.has(i)) throw Misfit{fmt::format("the first row has no field {}", schema[i].name)};
        record[i] = cell_of(*found, schema[i]);
      }
    });
  }
}

/// A cell of a CSV file: text as it stands, numbers as `csv` reads them, anything else as JSON.
Cell cell_of(const Str& text, const FieldInfo& field) {
  if (const Str fault = doors::utf8_fault(text); !fault.empty())
    throw Misfit{fmt::format("the field {}: {}", field.name, fault)};
  Cell cell;
  cell.text = text;
  cell.is_missing = field.form == FieldForm::Option && text.empty();
  if (is_text(field) || cell.is_missing) return cell;
  if (field.host[0] == 'f') {
    if (doors::parse_float(text, cell.real)) return cell;
    refuse_field(field, "is " + shown(text));
  }
  const Json json =
      field.host[0] == 'b' && (text == "True" || text == "False") ? Json(text == "True") : doors::try_json(text);
  if (json.is_discarded()) refuse_field(field, "is " + shown(text));
  return cell_of(json, field);
}

void read_csv(const Str& file, const Schema& schema, RowReader& rows) {
  const Str text = doors::read_file(file);
  doors::CsvReader reader(text);
  std::vector<Str> header;
  std::vector<Str> cells;
  if (!next_row(reader, header, text, file)) throw error_at({}, err::schema_differs, file, "there is no header line");
  if (const Str other = doors::likely_separator(header); !other.empty()) {
    throw error_at({}, err::schema_differs, file,
                   fmt::format("its columns seem to be separated by `{}`; those of --read are by commas", other));
  }
  rows.set_fields(header, file);
  std::vector<size_t> column(schema.size());
  for (size_t i = 0; i < schema.size(); ++i) {
    const auto found = std::find(header.begin(), header.end(), schema[i].name);
    column[i] = size_t(found - header.begin());
    if (found != header.end() && std::find(found + 1, header.end(), schema[i].name) != header.end()) {
      throw error_at({}, err::schema_differs, file, fmt::format("the header has two columns {}", schema[i].name));
    }
  }
  while (next_row(reader, cells, text, file)) {
    rows.add(fmt::format("{}:{}", file, reader.line()), [&](Record& record) {
      if (cells.size() != header.size()) {
        throw Misfit{fmt::format("{} fields, but the header has {}", cells.size(), header.size())};
      }
      for (size_t i = 0; i < schema.size(); ++i) {
        if (!rows.has(i)) continue;
        record[i] = cell_of(cells[column[i]], schema[i]);
      }
    });
  }
}

void read_array(const Str& file, const Schema& schema, RowReader& rows) {
  const at::Tensor array = tensor_of_npy(file);
  // The first tensor field that a leading index of the array fits.
  for (size_t column = 0; column < schema.size(); ++column) {
    const FieldInfo& field = schema[column];
    if (field.host[0] != '\0' || array.dim() == 0 || !sizes_fit(field, array.sizes().slice(1))) continue;
    const at::ScalarType type = scalar_type(field.dtype);
    if (array.is_floating_point() && at::isIntegralType(type, true)) continue;
    const at::Tensor whole = array.to(type);
    rows.set_fields({field.name}, file);
    for (int64_t i = 0; i < whole.size(0); ++i) {
      rows.add(fmt::format("{} row {}", file, i + 1), [&](Record& record) { record[column].tensor = give(whole[i]); });
    }
    return;
  }
  throw error_at({}, err::schema_differs, file,
                 fmt::format("no field of the records takes {}[{}]", c10::toString(array.scalar_type()),
                             fmt::join(array.sizes().begin(), array.sizes().end(), ", ")));
}

}  // namespace

ForeignRows read_rows(const Str& file, const Schema& schema, RowRules rules) {
  at({});  // Rows stand in no line of the program.
  return reading(file, [&] {
    RowReader reader(file == "-" ? "stdin" : file, schema, rules);
    if (file == "-") {
      read_json_lines(std::cin, "stdin", schema, reader);
    } else if (file.ends_with(".csv")) {
      read_csv(file, schema, reader);
    } else if (file.ends_with(".npy")) {
      read_array(file, schema, reader);
    } else if (file.ends_with(".jsonl")) {
      std::ifstream in(file);
      if (!in) throw std::system_error(errno, std::generic_category(), file);
      read_json_lines(in, file, schema, reader);
    } else {
      throw error_at({}, err::settings_contradict, fmt::format("--read {}: .jsonl, .csv, .npy or - are read", file));
    }
    return reader.done();
  });
}

}  // namespace ltr
