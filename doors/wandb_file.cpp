#include "doors/wandb_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>

#include "doors/bytes.h"
#include "doors/file.h"
#include "doors/json.h"
#include "doors/number.h"
#include "doors/runs/comparison.h"
#include "doors/shell.h"

namespace ltr::doors {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kWandbHead("\x3aW&B\xe1\xbe\x00", 7);
constexpr uint64_t kPartHead = 7;  // CRC, length, kind
enum PartKind : char { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// Fields of a record that say what it is, as wandb_internal.proto numbers them.
constexpr int kHistory = 2;
constexpr int kSummary = 3;
constexpr int kFiles = 6;
constexpr int kRun = 17;
constexpr int kExit = 18;
constexpr int kFinal = 20;
constexpr int kHeaderRecord = 21;
constexpr int kFooter = 22;
constexpr int kPreempting = 23;

constexpr int kValueJson = 16;  // of items of config, history and summary
constexpr int kFileOfClient = 1;
constexpr size_t kLongestTag = 64;
constexpr int kGoesOn = 75;  // whoever stopped the run starts it again

std::string wandb_state(const std::string& run) { return run + "/sync/wandb.json"; }

Json read_object(const std::string& path) {
  if (!fs::exists(path)) return Json::object();
  Json state = read_json(path);
  if (!state.is_object()) throw FormatError(path, 0, "it is no object");
  return state;
}

std::system_error disk_error(int reason, const std::string& path) {
  return std::system_error(reason, std::generic_category(), path);
}

std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// A recorded value as their client writes it: no JSON where a number is none.
std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : json_text(value); }

Message timestamp(double time_s) {
  Message out;
  const double whole = std::floor(time_s);
  out.varint(1, uint64_t(whole)).varint(2, uint64_t((time_s - whole) * 1e9));
  return out;
}

/// An item of history or summary; `place` is a name, or one inside another.
Message item(std::initializer_list<std::string_view> place, const std::string& value) {
  Message out;
  for (const std::string_view name : place) out.bytes(2, name);
  out.bytes(kValueJson, value);
  return out;
}

/// Seconds since 1970 of run.json's `2026-01-31T12:00:00Z`; nothing for other text.
std::optional<std::tm> time_parts(const std::string& text) {
  std::tm parts{};
  if (::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return std::nullopt;
  return parts;
}

/// A text of run.json; "" where there is none.
std::string fact_of(const Json& about, const char* place) {
  const Json::json_pointer at(place);
  return about.contains(at) && about[at].is_string() ? about[at].get<std::string>() : "";
}

}  // namespace

WandbFile::WandbFile(const std::string& path, uint64_t size)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (file_ < 0) throw disk_error(errno, path);
  const off_t there = ::lseek(file_, 0, SEEK_END);
  size_ = there < 0 ? 0 : uint64_t(there);
  try {
    if (size > size_) throw disk_error(EINVAL, path + " is shorter than it was");
    cut(size);
    if (size_ > 0) return;
    const ssize_t count = ::pwrite(file_, kWandbHead.data(), kWandbHead.size(), 0);
    if (count != ssize_t(kWandbHead.size())) throw disk_error(count < 0 ? errno : ENOSPC, path);
    size_ = kWandbHead.size();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

WandbFile::~WandbFile() { ::close(file_); }

void WandbFile::cut(uint64_t size) {
  if (size == size_) return;
  if (::ftruncate(file_, off_t(size)) != 0) throw disk_error(errno, "run file");
  size_ = size;
}

void WandbFile::append(std::string_view record) {
  const std::string parts = wandb_parts(record, size_);
  ssize_t count = 0;
  do {
    count = ::pwrite(file_, parts.data(), parts.size(), off_t(size_));
  } while (count < 0 && errno == EINTR);
  if (count != ssize_t(parts.size())) {
    const int reason = count < 0 ? errno : ENOSPC;
    static_cast<void>(!::ftruncate(file_, off_t(size_)));
    throw disk_error(reason, "run file");
  }
  size_ += parts.size();
}

std::string wandb_parts(std::string_view record, uint64_t at) {
  std::string out;
  bool is_first = true;
  do {
    uint64_t left = WandbFile::kBlock - (at + out.size()) % WandbFile::kBlock;
    if (left < kPartHead) {
      out.append(left, '\0');  // no head fits
      left = WandbFile::kBlock;
    }
    const std::string_view bytes = record.substr(0, left - kPartHead);
    record.remove_prefix(bytes.size());
    const bool is_last = record.empty();
    std::string part(1, is_first ? (is_last ? kWhole : kFirst) : (is_last ? kLast : kMiddle));
    part += bytes;
    put_le(out, uint32_t(::crc32(0, reinterpret_cast<const Bytef*>(part.data()), uInt(part.size()))));
    put_le(out, uint16_t(bytes.size()));
    out += part;
    is_first = false;
  } while (!record.empty());
  return out;
}

WandbFolder::WandbFolder(std::string run, WandbSettings settings)
    : run_(std::move(run)), settings_(std::move(settings)) {}

std::optional<std::string> WandbFolder::wrong_project(std::string_view name) {
  constexpr size_t kLongest = 128;
  if (name.find_first_of("/\\#?%:") != std::string_view::npos) return "holds none of / \\ # ? % :";
  if (name.size() > kLongest) return "has 128 characters at most";
  return std::nullopt;
}

std::optional<WandbSettings> WandbFolder::begun(const std::string& run) {
  const Json state = read_object(wandb_state(run));
  if (!state.contains("settings")) return std::nullopt;
  try {
    const Json& given = state["settings"];
    return WandbSettings{given.at("project"), given.at("entity"), given.at("dir")};
  } catch (const Json::exception&) {
    throw FormatError(wandb_state(run), 0, "it does not say where to");
  }
}

std::optional<std::string> WandbFolder::upload_command(const std::string& run) {
  const std::string folder = read_object(wandb_state(run)).value("remote", Json::object()).value("folder", "");
  if (folder.empty()) return std::nullopt;
  return "wandb sync " + shell_word(folder.starts_with('/') ? folder : run + "/" + folder);
}

std::string WandbFolder::path() const { return folder_.starts_with('/') ? folder_ : run_ + "/" + folder_; }

void WandbFolder::begin() {
  if (has_begun_) return;
  const Json state = read_object(wandb_state(run_));
  const std::optional<WandbSettings> before = begun(run_);
  if (before && before->project == settings_.project && before->entity == settings_.entity &&
      before->dir == settings_.dir) {
    const Json remote = state.value("remote", Json::object());
    id_ = remote.value("id", "");
    folder_ = remote.value("folder", "");
    records_ = remote.value("records", int64_t(0));
    size_ = remote.value("size", uint64_t(0));
    offset_ = state.value("offset", uint64_t(0));
  }
  if (id_.empty()) name_folder();
  const std::string log = path() + "/run-" + id_ + ".wandb";
  std::error_code none;
  const uint64_t there = fs::exists(log, none) ? fs::file_size(log) : 0;
  const bool is_whole = fs::exists(journal()) && fs::file_size(journal()) >= offset_ && there >= size_;
  if (!is_whole) records_ = int64_t(size_ = offset_ = 0);
  fs::create_directories(path() + "/files");
  std::ifstream lines(journal());
  std::string text;
  std::getline(lines, text);
  const Json line = try_json(text);
  start_s_ = line.is_object() ? line.value("time", 0.0) : 0;
  file_ = std::make_unique<WandbFile>(log, size_);
  next_ = records_;
  newest_ = {};
  if (size_ == 0) {
    add_run();
    acknowledge(0);
    save();
  } else {
    Json end;
    newest_.take(read_rows(0, offset_, end, [this](const Row& row, uint64_t) { newest_.take(row); }));
  }
  has_begun_ = true;
}

void WandbFolder::name_folder() {
  std::random_device source;
  for (int i = 0; i < 8; ++i) id_ += "abcdefghijklmnopqrstuvwxyz0123456789"[source() % 36];
  const Json about = read_json(run_ + "/run.json");
  const std::time_t now = std::time(nullptr);
  char stamp[32];
  const std::tm parts = time_parts(about.value("started", "")).value_or(*std::gmtime(&now));
  std::strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &parts);
  const std::string inside = std::string("wandb/offline-run-") + stamp + "-" + id_;
  folder_ = settings_.dir.empty() ? inside : fs::absolute(settings_.dir).lexically_normal().string() + "/" + inside;
}

void WandbFolder::write_all() {
  const uint64_t there = fs::exists(journal()) ? fs::file_size(journal()) : 0;
  if (has_begun_ && there == seen_) return;
  begin();
  file_->cut(size_);  // of an end that the run went on from
  next_ = records_;
  Json end;
  bool has_rows = false;
  const Row open = read_rows(offset_, there, end, [&](const Row& row, uint64_t behind) {
    add_row(row);
    newest_.take(row);
    acknowledge(behind);
    has_rows = true;
  });
  if (has_rows) {
    add_summary(newest_);
    acknowledge(offset_);
    save();
  }
  if (!end.is_null()) add_end(open, end);
  seen_ = there;
}

double WandbFolder::runtime_s(double time) const { return std::max(std::round((time - start_s_) * 1000) / 1000, 0.0); }

void WandbFolder::acknowledge(uint64_t offset) {
  offset_ = offset;
  size_ = file_->size();
  records_ = next_;
}

template <class Take>
WandbFolder::Row WandbFolder::read_rows(uint64_t from, uint64_t until, Json& end, const Take& take) const {
  Row row;
  std::ifstream file(journal(), std::ios::binary);
  file.seekg(std::streamoff(from));
  // What has no end of line yet is no line.
  for (std::string text; from < until && std::getline(file, text) && !file.eof(); from += text.size() + 1) {
    const Json line = try_json(text);
    if (!line.is_object()) continue;
    const std::string kind = line.value("kind", "");
    const std::string event = kind == "event" ? line.value("event", "") : "";
    if (event == "finish" || event == "stop" || event == "fail") end = line;
    if (event == "start" || event == "resume") end = nullptr;
    if (kind != "metrics" && kind != "system") continue;
    // A resumed run takes steps again that are there already.
    const int64_t step = line.value("step", int64_t(0));
    if (step <= newest_.step || step < row.step) continue;
    if (step > row.step && row.step >= 0) {
      take(row, from);
      row = {};
    }
    row.step = step;
    row.time = line.value("time", 0.0);
    row.values.update(line.value("values", Json::object()));
    if (line.contains("epoch")) row.values["epoch"] = line["epoch"];
  }
  return row;
}

void WandbFolder::Row::take(const Row& later) {
  if (later.step < 0) return;
  step = later.step;
  time = later.time;
  values.update(later.values);
}

void WandbFolder::add(int field, const Message& content) {
  Message record;
  record.varint(1, uint64_t(next_ + 1)).message(field, content);
  file_->append(record.data());
  ++next_;
}

void WandbFolder::add_run() {
  const Json about = read_json(run_ + "/run.json");
  const Json config = read_json(run_ + "/config.json");
  Message version;
  version.bytes(1, "ltr " + fact_of(about, "/toolchain/ltrc")).bytes(2, "0.12.0");
  Message header;
  header.message(1, version);
  add(kHeaderRecord, header);

  Message settings, run;
  std::string yaml = "wandb_version: 1\n";
  run.bytes(1, id_).bytes(2, settings_.entity).bytes(3, settings_.project);
  run.bytes(8, about.value("experiment", "") + "/" + about.value("run", ""));
  for (const auto& [name, setting] : config.items()) {
    const Json value = setting.is_object() ? setting.value("value", Json()) : Json();
    if (value.is_null()) continue;
    const std::string tag = name.starts_with("tags.") ? name.substr(5) + "=" + setting_text(value) : "";
    if (!tag.empty() && tag.size() <= kLongestTag) run.bytes(10, tag);
    Message one;
    one.bytes(1, name).bytes(kValueJson, json_text(value));
    settings.message(1, one);
    yaml += "\n" + json_string(name) + ":\n  desc: null\n  value: " + json_text(value) + "\n";
  }
  run.message(4, settings).bytes(13, fact_of(about, "/hosts/0")).message(17, timestamp(start_s_));
  const std::string commit = fact_of(about, "/git/commit"), origin = fact_of(about, "/git/remote");
  if (!commit.empty()) {
    Message git;
    git.bytes(1, origin).bytes(2, commit);
    run.message(21, git);
  }
  add(kRun, run);

  Json metadata = {{"host", fact_of(about, "/hosts/0")},
                   {"program", fact_of(about, "/source/files/0/path")},
                   {"startedAt", about.value("started", "")},
                   {"ltr", fact_of(about, "/toolchain/ltrc")}};
  if (!commit.empty()) metadata["git"] = {{"remote", origin}, {"commit", commit}};
  write_file_atomically(file("wandb-metadata.json"), json_text(metadata, 2) + "\n");
  write_file_atomically(file("config.yaml"), yaml);
  add_file("wandb-metadata.json");
}

void WandbFolder::add_file(const char* name) {
  Message one, files;
  one.bytes(1, name).varint(3, kFileOfClient);
  files.message(1, one);
  add(kFiles, files);
}

void WandbFolder::add_row(const Row& row) {
  Message history, step;
  for (const auto& [name, value] : row.values.items()) history.message(1, item({name}, value_text(value)));
  history.message(1, item({"_step"}, std::to_string(row.step)));
  history.message(1, item({"_runtime"}, shortest(runtime_s(row.time))));
  history.message(1, item({"_timestamp"}, shortest(row.time)));
  step.varint(1, uint64_t(row.step));
  history.message(2, step);
  add(kHistory, history);
}

void WandbFolder::add_summary(const Row& newest) {
  const double runtime = runtime_s(newest.time);
  Message summary;
  for (const auto& [name, value] : newest.values.items()) summary.message(1, item({name}, value_text(value)));
  summary.message(1, item({"_step"}, std::to_string(std::max(newest.step, int64_t(0)))));
  summary.message(1, item({"_runtime"}, shortest(runtime)));
  summary.message(1, item({"_timestamp"}, shortest(newest.time)));
  summary.message(1, item({"_wandb", "runtime"}, std::to_string(int64_t(runtime))));
  add(kSummary, summary);
}

void WandbFolder::add_end(const Row& row, const Json& event) {
  // The last step may grow yet, should the run go on: nothing of this is acknowledged.
  if (row.step >= 0) add_row(row);
  Row newest = newest_;
  newest.take(row);
  newest.time = event.value("time", newest.time);
  add_summary(newest);
  Json summary = newest.values;
  summary["_step"] = std::max(newest.step, int64_t(0));
  summary["_runtime"] = runtime_s(newest.time);
  write_file_atomically(file("wandb-summary.json"), json_text(summary, 2) + "\n");
  std::error_code none;
  if (fs::copy_file(run_ + "/log-0.txt", file("output.log"), fs::copy_options::overwrite_existing, none))
    add_file("output.log");
  const int64_t code = event.value("exit_code", event.value("event", "") == "finish" ? int64_t(0) : int64_t(1));
  if (code == kGoesOn) add(kPreempting, {});
  Message exit;
  exit.varint(1, uint64_t(code)).varint(2, uint64_t(runtime_s(newest.time)));
  add(kExit, exit);
  add(kFinal, {});
  add(kFooter, {});
}

void WandbFolder::save() const {
  fs::create_directory(run_ + "/sync");
  const Json state = {
      {"offset", offset_},
      {"remote", {{"id", id_}, {"folder", folder_}, {"records", records_}, {"size", size_}}},
      {"settings", {{"project", settings_.project}, {"entity", settings_.entity}, {"dir", settings_.dir}}}};
  write_file_atomically(wandb_state(run_), json_text(state, 2) + "\n");
}

}  // namespace ltr::doors
