#include "runtime/checkpoint/folder.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <system_error>

#include "doors/hash.h"
#include "doors/json.h"
#include "runtime/api/error.h"

namespace ltr {

namespace fs = std::filesystem;

namespace {

/// Waits until `path` is on the disk. std::system_error if it does not get there.
void sync(const Str& path, bool is_folder) {
  const auto fail = [&] { throw std::system_error(errno, std::generic_category(), path); };
  const int file = open(path.c_str(), (is_folder ? O_RDONLY | O_DIRECTORY : O_RDONLY) | O_CLOEXEC);
  if (file < 0) fail();
  const int result = fsync(file);
  const int reason = errno;
  close(file);
  // Some file systems cannot sync a folder.
  if (result == 0 || (is_folder && (reason == EINVAL || reason == ENOTSUP))) return;
  errno = reason;
  fail();
}

/// All files of a checkpoint, then the folder that names them.
void sync_files(const Str& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) sync(entry.path().string(), false);
  sync(path, true);
}

void write_text(const Str& path, const Str& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const auto fail = [&] {
    const int reason = errno;
    if (file >= 0) close(file);
    throw std::system_error(reason, std::generic_category(), path);
  };
  if (file < 0) fail();
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) fail();
    if (count > 0) done += size_t(count);
  }
  if (close(file) != 0) throw std::system_error(errno, std::generic_category(), path);
}

/// Bytes of what one process writes of a checkpoint, about: before it is written, there must be room for all of it.
uint64_t size_of(const CheckpointData& data) {
  constexpr uint64_t kMore = 1 << 16;  // the manifest, headers
  uint64_t bytes = kMore;
  const auto add = [&](const Str& name, const at::Tensor& tensor) { bytes += tensor.nbytes() + name.size() + 100; };
  for (const auto* tensors : {&data.weights, &data.averages, &data.train, &data.share.weights, &data.share.averages}) {
    for (const NamedTensor& named : *tensors) add(named.name, named.tensor);
  }
  for (const SlicedTensor& sliced : data.share.slices) {
    if (sliced.slice.is_written) add(sliced.name, sliced.tensor);
  }
  return bytes;
}

void check_space(const Str& folder, uint64_t bytes) {
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  if (unknown || space.available >= bytes) return;
  throw std::system_error(ENOSPC, std::generic_category(),
                          fmt::format("{} bytes are needed, {} are left", bytes, space.available));
}

/// `path` becomes what `temporary` is. At every instant one of the two is whole under a name that is found again.
void put_in_place(const Str& temporary, const Str& path, const Str& old) {
  if (!fs::exists(path)) return fs::rename(temporary, path);
  // A rename cannot replace a folder that is not empty; where they cannot be exchanged, it steps aside.
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(temporary);
    return;
  }
  fs::rename(path, old);
  fs::rename(temporary, path);
  fs::remove_all(old);
}

constexpr char kTemporary[] = ".tmp-";  ///< being written, or being removed
constexpr char kOld[] = ".old-";        ///< stepped aside for one of its name

/// At the start of its line, one blank deep: no member of a member.
constexpr char kDigestKey[] = "\n \"digest\": \"";

/// The digest of a manifest's text: of all its bytes, but for the digest's own.
Str manifest_digest(Str text) {
  const size_t begin = text.find(kDigestKey);
  if (begin == Str::npos) return "";
  const size_t value = begin + std::strlen(kDigestKey);
  text.erase(value, text.find('"', value) - value);
  return doors::sha256_hex(text);
}

/// The text of `checkpoint.json`, with its digest in it.
Str manifest_text(nlohmann::json manifest) {
  manifest["digest"] = "";
  Str text = manifest.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  const Str digest = manifest_digest(text);
  text.insert(text.find(kDigestKey) + std::strlen(kDigestKey), digest);
  return text;
}

Str read_text(const Str& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Str temporary_of(const Str& folder, const Str& name) { return folder + "/" + kTemporary + name; }

/// Runs `body`, which writes a part of the checkpoint `name`. All of it goes if the disk fails.
void writing(const Str& folder, const Str& name, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::system_error& error) {
    std::error_code ignored;
    fs::remove_all(temporary_of(folder, name), ignored);
    throw error_at({}, err::cannot_write, folder + "/" + name, error.what());
  }
}

