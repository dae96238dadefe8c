#include "runtime/checkpoint/folder.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "doors/hash.h"
#include "doors/safetensors.h"
#include "runtime/api/error.h"

namespace ltr {

namespace fs = std::filesystem;

namespace {

struct TypeName {
  at::ScalarType type;
  const char* name;
};
constexpr TypeName kTypeNames[] = {
    {at::kDouble, "F64"}, {at::kFloat, "F32"}, {at::kHalf, "F16"}, {at::kBFloat16, "BF16"}, {at::kLong, "I64"},
    {at::kInt, "I32"},    {at::kShort, "I16"}, {at::kChar, "I8"},  {at::kByte, "U8"},       {at::kBool, "BOOL"},
};

const char* type_name(at::ScalarType type) {
  for (const TypeName& row : kTypeNames) {
    if (row.type == type) return row.name;
  }
  return "F32";
}

void sync(const Str& path, bool is_folder) {
  const int file = open(path.c_str(), is_folder ? O_RDONLY | O_DIRECTORY : O_RDONLY);
  if (file < 0) return;
  fsync(file);
  close(file);
}

void write_text(const Str& path, const Str& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.flush();
  if (!file) throw error_here(err::cannot_write, path, std::strerror(errno));
  file.close();
  sync(path, false);
}

Str manifest_digest(nlohmann::json manifest) {
  manifest["digest"] = "";
  return doors::sha256_hex(manifest.dump(1));
}

Str read_text(const Str& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

void write_tensors(const Str& path, const std::vector<NamedTensor>& tensors) {
  std::vector<at::Tensor> kept;  // contiguous copies live until the file is written
  std::vector<doors::TensorEntry> entries;
  for (const NamedTensor& named : tensors) {
    at::Tensor tensor = named.tensor.detach().contiguous();
    entries.push_back({named.name, type_name(tensor.scalar_type()), tensor.sizes().vec(), tensor.const_data_ptr(),
                       tensor.nbytes()});
    kept.push_back(std::move(tensor));
  }
  doors::write_safetensors(path, std::move(entries), {{"format", "pt"}});
  sync(path, false);
}

Str write_checkpoint(const Str& folder, const Str& name, const CheckpointData& data) {
  const Str path = folder + "/" + name;
  const Str temporary = fmt::format("{}/.tmp-{}-{}", folder, getpid(), name);
  try {
    fs::create_directories(folder);
    fs::remove_all(temporary);
    fs::create_directory(temporary);
    write_tensors(temporary + "/weights.safetensors", data.weights);
    std::vector<Str> files{"weights.safetensors"};
    if (!data.train.empty()) {
      write_tensors(temporary + "/train.safetensors", data.train);
      files.emplace_back("train.safetensors");
    }
    nlohmann::json manifest = data.manifest;
    manifest["format"] = "ltr-checkpoint";
    manifest["version"] = kCheckpointVersion;
    for (const Str& file : files) {
      manifest["files"][file] = {{"bytes", fs::file_size(temporary + "/" + file)},
                                 {"sha256", doors::sha256_file(temporary + "/" + file)}};
    }
    manifest["digest"] = manifest_digest(manifest);
    write_text(temporary + "/checkpoint.json", manifest.dump(1));
    sync(temporary, true);
    if (fs::exists(path)) {
      // A rename cannot replace a folder that is not empty.
      const Str old = temporary + ".old";
      fs::rename(path, old);
      fs::rename(temporary, path);
      fs::remove_all(old);
    } else {
      fs::rename(temporary, path);
    }
    sync(folder, true);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw error_here(err::cannot_write, path, error.what());
  }
  return path;
}

void point_link(const Str& folder, const Str& link, const Str& name) {
  const Str temporary = fmt::format("{}/.tmp-{}-{}", folder, getpid(), link);
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_symlink(name, temporary, error);
  if (error) write_text(temporary, name + "\n");
  fs::rename(temporary, folder + "/" + link, error);
  if (error) throw error_here(err::cannot_write, folder + "/" + link, error.message());
}

Str read_link(const Str& folder, const Str& link) {
  const Str path = folder + "/" + link;
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  if (!error) return target.string();
  if (!fs::is_regular_file(path, error)) return "";
  Str name = read_text(path);
  while (!name.empty() && (name.back() == '\n' || name.back() == '\r')) name.pop_back();
  return name;
}

nlohmann::json read_manifest(const Str& path) {
  const Str file = path + "/checkpoint.json";
  if (!fs::exists(file)) throw error_here(err::checkpoint_misfit, fmt::format("no checkpoint at {}", path));
  nlohmann::json manifest = nlohmann::json::parse(read_text(file), nullptr, false);
  if (manifest.is_discarded() || !manifest.is_object() || !manifest.contains("digest") || !manifest.contains("files")) {
    throw error_here(err::checkpoint_damaged, path, "checkpoint.json cannot be read");
  }
  if (manifest.value("format", "") != "ltr-checkpoint") {
    throw error_here(err::checkpoint_damaged, path, "checkpoint.json is of something else");
  }
  if (manifest.value("version", 0) > kCheckpointVersion) {
    throw error_here(err::checkpoint_newer, path, manifest.value("version", 0), kCheckpointVersion);
  }
  if (manifest["digest"] != manifest_digest(manifest)) {
    throw error_here(err::checkpoint_damaged, path, "checkpoint.json does not have its digest");
  }
  return manifest;
}

Str verify_checkpoint(const Str& path) {
  try {
    const nlohmann::json manifest = read_manifest(path);
    for (const auto& [name, row] : manifest["files"].items()) {
      const Str file = path + "/" + name;
      std::error_code error;
      const auto bytes = fs::file_size(file, error);
      if (error) return fmt::format("{} is missing", name);
      if (bytes != row.value("bytes", uint64_t(0))) {
        return fmt::format("{} has {} bytes, not {}", name, bytes, row.value("bytes", uint64_t(0)));
      }
      if (doors::sha256_file(file) != row.value("sha256", "")) return fmt::format("{} does not have its digest", name);
    }
  } catch (const Error& error) {
    return error.message;
  }
  return "";
}

std::map<Str, at::Tensor> read_tensors(const Str& file) {
  if (!fs::exists(file)) throw error_here(err::checkpoint_misfit, fmt::format("no file {}", file));
  try {
    const doors::SafetensorsFile tensors = doors::SafetensorsFile::open(file);
    std::map<Str, at::Tensor> result;
    for (const doors::TensorEntry& entry : tensors.tensors()) {
      const auto row = std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                                    [&](const TypeName& type) { return entry.dtype == type.name; });
      if (row == std::end(kTypeNames)) {
        throw error_here(err::checkpoint_damaged, file, fmt::format("{} has the type {}", entry.name, entry.dtype));
      }
      at::Tensor tensor = at::empty(entry.shape, row->type);
      if (entry.bytes > 0) std::memcpy(tensor.mutable_data_ptr(), entry.data, entry.bytes);
      result.emplace(entry.name, std::move(tensor));
    }
    return result;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw error_here(err::checkpoint_damaged, file, error.what());
  }
}

std::vector<Str> checkpoint_names(const Str& folder) {
  std::vector<std::pair<int64_t, Str>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const Str name = entry.path().filename().string();
    if (entry.is_symlink() || !entry.is_directory() || name.starts_with(".")) continue;
    const Str file = entry.path().string() + "/checkpoint.json";
    if (!fs::exists(file)) continue;
    const nlohmann::json manifest = nlohmann::json::parse(read_text(file), nullptr, false);
    const bool is_readable = manifest.is_object() && manifest.contains("step") && manifest["step"].is_number_integer();
    found.emplace_back(is_readable ? manifest["step"].get<int64_t>() : -1, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<Str> names;
  for (auto& [step, name] : found) names.push_back(std::move(name));
  return names;
}

void remove_checkpoint(const Str& folder, const Str& name) {
  // Renamed first: a folder that is half removed must not look like a checkpoint.
  std::error_code error;
  const Str temporary = fmt::format("{}/.tmp-{}-gone-{}", folder, getpid(), name);
  fs::rename(folder + "/" + name, temporary, error);
  if (!error) fs::remove_all(temporary, error);
}

void remove_leftovers(const Str& folder) {
  std::error_code error;
  std::vector<fs::path> gone;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const Str name = entry.path().filename().string();
    if (!name.starts_with(".tmp-")) continue;
    const int process = std::atoi(name.c_str() + 5);
    if (process > 0 && process != getpid() && kill(process, 0) != 0) gone.push_back(entry.path());
  }
  for (const fs::path& path : gone) fs::remove_all(path, error);
}

}  // namespace ltr
