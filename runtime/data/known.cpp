#include "runtime/data/known.h"

#include <dlfcn.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>

#include "doors/file.h"
#include "doors/hash.h"
#include "runtime/api/error.h"
#include "runtime/data/cache_folder.h"
#include "runtime/data/paths.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"

namespace ltr {

namespace {

namespace fs = std::filesystem;

nlohmann::json known_before = nlohmann::json::object();
Str known_program;
std::atomic<int64_t> stages_made = 0;
std::map<int, uint64_t> drawings_made;
std::mutex all_known_mutex;
std::vector<const Known*> all_known;

nlohmann::json read_cache(const fs::path& path) {
  std::ifstream file(path);
  return file ? nlohmann::json::parse(file, nullptr, false) : nlohmann::json(nlohmann::json::value_t::discarded);
}

/// A cache that cannot be written is none.
void write_cache(const fs::path& path, const nlohmann::json& value) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) return;
  try {
    doors::write_file_atomically(path.string(), value.dump());
  } catch (const std::system_error&) {
  }
}

}  // namespace

void set_known(nlohmann::json from_checkpoint, Str of_program) {
  known_before = std::move(from_checkpoint);
  known_program = std::move(of_program);
  stages_made = 0;
  drawings_made.clear();
}

namespace {

/// Stands for files that are gone.
class AbsentSource : public Source {
 public:
  AbsentSource(Schema fields, Error error) : Source(std::move(fields)), error_(std::move(error)) {}
  int64_t size() const override { return 0; }
  bool is_absent() const override { return true; }
  Str name_of(const ReadAt&) const override { return "a file that is gone"; }
  bool read(const ReadAt&, Record&) const override { throw error_; }
  void check() const override { throw error_; }

 private:
  Error error_;
};

}  // namespace

bool is_known(const Str& name) { return known_before.contains(name); }

std::vector<Cell> known_values(const FieldInfo& field) {
  std::vector<Cell> values;
  for (const nlohmann::json& facts : known_before) {
    if (!facts.is_object() || !facts.contains(field.name)) continue;
    for (const nlohmann::json& one : facts[field.name].value("classes", nlohmann::json::array())) {
      const bool is_text = cell_kind(field) == CellKind::Text;
      if (field.host[0] == '\0' || one.is_string() != is_text) continue;
      Cell cell;
      if (is_text)
        cell.text = one;
      else
        cell.real = double(cell.whole = one);
      values.push_back(std::move(cell));
    }
  }
  return values;
}

Stream open_source(const Schema& schema, const std::function<Stream()>& open) {
  if (is_mock_data()) return mock_source(schema);
  try {
    return open();
  } catch (const Error& error) {
    if (known_before.empty() || error.code != err::file_missing.code) throw;
    return Stream(new AbsentSource(schema, error));
  }
}

Known::Known(Str name, Stream stream, Location location)
    : name_(std::move(name)), stream_(std::move(stream)), location_(location) {
  const std::lock_guard lock(all_known_mutex);
  all_known.push_back(this);
}

Known::~Known() {
  const std::lock_guard lock(all_known_mutex);
  std::erase(all_known, this);
}

void Known::need() const {
  if (is_known_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  if (is_known_) return;
  const auto try_take = [&](const nlohmann::json& json) {
    try {
      take(json);
      value_ = json;
      is_known_ = true;
    } catch (const nlohmann::json::exception&) {
    }
    return is_known_.load();
  };
  if (known_before.contains(name_) && try_take(known_before[name_])) return;
  const Str own = key();
  // Data beside one another may have a `let` of one name, each of its own streams.
  Str files =
      fmt::format("{}\n{}\n{}:{}:{}\n{}", known_program, name_, location_.file, location_.line, location_.column, own);
  for (const OpenedFile& file : opened_files()) files += "\n" + file.fingerprint;
  const bool is_cached = !own.empty() && !known_program.empty() && !is_mock_data();
  const fs::path folder = is_cached ? cache_folder("facts") : fs::path();
  const fs::path cached = folder.empty() ? folder : folder / (doors::sha256_hex(files) + ".json");
  if (!cached.empty()) {
    if (const nlohmann::json json = read_cache(cached); !json.is_discarded() && try_take(json)) return;
  }
  // On a thread of its own: what a map of the stream draws must not change what this thread draws next.
  const nlohmann::json value = std::async(std::launch::async, [&] {
                                 const ModeScope mode(false, false);
                                 const PolicyScope policy(data_float());
                                 at(location_);
                                 if (stream_.state() != nullptr) need_end(stream_, "this");
                                 return guarded([&] { return compute(); });
                               }).get();
  take(value);
  value_ = value;
  is_known_ = true;
  if (!cached.empty()) write_cache(cached, value);
}

nlohmann::json Known::to_json() const {
  need();
  const std::lock_guard lock(mutex_);
  return value_;
}

nlohmann::json known_of(const Data& data) {
  nlohmann::json all = nlohmann::json::object();
  for (const Known* one : data.known) all[one->name()] = one->to_json();
  return all;
}

int64_t next_stage_number() { return stages_made++; }
uint64_t next_drawing(int depth) { return drawings_made[depth]++; }

Str records_key() {
  if (known_program.empty() || is_mock_data()) return "";
  // Functions of the program and its C++ lie in the executable, those of the library in the runtime. That is hashed by size and time: it
  // is large, and the same for all programs.
  static const Str code = [] {
    Dl_info runtime{};
    ::dladdr(reinterpret_cast<const void*>(&set_known),
             &runtime);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
    std::error_code failed;
    const fs::path library = runtime.dli_fname != nullptr ? runtime.dli_fname : "";
    const auto bytes = fs::file_size(library, failed);
    const auto time = fs::last_write_time(library, failed).time_since_epoch().count();
    return fmt::format("{} {} {}", doors::sha256_file("/proc/self/exe"), bytes, time);
  }();
  Str text = fmt::format("{}\n{}\n{}", code, known_program, c10::toString(data_float()));
  std::vector<const Known*> known;
  {
    const std::lock_guard lock(all_known_mutex);
    known = all_known;
  }
  for (const Known* one : known) text += fmt::format("\n{}={}", one->name(), one->to_json().dump());
  for (const OpenedFile& file : opened_files()) text += "\n" + file.fingerprint + "\n" + times_of(file);
  return doors::sha256_hex(text);
}

Data::~Data() {
  for (const Known* one : known) delete one;
}

}  // namespace ltr
