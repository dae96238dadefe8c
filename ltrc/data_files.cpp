#include "ltrc/data_files.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "doors/column_file.h"
#include "doors/csv.h"
#include "doors/file.h"
#include "doors/file_kind.h"
#include "doors/json.h"
#include "doors/safetensors.h"
#include "doors/sqlite.h"
#include "doors/tar.h"
#include "doors/tfrecord.h"
#include "doors/unpacked.h"
#include "doors/utf8.h"
#include "doors/zip.h"

namespace ltr::driver {

namespace {

/// Where a path or pattern of the source at `from` may be, the first that holds first.
std::array<std::filesystem::path, 2> places_of(const std::string& path, const std::string& from) {
  return {path, std::filesystem::path(from).parent_path() / path};
}

/// The files that a pattern names, in the order in which they are read.
std::vector<std::string> named_by(const std::filesystem::path& pattern) {
  if (std::error_code failed; std::filesystem::exists(pattern, failed)) return {pattern.string()};
  glob_t found{};
  ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::sort(files.begin(), files.end());
  return files;
}

using Texts = std::vector<std::string>;
using Stored = std::optional<check::StoredFields>;

constexpr size_t kLongestLine = size_t(16) << 20;  // A longer one is seen when it is read.

/// The first line of a file that is not blank, and its number; nothing for one that is too long, empty if there is none.
std::optional<std::pair<std::string, int64_t>> first_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  int64_t number = 1;
  bool is_blank = true;
  for (int c = file.get(); c != EOF && (c != '\n' || is_blank); c = file.get()) {
    if (c == '\n') {
      line.clear();
      ++number;
      continue;
    }
    if (line.size() == kLongestLine) return std::nullopt;
    line += char(c);
    is_blank = is_blank && (c == ' ' || c == '\t' || c == '\r');
  }
  return std::pair(is_blank ? "" : line, number);
}

/// What is said of a file of another kind: nothing if it may be text.
Stored of_other_kind(const std::string& path, const Texts& arguments, const char* word) {
  const auto kind = doors::kind_of_file(path);
  if (!kind) return std::nullopt;
  return check::StoredFields{"\"" + arguments[0] + "\"", word, {}, false, "", kind->what, kind->source};
}

Stored csv_columns(const std::string& path, const Texts& arguments) {
  const std::string separator = arguments.size() > 1 ? arguments[1] : "";
  if (separator.size() != 1 || path.ends_with(".gz")) return std::nullopt;
  if (Stored other = of_other_kind(path, arguments, "column")) return other;
  const auto line = first_line(path);
  if (!line || doors::first_not_utf8(line->first)) return std::nullopt;
  Texts names;
  if (!doors::CsvReader(line->first, separator[0]).next(names)) return std::nullopt;
  const std::string* number = doors::number_among(names);
  check::StoredFields stored{"\"" + arguments[0] + "\"", "column", names};
  if (number != nullptr) stored.number = *number;
  return stored;
}

Stored json_fields(const std::string& path, const Texts& arguments) {
  if (Stored other = of_other_kind(path, arguments, "field")) return other;
  const auto line = first_line(path);
  if (!line) return std::nullopt;
  const nlohmann::json row = line->first.empty() ? nlohmann::json() : doors::try_json(line->first);
  if (!row.is_object()) return std::nullopt;
  check::StoredFields stored{path + ":" + std::to_string(line->second), "field", {}, true};
  for (const auto& [name, value] : row.items()) stored.names.push_back(name);
  return stored;
}

Stored npz_arrays(const std::string& path, const Texts& arguments) {
  check::StoredFields stored{"\"" + arguments[0] + "\"", "array", {}};
  for (const doors::ZipEntry& entry : doors::read_zip(path, doors::Mapping(path))) {
    if (entry.name.ends_with(".npy")) stored.names.push_back(entry.name.substr(0, entry.name.size() - 4));
  }
  return stored;
}

Stored tensor_names(const std::string& path, const Texts& arguments) {
  check::StoredFields stored{"\"" + arguments[0] + "\"", "tensor", {}};
  const doors::SafetensorsFile file = doors::SafetensorsFile::open(path);
  for (const doors::TensorEntry& entry : file.tensors()) stored.names.push_back(entry.name);
  return stored;
}

Stored sql_columns(const std::string& path, const Texts& arguments) {
  if (arguments.size() < 2 || arguments[1].empty()) return std::nullopt;
  return check::StoredFields{"the query on \"" + arguments[0] + "\"", "column",
                             doors::SqlRows(path, arguments[1]).columns()};
}

/// Columns of a Parquet or Arrow file, where the library is there that reads them. Folders such as `year=2024` are columns, too: then the
/// run says what is not there.
Stored stored_columns(const std::string& path, const Texts& arguments, doors::ColumnFormat format) {
  if (path.find('=') != std::string::npos) return std::nullopt;
  std::error_code failed;
  const auto ltrc = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto library = ltrc.parent_path().parent_path() / "lib/ltr" / doors::kColumnLibrary;
  check::StoredFields stored{"\"" + arguments[0] + "\"", "column", {}};
  auto names = doors::column_names(library.string(), path, format);
  if (!names) return std::nullopt;
  stored.names = std::move(*names);
  return stored;
}

Stored parquet_columns(const std::string& path, const Texts& arguments) {
  return stored_columns(path, arguments, doors::ColumnFormat::Parquet);
}

Stored arrow_columns(const std::string& path, const Texts& arguments) {
  return stored_columns(path, arguments, doors::ColumnFormat::Arrow);
}

/// Those of the first sample of an archive.
Stored tar_endings(const std::string& path, const Texts&) {
  const doors::Mapping file(path);
  check::StoredFields stored{"", "ending", {"__key__"}, true};
  std::string key;
  for (const doors::TarEntry& entry : doors::read_tar(file.text(), path)) {
    const auto [name, ending] = doors::sample_parts(entry.name);
    if (ending.empty()) continue;
    if (!key.empty() && name != key) break;
    key = name;
    stored.names.push_back(ending);
  }
  stored.place = path + ":" + key;
  return key.empty() ? Stored() : stored;
}

/// Those of the first example.
Stored example_names(const std::string& path, const Texts&) {
  const doors::Unpacked file(path);
  doors::TfRecords records(file.text(), path);
  if (records.next() != doors::TfRecords::Found::Whole) return std::nullopt;
  check::StoredFields stored{path + " record 0", "feature", {}, true};
  for (const auto& [name, bytes] : doors::example_features(records.payload(), 0, path)) stored.names.emplace_back(name);
  return stored;
}

/// How the files of a source say what their records hold.
struct Reader {
  std::string_view source;
  Stored (*read)(const std::string& path, const Texts& arguments);
};
constexpr Reader kReaders[] = {
    {"csv", csv_columns},     {"jsonl", json_fields},        {"npz", npz_arrays},
    {"sqlite", sql_columns},  {"tar_shards", tar_endings},   {"parquet", parquet_columns},
    {"arrow", arrow_columns}, {"safetensors", tensor_names}, {"tfrecord", example_names},
};

}  // namespace

Stored DataFilesHere::fields_of(std::string_view source, const Texts& arguments, const std::string& from) const {
  const auto* reader =
      std::find_if(std::begin(kReaders), std::end(kReaders), [&](const Reader& one) { return one.source == source; });
  if (reader == std::end(kReaders)) return std::nullopt;
  for (const std::filesystem::path& place : places_of(arguments[0], from)) {
    for (const std::string& file : named_by(place)) {
      std::error_code failed;
      // An empty file says nothing; one behind it may.
      if (std::filesystem::is_regular_file(file, failed) && std::filesystem::file_size(file, failed) == 0) continue;
      if (!std::filesystem::is_regular_file(file, failed)) return std::nullopt;
      try {
        return reader->read(file, arguments);
      } catch (const std::exception&) {
        return std::nullopt;  // What is wrong with it is said by who reads it.
      }
    }
  }
  return std::nullopt;
}

}  // namespace ltr::driver
