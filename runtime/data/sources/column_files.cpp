// `parquet` and `arrow`: files of columns, whose blocks of rows are read when a record of them is.

#include "runtime/data/sources/column_files.h"

#include <algorithm>
#include <filesystem>

#include "doors/json.h"
#include "doors/memory.h"
#include "ltr/streams.h"
#include "runtime/data/block_cache.h"
#include "runtime/data/foreign_tensor.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/table.h"
#include "runtime/data/stored_cells.h"
#include "runtime/tensor/plugin.h"

namespace ltr {

namespace {

namespace fs = std::filesystem;

/// Of the memory of the machine, what the blocks of a source may take.
constexpr int64_t kShareOfMemory = 8;

/// "a%20b" as it was written: how folders escape what names of files may not hold.
Str unescaped(std::string_view text) {
  Str out;
  for (size_t i = 0; i < text.size(); ++i) {
    const Str code(text.substr(i, 3));
    if (code.size() == 3 && code[0] == '%' && std::isxdigit(uint8_t(code[1])) != 0 &&
        std::isxdigit(uint8_t(code[2])) != 0) {
      out += char(std::stoi(code.substr(1), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// What folders `name=value` on the way to `path` say, the innermost first.
std::vector<std::pair<Str, Str>> columns_of_path(const Str& path) {
  std::vector<std::pair<Str, Str>> found;
  for (const fs::path& part : fs::path(path).parent_path()) {
    const Str text = part.string();
    const size_t equals = text.find('=');
    if (equals != Str::npos && equals > 0)
      found.emplace(found.begin(), unescaped(text.substr(0, equals)), unescaped(text.substr(equals + 1)));
  }
  return found;
}

/// The names of classes that Hugging Face's datasets note beside the columns, by column.
std::map<Str, std::vector<Str>> classes_of(const doors::ColumnFile& file) {
  std::map<Str, std::vector<Str>> classes;
  const Str note = file.note("huggingface");
  const nlohmann::json json = note.empty() ? nlohmann::json() : doors::try_json(note);
  const nlohmann::json::json_pointer place("/info/features");
  if (!json.is_object() || !json.contains(place) || !json.at(place).is_object()) return classes;
  for (const auto& [name, feature] : json.at(place).items()) {
    if (!feature.is_object() || feature.value("_type", nlohmann::json()) != "ClassLabel" || !feature.contains("names"))
      continue;
    const nlohmann::json& names = feature["names"];
    const bool is_list = names.is_array() && std::all_of(names.begin(), names.end(),
                                                         [](const nlohmann::json& one) { return one.is_string(); });
    if (is_list) classes[name] = names.get<std::vector<Str>>();
  }
  return classes;
}

/// A field of the records of one file: a column, or a value that its path says.
struct FieldPlace {
  size_t column = 0;  ///< among those chosen
  StoredColumn stored;
  bool is_of_path = false;
  Cell cell;  ///< of a path
};

class OpenColumns {
 public:
  OpenColumns(const Str& path, doors::ColumnFormat format, const Schema& schema)
      : path_(path), folder_(fs::path(path).parent_path().string()) {
    try {
      file_ = doors::open_column_file(file_beside_runtime(doors::kColumnLibrary), path, format);
      choose(schema);
    } catch (const doors::ColumnFileError& error) {
      throw error_here(err::bad_record, path, error.what());
    } catch (const doors::NoColumnLibrary& error) {
      throw with_help(Error(err::file_missing.code, fmt::format("cannot read {}: {}", path, error.what())),
                      "`ltrc explain R3001` says how to get it");
    }
    for (const int64_t rows : file_->blocks()) {
      begins_.push_back(size_);
      size_ += rows;
    }
  }

  const Str& path() const { return path_; }
  int64_t size() const { return size_; }
  const FieldPlace& place(size_t field) const { return places_[field]; }
  Str row_text(int64_t row) const { return fmt::format("{} row {}", path_, row + 1); }

  /// The block that holds `row`, and its first row.
  std::pair<size_t, int64_t> block_of(int64_t row) const {
    // Behind blocks without rows, which begin where the next one does.
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), row);
    return {size_t(after - begins_.begin()) - 1, *(after - 1)};
  }

  BlockCache::Block read(size_t block) const { return file_->read(block); }

  Cell cell(const doors::RowBlock& block, int64_t row, size_t field, const FieldInfo& info) const {
    const FieldPlace& place = places_[field];
    if (place.is_of_path) return place.cell;
    return stored_cell(block, place.column, row, place.stored, info, folder_);
  }

  /// "the field x is null in 3 rows, taken as nan", "" if there are none, or the file does not say.
  Str nulls_text(const Schema& schema) const {
    for (size_t i = 0; i < schema.size(); ++i) {
      const FieldPlace& place = places_[i];
      if (place.is_of_path || schema[i].form == FieldForm::Option || cell_kind(schema[i]) != CellKind::Real ||
          !schema[i].dims.empty())
        continue;
      const int64_t nulls = file_->nulls(place.column);
      if (nulls > 0)
        return fmt::format("{}: the field {} is null in {} of {} rows, taken as nan", path_, schema[i].name, nulls,
                           size_);
    }
    return "";
  }

 private:
  void choose(const Schema& schema) {
    const std::map<Str, std::vector<Str>> classes = classes_of(*file_);
    const std::vector<std::pair<Str, Str>> of_path = columns_of_path(path_);
    std::vector<Str> names;
    for (const doors::ColumnInfo& column : file_->columns()) names.push_back(column.name);
    std::vector<size_t> chosen;
    for (const FieldInfo& field : schema) {
      const auto found = std::find(names.begin(), names.end(), field.name);
      if (found == names.end()) {
        places_.push_back(place_of_path(field, of_path, names));
        continue;
      }
      if (std::find(found + 1, names.end(), field.name) != names.end())
        throw error_here(err::schema_differs, path_, fmt::format("there are two columns {}", field.name));
      FieldPlace place;
      place.stored.info = file_->columns()[size_t(found - names.begin())];
      if (const auto own = classes.find(field.name);
          own != classes.end() && place.stored.info.kind == doors::ColumnKind::Whole)
        place.stored.classes = own->second;
      if (!holds_field(place.stored, field)) refuse(place.stored.info, field);
      place.column = chosen.size();
      chosen.push_back(size_t(found - names.begin()));
      places_.push_back(std::move(place));
    }
    file_->choose(chosen);
  }

  FieldPlace place_of_path(const FieldInfo& field, const std::vector<std::pair<Str, Str>>& of_path,
                           std::vector<Str> names) const {
    FieldPlace place;
    place.is_of_path = true;
    for (const auto& [name, text] : of_path) {
      if (name != field.name) {
        names.push_back(name);
        continue;
      }
      try {
        place.cell = path_cell(text, field);
      } catch (const Misfit& misfit) {
        throw error_here(err::schema_differs, path_, fmt::format("{} in its path {}", field.name, misfit.text));
      }
      return place;
    }
    throw no_column(path_, "column", field.name, names);
  }

  [[noreturn]] void refuse(const doors::ColumnInfo& column, const FieldInfo& field) const {
    const Error error = error_here(
        err::schema_differs, path_,
        fmt::format("the column {} holds {}, the program says {}", field.name, column.type, type_text(field)));
    const bool is_number = column.kind == doors::ColumnKind::Whole || column.kind == doors::ColumnKind::Real;
    if (column.kind == doors::ColumnKind::Other)
      throw with_help(error, "write it as numbers or texts, such as `.dt.timestamp()` of a date");
    if (is_number || column.kind == doors::ColumnKind::Numbers)
      throw with_help(error, "write what it holds; a map converts: `x.to(float)`");
    throw error;
  }

  Str path_;
  Str folder_;
  std::unique_ptr<doors::ColumnFile> file_;
  std::vector<FieldPlace> places_;
  std::vector<int64_t> begins_;
  int64_t size_ = 0;
};

class ColumnFiles : public Source {
 public:
  ColumnFiles(Schema fields, const std::vector<Str>& files, doors::ColumnFormat format)
      : Source(std::move(fields)), cache_(std::max(doors::own_memory() / kShareOfMemory, int64_t(1))) {
    for (const Str& path : files) {
      note_opened(path);
      const auto& file =
          files_.emplace_back(reading(path, [&] { return std::make_unique<OpenColumns>(path, format, schema_); }));
      note_records(path, file->size());
      if (const Str nulls = file->nulls_text(schema_); !nulls.empty()) note_doubt(path, nulls);
      begins_.push_back(size_);
      size_ += file->size();
    }
  }

  int64_t size() const override { return size_; }

  Str name_of(const ReadAt& at) const override {
    const auto [file, row] = place_of(at.index);
    return files_[file]->row_text(row);
  }

  bool read(const ReadAt& at, Record& out) const override {
    const auto [number, row] = place_of(at.index);
    const OpenColumns& file = *files_[number];
    const auto [block, first] = file.block_of(row);
    out.resize(schema_.size());
    try {
      const BlockCache::Block rows =
          cache_.get(int64_t(number) << 32 | int64_t(block), [&] { return file.read(block); });
      for (size_t i = 0; i < schema_.size(); ++i) out[i] = file.cell(*rows, row - first, i, schema_[i]);
    } catch (const Misfit& misfit) {
      throw bad_record(location(), file.row_text(row), misfit.text);
    } catch (const doors::ColumnFileError& error) {
      throw error_at(location(), err::bad_record, file.row_text(row), error.what());
    }
    return true;
  }

 private:
  /// The file of a record, and its row there.
  std::pair<size_t, int64_t> place_of(int64_t index) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), index);
    return {size_t(after - begins_.begin()) - 1, index - *(after - 1)};
  }

  std::vector<std::unique_ptr<OpenColumns>> files_;
  std::vector<int64_t> begins_;
  int64_t size_ = 0;
  mutable BlockCache cache_;
};

/// The files of a pattern, or those below a folder, whose names end in one of `endings`.
std::vector<Str> named_files(const Str& glob, const std::vector<Str>& endings) {
  std::vector<Str> files;
  for (const Str& found : find_files(glob)) {
    if (!fs::is_directory(found)) {
      files.push_back(found);
      continue;
    }
    for (const Str& file : files_below(found, endings)) files.push_back(file);
  }
  if (files.empty())
    throw error_here(err::file_missing, fmt::format("{}: no file there ends in {}", glob, fmt::join(endings, " or ")));
  return files;
}

}  // namespace

std::vector<Str> files_below(const Str& folder, const std::vector<Str>& endings) {
  std::vector<Str> files;
  const auto is_hidden = [](const fs::directory_entry& entry) {
    const Str name = entry.path().filename().string();
    return name.starts_with(".") || name.starts_with("_");
  };
  reading(folder, [&] {
    for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
      if (is_hidden(*entry)) {
        if (entry->is_directory()) entry.disable_recursion_pending();
        continue;
      }
      const Str path = entry->path().string();
      const bool is_one =
          std::any_of(endings.begin(), endings.end(), [&](const Str& end) { return path.ends_with(end); });
      if (is_one && entry->is_regular_file()) files.push_back(path);
    }
  });
  std::sort(files.begin(), files.end());
  return files;
}

Stream open_column_files(const std::vector<Str>& files, doors::ColumnFormat format, const Schema& schema) {
  return Stream(new ColumnFiles(schema, files, format));
}

Stream parquet(const Str& glob, const Schema& schema) {
  return open_source(
      schema, [&] { return open_column_files(named_files(glob, {".parquet"}), doors::ColumnFormat::Parquet, schema); });
}

Stream arrow(const Str& glob, const Schema& schema) {
  return open_source(schema, [&] {
    return open_column_files(named_files(glob, {".arrow", ".feather"}), doors::ColumnFormat::Arrow, schema);
  });
}

}  // namespace ltr