nlohmann::json file_row(const Str& file, const Str& digest) {
  return {{"bytes", fs::file_size(file)}, {"sha256", digest}};
}

/// Where one rank writes its tensors of a kind.
Str file_name(const Str& kind, const CheckpointShare& share) {
  if (!share.has_weights) return kind + ".safetensors";
  return fmt::format("{}-{:05}-of-{:05}.safetensors", kind, share.rank + 1, share.world);
}

/// The file that says in which of several the tensors of a kind are. That of weights has the name that others look for.
Str index_name(const Str& kind) { return (kind == "weights" ? "model" : kind) + ".safetensors.index.json"; }

/// Writes the files of one rank, and says what is in them.
class ShareWriter {
 public:
  ShareWriter(Str temporary, const CheckpointShare& share) : temporary_(std::move(temporary)), share_(share) {}

  void add(const Str& file, const std::vector<NamedTensor>& tensors) {
    const Str path = temporary_ + "/" + file;
    said_["files"][file] = file_row(path, write_tensors(path, tensors));
  }
  void add_kind(const char* kind, std::vector<NamedTensor> tensors, const std::vector<NamedTensor>& more) {
    tensors.insert(tensors.end(), more.begin(), more.end());
    // A checkpoint has a file of weights, and be it empty.
    const bool is_always = Str(kind) == "weights" && share_.rank == 0;
    if (tensors.empty() && !is_always) return;
    const Str file = file_name(kind, share_);
    add(file, tensors);
    if (!share_.has_weights) return;
    uint64_t bytes = 0;
    for (const NamedTensor& one : tensors) {
      said_["indexes"][kind]["weight_map"][one.name] = file;
      bytes += one.tensor.nbytes();
    }
    said_["indexes"][kind]["metadata"]["total_size"] = bytes;
  }
  void add_slices() {
    const Str file = fmt::format("train-{}.safetensors", share_.rank);
    std::vector<NamedTensor> tensors;
    for (const SlicedTensor& one : share_.slices) {
      if (!one.slice.is_written) continue;
      tensors.push_back({one.name, one.tensor.flatten()});
      said_["slices"][one.name]["shape"] = one.slice.sizes;
      said_["slices"][one.name]["part"] = {one.slice.begin, one.slice.end, file};
    }
    if (!tensors.empty()) add(file, tensors);
  }
  nlohmann::json said() { return std::move(said_); }

 private:
  Str temporary_;
  const CheckpointShare& share_;
  nlohmann::json said_ = {
      {"files", nlohmann::json::object()}, {"slices", nlohmann::json::object()}, {"indexes", nlohmann::json::object()}};
};

/// What all ranks said, as members of the manifest; the indexes.
nlohmann::json joined_shares(const std::vector<nlohmann::json>& shares, nlohmann::json& manifest) {
  nlohmann::json indexes = nlohmann::json::object();
  for (const nlohmann::json& share : shares) {
    for (const auto& [file, row] : share.at("files").items()) manifest["files"][file] = row;
    for (const auto& [name, slice] : share.at("slices").items()) {
      nlohmann::json& known = manifest["slices"][name];
      known["shape"] = slice["shape"];
      known["parts"].push_back(slice["part"]);
    }
    for (const auto& [kind, index] : share.at("indexes").items()) {
      const uint64_t before = indexes.contains(kind) ? indexes[kind]["metadata"]["total_size"].get<uint64_t>() : 0;
      indexes[kind].merge_patch(index);
      indexes[kind]["metadata"]["total_size"] = before + index["metadata"]["total_size"].get<uint64_t>();
    }
  }
  return indexes;
}

}  // namespace

void open_checkpoint(const Str& folder, const Str& name) {
  writing(folder, name, [&] {
    fs::create_directories(folder);
    fs::remove_all(temporary_of(folder, name));
    fs::create_directory(temporary_of(folder, name));
  });
}

