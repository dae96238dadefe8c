// `jsonl`: a JSON object on each line, read when it is asked for.

#include <algorithm>
#include <filesystem>

#include "doors/json.h"
#include "ltr/streams.h"
#include "runtime/api/suggest.h"
#include "runtime/data/image_cells.h"
#include "runtime/data/json_cells.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/source.h"

namespace ltr {

namespace {

class JsonLines : public Source {
 public:
  JsonLines(Schema fields, const std::vector<Str>& files) : Source(std::move(fields)) {
    for (const Str& path : files) {
      note_opened(path);
      files_.push_back({path, reading(path, [&] { return doors::read_file(path); })});
      need_text(files_.back().text, path);
      const int64_t before = size();
      find_lines(files_.size() - 1);
      note_records(path, size() - before);
    }
    if (!lines_.empty()) check_names(lines_[0]);
  }

  int64_t size() const override { return int64_t(lines_.size()); }
  Str name_of(const ReadAt& at) const override { return place_of(lines_[size_t(at.index)]); }

  bool read(const ReadAt& at, Record& out) const override {
    const Line& line = lines_[size_t(at.index)];
    out.resize(schema_.size());
    try {
      const nlohmann::json row = parsed(line);
      for (size_t i = 0; i < schema_.size(); ++i) read_field(row, schema_[i], line, out[i]);
    } catch (const Misfit& misfit) {
      throw bad_record(location(), place_of(line), misfit.text);
    }
    return true;
  }

 private:
  struct File {
    Str path;
    Str text;
  };
  struct Line {
    size_t file;
    size_t begin;
    size_t end;
    int64_t number;
  };

  /// Empty lines are none.
  void find_lines(size_t file) {
    const Str& text = files_[file].text;
    int64_t number = 1;
    for (size_t begin = 0; begin < text.size(); ++number) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      if (text.find_first_not_of(" \t\r", begin) < end) lines_.push_back({file, begin, end, number});
      begin = end + 1;
    }
  }

  Str place_of(const Line& line) const { return fmt::format("{}:{}", files_[line.file].path, line.number); }

  nlohmann::json parsed(const Line& line) const {
    return row_of(std::string_view(files_[line.file].text).substr(line.begin, line.end - line.begin), place_of(line));
  }

  void read_field(const nlohmann::json& row, const FieldInfo& field, const Line& line, Cell& out) const {
    const auto found = row.find(field.name);
    if (found == row.end()) {
      if (field.form != FieldForm::Option) throw Misfit{fmt::format("the field {} is missing", field.name)};
      out = Cell();
      out.is_missing = true;
      return;
    }
    if (!is_image(field) || !found->is_string()) {
      out = cell_of(*found, field);
      return;
    }
    const std::filesystem::path folder = std::filesystem::path(files_[line.file].path).parent_path();
    try {
      out = image_of_file((folder / found->get<Str>()).string(), field);
    } catch (const Misfit& misfit) {
      throw Misfit{fmt::format("the field {}: {}", field.name, misfit.text)};
    }
  }

  /// R3002 if the first row lacks a field that every row must have: a name is misspelt sooner than a record is bad.
  void check_names(const Line& line) const {
    nlohmann::json row;
    try {
      row = parsed(line);
    } catch (const Misfit&) {
      return;  // The record says so when it is read.
    }
    std::vector<Str> names;
    for (const auto& [name, value] : row.items()) names.push_back(name);
    for (const FieldInfo& field : schema_) {
      if (row.contains(field.name) || field.form == FieldForm::Option) continue;
      const Str near = nearest(field.name, names);
      throw error_here(
          err::schema_differs, place_of(line),
          fmt::format("there is no field {}{} (there are: {})", field.name,
                      near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(names, ", ")));
    }
  }

  std::vector<File> files_;
  std::vector<Line> lines_;
};

}  // namespace

Stream jsonl(const Str& glob, const Schema& schema) {
  return open_source(schema, [&] { return Stream(new JsonLines(schema, find_files(glob))); });
}

}  // namespace ltr
