// `hf_dataset`: a folder that Hugging Face's `datasets` saved, or that its hub keeps.

#include <algorithm>
#include <filesystem>
#include <set>

#include "doors/json.h"
#include "ltr/streams.h"
#include "runtime/api/suggest.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/column_files.h"

namespace ltr {

namespace {

namespace fs = std::filesystem;

using Texts = std::vector<Str>;

constexpr const char* kDict = "dataset_dict.json";
constexpr const char* kState = "state.json";

[[noreturn]] void no_split(const Str& folder, const Str& split, const Texts& splits) {
  const Str near = nearest(split, splits);
  throw error_here(err::schema_differs, folder,
                   fmt::format("there is no split {}{} (there are: {})", split,
                               near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(splits, ", ")));
}

[[noreturn]] void refuse(const Str& path, const Str& reason) { throw error_here(err::bad_record, path, reason); }

nlohmann::json json_at(const fs::path& path) {
  return reading(path.string(), [&] { return doors::read_json(path.string()); });
}

/// The files of one data set that `save_to_disk` wrote, in their order.
Texts saved_files(const fs::path& folder) {
  const Str path = (folder / kState).string();
  const nlohmann::json state = json_at(path);
  const nlohmann::json none;
  const auto part = [&](const char* name) -> const nlohmann::json& {
    return state.is_object() && state.contains(name) ? state[name] : none;
  };
  if (!part("_data_files").is_array()) refuse(path, "it names no `_data_files`");
  // An index says which rows count, and in which order.
  for (const char* index : {"_indices_data_files", "_indices_files"}) {
    if (!part(index).is_null() && !part(index).empty())
      refuse(path, "its rows are chosen by an index; save `dataset.flatten_indices()`");
  }
  Texts files;
  for (const nlohmann::json& file : part("_data_files")) {
    if (!file.is_object() || !file.contains("filename") || !file["filename"].is_string())
      refuse(path, "one of its `_data_files` has no `filename`");
    const fs::path name = file["filename"].get<Str>();
    if (name.has_parent_path()) refuse(path, fmt::format("the file {} lies outside of its folder", name.string()));
    files.push_back((folder / name).string());
  }
  return files;
}

/// Which split a file of the hub belongs to, by its name: `train-00000-of-00002.parquet`, `train.parquet`, `train/0000.parquet`,
/// `imdb-train.arrow`.
Str split_of(const fs::path& file) {
  Str name = file.stem().string();
  if (const size_t of = name.rfind("-of-"); of != Str::npos) {
    const size_t number = name.rfind('-', of - 1);
    if (number != Str::npos) name.resize(number);
  }
  if (!name.empty() && name.find_first_not_of("0123456789") == Str::npos) return file.parent_path().filename().string();
  if (file.extension() == ".arrow") {
    if (const size_t dash = name.rfind('-'); dash != Str::npos) name.erase(0, dash + 1);
  }
  return name;
}

struct Found {
  Texts files;
  doors::ColumnFormat format = doors::ColumnFormat::Arrow;
};

Found hub_files(const Str& folder, const Str& split) {
  Found found;
  Texts all = files_below(folder, {".parquet"});
  found.format = doors::ColumnFormat::Parquet;
  if (all.empty()) {
    all = files_below(folder, {".arrow"});
    found.format = doors::ColumnFormat::Arrow;
  }
  if (all.empty())
    throw error_here(err::file_missing,
                     fmt::format("{}: neither {} nor {} nor a file that ends in .parquet or .arrow is there", folder,
                                 kDict, kState));
  std::set<Str> splits;
  std::set<Str> folders;
  for (const Str& file : all) {
    splits.insert(split_of(file));
    if (split_of(file) != split) continue;
    found.files.push_back(file);
    folders.insert(fs::path(file).parent_path().string());
  }
  if (found.files.empty()) no_split(folder, split, {splits.begin(), splits.end()});
  if (folders.size() > 1)
    throw with_help(
        error_here(err::schema_differs, folder,
                   fmt::format("the split {} is there more than once: in {}", split, fmt::join(folders, ", "))),
        "name the folder of one: each is a data set of its own");
  return found;
}

Found files_of(const Str& folder, const Str& split) {
  const fs::path dict = fs::path(folder) / kDict;
  if (fs::exists(dict)) {
    const nlohmann::json json = json_at(dict);
    const bool is_list = json.is_object() && json.contains("splits") && json["splits"].is_array();
    Texts splits;
    for (const nlohmann::json& one : is_list ? json["splits"] : nlohmann::json::array()) {
      if (one.is_string()) splits.push_back(one);
    }
    if (splits.empty()) refuse(dict.string(), "it names no `splits`");
    if (std::find(splits.begin(), splits.end(), split) == splits.end()) no_split(folder, split, splits);
    return {saved_files(fs::path(folder) / split)};
  }
  const fs::path state = fs::path(folder) / kState;
  if (!fs::exists(state)) return hub_files(folder, split);
  const nlohmann::json json = json_at(state);
  if (json.is_object() && json.contains("_split") && json["_split"].is_string() && json["_split"] != split)
    no_split(folder, split, {json["_split"].get<Str>()});
  return {saved_files(folder)};
}

}  // namespace

Stream hf_dataset(const Str& dir, const Str& split, const Schema& schema) {
  return open_source(schema, [&] {
    const Found found = files_of(find_path(dir), split);
    return open_column_files(found.files, found.format, schema);
  });
}

}  // namespace ltr
