// `tfrecord`: examples of TensorFlow, parsed when they are read.

#include <algorithm>
#include <filesystem>

#include "doors/tfrecord.h"
#include "doors/unpacked.h"
#include "ltr/streams.h"
#include "runtime/api/suggest.h"
#include "runtime/data/foreign_tensor.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/source.h"
#include "runtime/data/stored_cells.h"

namespace ltr {

namespace {

using doors::ColumnKind;
using doors::Feature;

/// One feature of one example, as a column of one row.
class FeatureBlock : public doors::RowBlock {
 public:
  FeatureBlock(Feature feature, const FieldInfo& field)
      : feature_(std::move(feature)), shape_(shape_of(field)), is_scalar_(field.dims.empty()) {}

  int64_t rows() const override { return 1; }
  int64_t bytes() const override { return 0; }
  bool is_null(size_t, int64_t) const override { return feature_.count() == 0 && is_scalar_; }
  int64_t whole(size_t, int64_t) const override { return feature_.ints[0]; }
  double real(size_t, int64_t) const override {
    return feature_.floats.empty() ? double(feature_.ints[0]) : double(feature_.floats[0]);
  }
  std::string_view bytes(size_t, int64_t) const override { return feature_.texts[0]; }
  std::string_view path(size_t, int64_t) const override { return {}; }
  doors::StoredNumbers numbers(size_t, int64_t) const override {
    const void* data =
        feature_.floats.empty() ? static_cast<const void*>(feature_.ints.data()) : feature_.floats.data();
    return {data, shape_, ""};
  }

  /// What it holds, as the column of `field`.
  StoredColumn column(const FieldInfo& field) const {
    StoredColumn column;
    const bool is_one = field.dims.empty() && feature_.count() <= 1;
    if (feature_.count() == 0 && is_one) {
      column.info.kind = ColumnKind::Null;
    } else if (feature_.kind == Feature::Kind::Bytes) {
      column.info.kind = feature_.count() == 1 ? ColumnKind::Bytes : ColumnKind::Other;
    } else {
      const bool is_float = feature_.kind == Feature::Kind::Floats;
      column.info.element = is_float ? "F32" : "I64";
      column.info.kind = !is_one ? ColumnKind::Numbers : is_float ? ColumnKind::Real : ColumnKind::Whole;
      column.info.rank = field.dims.size();
      // Examples have no bools: they are written as 0 and 1.
      const bool is_bool = cell_kind(field) == CellKind::Bool && !is_float && is_one && uint64_t(feature_.ints[0]) <= 1;
      if (is_bool) column.info = {.name = "", .type = "", .kind = ColumnKind::Bool, .element = "BOOL"};
    }
    return column;
  }

 private:
  /// Its list has no shape: that of the field, if one size at most is open and the number of elements fits; else flat.
  std::vector<int64_t> shape_of(const FieldInfo& field) const {
    const auto count = int64_t(feature_.count());
    std::vector<int64_t> shape = field.dims;
    int64_t known = 1;
    for (const int64_t size : shape) known *= size < 0 ? 1 : size;
    const auto open = std::find_if(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
    const bool is_one_open = std::count_if(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }) == 1;
    if (is_one_open && known > 0 && count % known == 0) {
      *open = count / known;
      return shape;
    }
    return open == shape.end() && known == count ? shape : std::vector<int64_t>{count};
  }

  Feature feature_;
  std::vector<int64_t> shape_;
  bool is_scalar_;
};

class Examples : public Source {
 public:
  Examples(Schema fields, const std::vector<Str>& files) : Source(std::move(fields)) {
    for (const Str& path : files) {
      note_opened(path);
      const int64_t before = size();
      reading(path, [&] { add(path); });
      note_records(path, size() - before);
    }
    if (!records_.empty()) check_names();
  }

  int64_t size() const override { return int64_t(records_.size()); }
  Str name_of(const ReadAt& at) const override { return place_of(records_[size_t(at.index)]); }

