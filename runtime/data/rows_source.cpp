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
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

using Json = nlohmann::json;

bool is_text(const FieldInfo& field) { return field.host[0] == 's' || field.host[0] == 'p'; }

/// Gathers records under the names that the rows give.
class RowReader {
 public:
  RowReader(Str name, const Schema& schema, RowRules rules) : name_(std::move(name)), schema_(schema), rules_(rules) {
    rows_.has.resize(schema.size(), false);
  }

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
      std::vector<Str>& ignored = rows_.ignored;
      if (!is_field && std::find(ignored.begin(), ignored.end(), name) == ignored.end()) ignored.push_back(name);
    }
  }
  /// The fields that rows have.
  void set_fields(const std::vector<Str>& names, const Str& place) {
    set_known(names, place);
    for (size_t i = 0; i < schema_.size(); ++i) {
      rows_.has[i] = std::find(names.begin(), names.end(), schema_[i].name) != names.end();
    }
    has_fields_ = true;
  }
  bool has_fields() const { return has_fields_; }
  bool has(size_t field) const { return rows_.has[field]; }

  /// A row; `body` fills the record's known fields. What it throws as Misfit is the row's fault.
  template <class Body>
  void add(const Str& place, Body&& body) {
    Record record;
    for (const FieldInfo& field : schema_) record.push_back(stand_in(field, 0));
    rows_.places.push_back(place);
    try {
      body(record);
      rows_.faults.emplace_back();
      note_numbers(record, place);
    } catch (const Misfit& misfit) {
      if (rules_.refuses_rows) throw error_at({}, err::bad_record, place, misfit.text);
      rows_.faults.push_back(place + ": " + misfit.text);
      record.clear();
    }
    rows_.records.push_back(std::move(record));
  }

  ReadRows done() {
    if (rows_.records.empty()) throw error_at({}, err::stream_too_short, fmt::format("{} has no rows", name_));
    rows_.not_finite = not_finite_text(not_finite_, not_finite_count_);
    return std::move(rows_);
  }

 private:
  void note_numbers(const Record& record, const Str& place) {
    for (size_t i = 0; i < schema_.size(); ++i) {
      if (schema_[i].host[0] != 'f' || !rows_.has[i] || record[i].is_missing || std::isfinite(record[i].real)) continue;
      if (not_finite_count_++ == 0)
        not_finite_ = fmt::format("{}: the field {} is {}", place, schema_[i].name, record[i].real);
    }
  }

  Str name_;
  const Schema& schema_;
  RowRules rules_;
  bool has_fields_ = false;
  ReadRows rows_;
  Str not_finite_;
  int64_t not_finite_count_ = 0;
};

/// A row of JSON; `reason` says what is wrong with it, if it is none.
void add_json(const Json& row, const Str& reason, const Str& place, const Schema& schema, RowReader& reader) {
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

ReadRows rows_of_array(const Str& file, const Schema& schema, RowRules rules) {
  RowReader rows(file, schema, rules);
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
    return rows.done();
  }
  throw error_at({}, err::schema_differs, file,
                 fmt::format("no field of the records takes {}", shape_text(array.scalar_type(), array.sizes())));
}

}  // namespace

ReadRows rows_of_lines(std::istream& in, const Str& name, const Schema& schema, RowRules rules) {
  RowReader reader(name, schema, rules);
  Str line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == Str::npos) continue;
    const Str place = fmt::format("{}:{}", name, number);
    Json row;
    Str reason;
    try {
      row = row_of(line, place);
    } catch (const Misfit& misfit) {
      reason = misfit.text;
    }
    add_json(row, reason, place, schema, reader);
  }
  return reader.done();
}

ReadRows rows_of_json(const std::vector<Json>& rows, const Str& name, const Schema& schema, RowRules rules) {
  RowReader reader(name, schema, rules);
  for (size_t i = 0; i < rows.size(); ++i) {
    add_json(rows[i], rows[i].is_object() ? "" : "is no object", fmt::format("{} {}", name, i + 1), schema, reader);
  }
  return reader.done();
}

ReadRows rows_of_csv(const Str& text, const Str& name, const Schema& schema, RowRules rules) {
  RowReader rows(name, schema, rules);
  doors::CsvReader reader(text);
  std::vector<Str> header;
  std::vector<Str> cells;
  if (!next_row(reader, header, text, name)) throw error_at({}, err::schema_differs, name, "there is no header line");
  if (const Str other = doors::likely_separator(header); !other.empty()) {
    throw error_at(
        {}, err::schema_differs, name,
        fmt::format("its columns seem to be separated by `{}`; those of rows to predict are by commas", other));
  }
  rows.set_fields(header, name);
  std::vector<size_t> column(schema.size());
  for (size_t i = 0; i < schema.size(); ++i) {
    const auto found = std::find(header.begin(), header.end(), schema[i].name);
    column[i] = size_t(found - header.begin());
    if (found != header.end() && std::find(found + 1, header.end(), schema[i].name) != header.end()) {
      throw error_at({}, err::schema_differs, name, fmt::format("the header has two columns {}", schema[i].name));
    }
  }
  while (next_row(reader, cells, text, name)) {
    rows.add(fmt::format("{}:{}", name, reader.line()), [&](Record& record) {
      if (cells.size() != header.size()) {
        throw Misfit{fmt::format("{} fields, but the header has {}", cells.size(), header.size())};
      }
      for (size_t i = 0; i < schema.size(); ++i) {
        if (!rows.has(i)) continue;
        record[i] = cell_of(cells[column[i]], schema[i]);
      }
    });
  }
  return rows.done();
}

ForeignRows as_stream(ReadRows rows, const Schema& schema, bool leaves_out) {
  ForeignRows out;
  for (size_t i = 0; i < schema.size(); ++i) {
    if (!rows.has[i]) out.absent.push_back(i);
  }
  out.faults = std::move(rows.faults);
  out.places = rows.places;
  out.ignored = std::move(rows.ignored);
  out.not_finite = std::move(rows.not_finite);
  out.source = new RowSource(schema, std::move(rows.places), std::move(rows.records), leaves_out);
  out.stream = Stream(out.source);
  return out;
}

ForeignRows read_rows(const Str& file, const Schema& schema, RowRules rules) {
  at({});  // Rows stand in no line of the program.
  ReadRows rows = reading(file, [&] {
    if (file == "-") return rows_of_lines(std::cin, "stdin", schema, rules);
    if (file.ends_with(".csv")) return rows_of_csv(doors::read_file(file), file, schema, rules);
    if (file.ends_with(".npy")) return rows_of_array(file, schema, rules);
    if (file.ends_with(".jsonl")) {
      std::ifstream in(file);
      if (!in) throw std::system_error(errno, std::generic_category(), file);
      return rows_of_lines(in, file, schema, rules);
    }
    throw error_at({}, err::settings_contradict, fmt::format("--read {}: .jsonl, .csv, .npy or - are read", file));
  });
  return as_stream(std::move(rows), schema, !rules.refuses_rows);
}

}  // namespace ltr