nlohmann::json write_share(const Str& folder, const Str& name, const CheckpointData& data) {
  ShareWriter writer(temporary_of(folder, name), data.share);
  writing(folder, name, [&] {
    check_space(folder, size_of(data));
    writer.add_kind("weights", data.weights, data.share.weights);
    writer.add_kind("averages", data.averages, data.share.averages);
    if (!data.train.empty()) writer.add("train.safetensors", data.train);
    writer.add_slices();
  });
  return writer.said();
}

void sync_open(const Str& folder, const Str& name) {
  writing(folder, name, [&] { sync_files(temporary_of(folder, name)); });
}

Str close_checkpoint(const Str& folder, const Str& name, const CheckpointData& data,
                     const std::vector<nlohmann::json>& shares) {
  const Str path = folder + "/" + name, temporary = temporary_of(folder, name);
  writing(folder, name, [&] {
    nlohmann::json manifest = data.manifest;
    manifest["format"] = "ltr-checkpoint";
    manifest["version"] = kCheckpointVersion;
    const nlohmann::json indexes = joined_shares(shares, manifest);
    for (const auto& [kind, index] : indexes.items()) {
      const Str file = index_name(kind);
      const Str text = index.dump(1) + "\n";
      write_text(temporary + "/" + file, text);
      manifest["files"][file] = file_row(temporary + "/" + file, doors::sha256_hex(text));
    }
    write_text(temporary + "/checkpoint.json", manifest_text(std::move(manifest)));
    // What it replaces under its name goes at once: then the disk must have it before.
    if (fs::exists(path)) sync_files(temporary);
    put_in_place(temporary, path, folder + "/" + kOld + name);
  });
  return path;
}

Str tensors_file(const Str& path, const Str& kind) {
  const Str index = path + "/" + index_name(kind);
  return fs::exists(index) ? index : path + "/" + kind + ".safetensors";
}

std::map<Str, PartedTensor> read_slices(const Str& path) {
  std::map<Str, PartedTensor> tensors;
  std::map<Str, std::map<Str, at::Tensor>> files;
  const nlohmann::json slices = read_manifest(path).value("slices", nlohmann::json::object());
  for (const auto& [name, slice] : slices.items()) {
    PartedTensor one{slice.at("shape").get<std::vector<int64_t>>(), {}};
    int64_t missing = 1;
    for (const int64_t size : one.sizes) missing *= size;
    for (const nlohmann::json& part : slice.at("parts")) {
      const Str file = part.at(2);
      if (!files.contains(file)) files[file] = read_tensors(path + "/" + file);
      const auto found = files[file].find(name);
      if (found == files[file].end())
        throw error_at({}, err::checkpoint_damaged, path, fmt::format("{} lacks {}", file, name));
      one.parts.push_back({part.at(0).get<int64_t>(), found->second.flatten()});
      missing -= found->second.numel();
    }
    if (missing != 0) throw error_at({}, err::checkpoint_damaged, path, fmt::format("a part of {} is missing", name));
    tensors.emplace(name, std::move(one));
  }
  return tensors;
}

void sync_checkpoint(const Str& folder, const Str& name) {
  sync_files(folder + "/" + name);
  sync(folder, true);
}

