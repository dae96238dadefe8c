#include "runtime/data/rows_source.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "doors/csv.h"
#include "doors/npy.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

using Json = nlohmann::json;

class Rows : public Source {
 public:
  Rows(Schema fields, Str file, std::vector<Record> records)
      : Source(std::move(fields)), file_(std::move(file)), records_(std::move(records)) {}
  int64_t size() const override { return int64_t(records_.size()); }
  Str name_of(const ReadAt& at) const override { return fmt::format("{} row {}", file_, at.index + 1); }
  bool read(const ReadAt& at, Record& out) const override {
    out = records_[size_t(at.index)];
    return true;
  }

 private:
  Str file_;
  std::vector<Record> records_;
};

/// Numbers of nested arrays in order; false if they are ragged or no numbers.
bool flatten(const Json& json, size_t depth, std::vector<int64_t>& sizes, std::vector<double>& values) {
  if (json.is_array()) {
    if (depth == sizes.size()) {
      if (!values.empty()) return false;
      sizes.push_back(int64_t(json.size()));
    }
    if (sizes[depth] != int64_t(json.size())) return false;
    for (const Json& item : json) {
      if (!flatten(item, depth + 1, sizes, values)) return false;
    }
    return true;
  }
  if (depth != sizes.size()) return false;
  if (json.is_boolean())
    values.push_back(json.get<bool>() ? 1 : 0);
  else if (json.is_number())
    values.push_back(json.get<double>());
  else
    return false;
  return true;
}

bool sizes_fit(const FieldInfo& field, at::IntArrayRef sizes) {
  if (sizes.size() != field.dims.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (field.dims[i] >= 0 && field.dims[i] != sizes[i]) return false;
  }
  return true;
}

Cell empty_cell(const FieldInfo& field) {
  Cell cell;
  if (field.host[0] != '\0') return cell;
  std::vector<int64_t> sizes = field.dims;
  for (int64_t& size : sizes) size = std::max(size, int64_t(1));
  cell.tensor = give(at::zeros(sizes, at::TensorOptions().dtype(scalar_type(field.dtype))));
  return cell;
}

/// False if `json` is no value of `field`.
bool read_json(const Json& json, const FieldInfo& field, Cell& cell) {
  switch (field.host[0]) {
    case 'i':
      if (!json.is_number_integer()) return false;
      cell.whole = json.get<int64_t>();
      return true;
    case 'f':
      if (!json.is_number()) return false;
      cell.real = json.get<double>();
      return true;
    case 'b':
      if (!json.is_boolean()) return false;
      cell.whole = json.get<bool>();
      return true;
    case 's':
    case 'p':
      if (!json.is_string()) return false;
      cell.text = json.get<Str>();
      return true;
    default:
      break;
  }
  std::vector<int64_t> sizes;
  std::vector<double> values;
  if (!flatten(json, 0, sizes, values) || !sizes_fit(field, sizes)) return false;
  cell.tensor = give(at::tensor(values, at::kDouble).view(sizes).to(scalar_type(field.dtype)));
  return true;
}

std::vector<Record> read_json_lines(std::istream& in, const Str& file, const Schema& schema) {
  std::vector<Record> records;
  Str line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == Str::npos) continue;
    const Str place = fmt::format("{}:{}", file, number);
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object()) throw error_here(err::bad_record, place, "is no JSON object");
    Record& record = records.emplace_back();
    bool has_any = false;
    for (const FieldInfo& field : schema) {
      record.push_back(empty_cell(field));
      if (!row.contains(field.name)) continue;
      has_any = true;
      if (read_json(row[field.name], field, record.back())) continue;
      throw error_here(err::bad_record, place, fmt::format("the field {} is not {}", field.name, type_text(field)));
    }
    if (!has_any)
      throw error_here(err::bad_record, place,
                       fmt::format("none of its fields is known; {} is wanted", schema[0].name));
  }
  return records;
}

std::vector<Record> read_csv(const Str& file, const Schema& schema) {
  const Str text = doors::read_file(file);
  doors::CsvReader reader(text);
  std::vector<Str> header;
  std::vector<Str> cells;
  std::vector<Record> records;
  reader.next(header);
  while (reader.next(cells)) {
    const Str place = fmt::format("{}:{}", file, reader.line());
    if (cells.size() != header.size()) {
      throw error_here(err::bad_record, place,
                       fmt::format("{} fields, but the header has {}", cells.size(), header.size()));
    }
    Record& record = records.emplace_back();
    for (const FieldInfo& field : schema) {
      Cell cell = empty_cell(field);
      const auto column = std::find(header.begin(), header.end(), field.name);
      if (column != header.end()) {
        const Str& value = cells[size_t(column - header.begin())];
        const bool is_text = field.host[0] == 's' || field.host[0] == 'p';
        const Json json = is_text ? Json(value) : Json::parse(value, nullptr, false);
        if (!read_json(json, field, cell)) {
          throw error_here(
              err::bad_record, place,
              fmt::format("the field {} is \"{}\", but {} is wanted", field.name, value, type_text(field)));
        }
      }
      record.push_back(std::move(cell));
    }
  }
  return records;
}

std::vector<Record> read_array(const Str& file, const Schema& schema) {
  const doors::NpyArray array = doors::read_npy(file);
  // The first tensor field that a leading index of the array fits.
  for (size_t column = 0; column < schema.size(); ++column) {
    const FieldInfo& field = schema[column];
    if (field.host[0] != '\0' || array.shape.empty()) continue;
    const std::vector<int64_t> sizes(array.shape.begin() + 1, array.shape.end());
    if (!sizes_fit(field, sizes)) continue;
    const std::pair<const char*, at::ScalarType> types[] = {
        {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf}, {"I64", at::kLong}, {"I32", at::kInt},
        {"I16", at::kShort},  {"I8", at::kChar},   {"U8", at::kByte},  {"BOOL", at::kBool}};
    at::ScalarType type = at::kFloat;
    for (const auto& [name, scalar] : types) {
      if (array.dtype == name) type = scalar;
    }
    const void* bytes = array.data.data();
    const at::Tensor whole =
        borrow(static_cast<const std::byte*>(bytes), array.shape, type).to(scalar_type(field.dtype), false, true);
    std::vector<Record> records;
    for (int64_t i = 0; i < array.shape[0]; ++i) {
      Record& record = records.emplace_back();
      for (const FieldInfo& one : schema) record.push_back(empty_cell(one));
      record[column].tensor = give(whole[i]);
    }
    return records;
  }
  throw error_here(err::schema_differs, file,
                   fmt::format("no field of the records is [{}]", fmt::join(array.shape, ", ")));
}

}  // namespace

Stream rows_source(const Str& file, const Schema& schema) {
  return reading(file, [&] {
    std::vector<Record> records;
    if (file == "-") {
      records = read_json_lines(std::cin, "stdin", schema);
    } else if (file.ends_with(".csv")) {
      records = read_csv(file, schema);
    } else if (file.ends_with(".npy")) {
      records = read_array(file, schema);
    } else if (file.ends_with(".jsonl")) {
      std::ifstream in(file);
      if (!in) throw std::system_error(errno, std::generic_category(), file);
      records = read_json_lines(in, file, schema);
    } else {
      throw error_here(err::settings_contradict, fmt::format("--read {}: .jsonl, .csv, .npy or - are read", file));
    }
    if (records.empty()) throw error_here(err::stream_too_short, fmt::format("{} has no rows", file));
    return Stream(new Rows(schema, file, std::move(records)));
  });
}

}  // namespace ltr