  bool read(const ReadAt& at, Record& out) const override {
    const Place& place = records_[size_t(at.index)];
    const Str& path = files_[place.file].path;
    out.resize(schema_.size());
    try {
      const auto features = features_of(place);
      for (size_t i = 0; i < schema_.size(); ++i) {
        // Of a name that is there twice the last one counts, as in TensorFlow.
        const auto found = std::find_if(features.rbegin(), features.rend(),
                                        [&](const auto& feature) { return feature.first == schema_[i].name; });
        Feature feature;
        if (found != features.rend()) feature = doors::parse_feature(found->second, place.offset, path);
        out[i] = cell(feature, schema_[i]);
      }
    } catch (const Misfit& misfit) {
      need_whole(files_[place.file].bytes, path);
      throw bad_record(location(), place_of(place), misfit.text);
    } catch (const doors::FormatError& error) {
      need_whole(files_[place.file].bytes, path);
      throw bad_record(location(), place_of(place), error.placed());
    }
    need_whole(files_[place.file].bytes, path);
    return true;
  }

 private:
  struct File {
    Str path;
    doors::Unpacked bytes;
  };
  struct Place {
    size_t file;
    uint64_t offset;
    int64_t number;  ///< in its file
  };

  void add(const Str& path) {
    files_.push_back({path, doors::Unpacked(path)});
    const std::string_view text = files_.back().bytes.text();
    doors::TfRecords records(text, path);
    using Found = doors::TfRecords::Found;
    int64_t number = 0;
    for (Found found = records.next(); found != Found::End; found = records.next()) {
      if (found == Found::Torn) throw doors::FormatError(path, records.offset(), "the file ends within a record");
      records_.push_back({files_.size() - 1, records.offset(), number++});
    }
  }

  Str place_of(const Place& place) const { return fmt::format("{} record {}", files_[place.file].path, place.number); }

  std::vector<std::pair<std::string_view, std::string_view>> features_of(const Place& place) const {
    const File& file = files_[place.file];
    const std::string_view payload = doors::tfrecord_payload(file.bytes.text(), place.offset, file.path);
    return doors::example_features(payload, place.offset, file.path);
  }

  static Cell cell(Feature feature, const FieldInfo& field) {
    static constexpr const char* kKinds[] = {"nothing", "byte strings", "floats", "ints"};
    const bool is_there = feature.kind != Feature::Kind::None;
    if (!is_there && field.form != FieldForm::Option)
      throw Misfit{fmt::format("the field {} is missing; an option need not be there", field.name)};
    const Str held = fmt::format("{} {}", feature.count(), kKinds[size_t(feature.kind)]);
    const FeatureBlock block(std::move(feature), field);
    const StoredColumn column = block.column(field);
    if (!holds_field(column, field))
      throw Misfit{fmt::format("the field {} holds {}, but {} is wanted", field.name, held, type_text(field))};
    return stored_cell(block, 0, 0, column, field, "");
  }

  /// R3002 if the first example lacks a field that every one must have: a name is misspelt sooner than a record is bad.
  void check_names() const {
    const Place& place = records_[0];
    std::vector<Str> names;
    reading(files_[place.file].path, [&] {
      for (const auto& [name, bytes] : features_of(place)) names.emplace_back(name);
    });
    for (const FieldInfo& field : schema_) {
      if (field.form == FieldForm::Option || std::find(names.begin(), names.end(), field.name) != names.end()) continue;
      const Str near = nearest(field.name, names);
      throw error_here(
          err::schema_differs, place_of(place),
          fmt::format("there is no feature {}{} (there are: {})", field.name,
                      near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(names, ", ")));
    }
  }

  std::vector<File> files_;
  std::vector<Place> records_;
};

}  // namespace

Stream tfrecord(const Str& glob, const Schema& schema) {
  return open_source(schema, [&] { return Stream(new Examples(schema, find_files(glob))); });
}

}  // namespace ltr