void point_link(const Str& folder, const Str& link, const Str& name) {
  const Str temporary = folder + "/" + kTemporary + link;
  try {
    std::error_code error;
    fs::remove(temporary, error);
    fs::create_symlink(name, temporary, error);
    if (error) write_text(temporary, name + "\n");
    // Who copied the run without links has a whole checkpoint here.
    if (fs::is_directory(fs::symlink_status(folder + "/" + link))) fs::remove_all(folder + "/" + link);
    fs::rename(temporary, folder + "/" + link);
  } catch (const std::system_error& error) {
    throw error_at({}, err::cannot_write, folder + "/" + link, error.what());
  }
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

namespace {

/// The manifest of a checkpoint, and what is damaged in it, "" if nothing.
std::pair<nlohmann::json, Str> open_manifest(const Str& path) {
  const Str file = path + "/checkpoint.json";
  if (!fs::exists(file)) throw error_at({}, err::checkpoint_misfit, fmt::format("no checkpoint at {}", path));
  const Str text = read_text(file);
  nlohmann::json manifest = doors::try_json(text);
  const auto is = [&](const char* key, bool (nlohmann::json::*kind)() const noexcept) {
    return manifest.contains(key) && (manifest[key].*kind)();
  };
  if (!manifest.is_object() || !is("digest", &nlohmann::json::is_string) || !is("files", &nlohmann::json::is_object)) {
    return {manifest, "checkpoint.json cannot be read"};
  }
  if (!is("format", &nlohmann::json::is_string) || manifest["format"] != "ltr-checkpoint") {
    return {manifest, "checkpoint.json is of something else"};
  }
  if (is("version", &nlohmann::json::is_number_integer) && manifest["version"] > kCheckpointVersion) {
    throw error_at({}, err::checkpoint_newer, path, manifest["version"].dump(), kCheckpointVersion);
  }
  const bool is_whole = manifest["digest"] == manifest_digest(text);
  return {manifest, is_whole ? "" : "checkpoint.json does not have its digest"};
}

}  // namespace

nlohmann::json read_manifest(const Str& path) {
  auto [manifest, damage] = open_manifest(path);
  if (!damage.empty()) throw error_at({}, err::checkpoint_damaged, path, damage);
  return manifest;
}

bool computes_alike(const nlohmann::json& manifest, const Program& program, const ExperimentInfo& experiment) {
  if (manifest.value("program", "") == program.source_hash) return true;
  const Str computes = manifest.value("computes", "");
  return !computes.empty() && computes == experiment.semantic_hash;
}

namespace {

/// What is wrong with the file `name` of a checkpoint, by its row in the manifest.
Str verify_file(const Str& path, const Str& name, const nlohmann::json& row) {
  const Str file = path + "/" + name;
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  if (error) return fmt::format("{} is missing", name);
  if (bytes != row.value("bytes", uint64_t(0))) {
    return fmt::format("{} has {} bytes, not {}", name, bytes, row.value("bytes", uint64_t(0)));
  }
  return doors::sha256_file(file) == row.value("sha256", "") ? "" : fmt::format("{} does not have its digest", name);
}

}  // namespace

Str verify_checkpoint(const Str& path) {
  try {
    const auto [manifest, damage] = open_manifest(path);
    if (!damage.empty()) return damage;
    for (const auto& [name, row] : manifest["files"].items()) {
      const Str fault = verify_file(path, name, row);
      if (!fault.empty()) return fault;
    }
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    return known != nullptr ? known->message : error.what();
  }
  return "";
}

void verify_member(const Str& file) {
  const fs::path path(file);
  const Str folder = path.has_parent_path() ? path.parent_path().string() : ".";
  if (!fs::exists(folder + "/checkpoint.json")) return;
  const Str name = path.filename().string();
  const nlohmann::json manifest = read_manifest(folder);
  if (!manifest["files"].contains(name)) return;
  const Str fault = verify_file(folder, name, manifest["files"][name]);
  if (!fault.empty()) throw error_at({}, err::checkpoint_damaged, folder, fault);
}

std::vector<Str> checkpoint_names(const Str& folder) {
  std::vector<std::pair<int64_t, Str>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const Str name = entry.path().filename().string();
    if (entry.is_symlink() || !entry.is_directory() || name.starts_with(".")) continue;
    const Str file = entry.path().string() + "/checkpoint.json";
    if (!fs::exists(file)) continue;
    const nlohmann::json manifest = doors::try_json(read_text(file));
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
  const Str temporary = folder + "/" + kTemporary + "gone-" + name;
  fs::rename(folder + "/" + name, temporary, error);
  if (!error) fs::remove_all(temporary, error);
}

void remove_leftovers(const Str& folder) {
  std::error_code error;
  std::vector<fs::path> gone;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const Str name = entry.path().filename().string();
    if (name.starts_with(kTemporary)) gone.push_back(entry.path());
    if (!name.starts_with(kOld)) continue;
    const Str place = folder + "/" + name.substr(std::strlen(kOld));
    if (verify_checkpoint(place).empty()) {
      gone.push_back(entry.path());
    } else {
      // Killed between the two renames: the one that stepped aside is the whole one.
      fs::remove_all(place, error);
      fs::rename(entry.path(), place, error);
    }
  }
  for (const fs::path& path : gone) fs::remove_all(path, error);
}

}  // namespace ltr
