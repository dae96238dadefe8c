#include "runtime/data/record_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <random>
#include <system_error>
#include <utility>

#include "doors/bytes.h"
#include "doors/crc.h"
#include "runtime/api/error.h"
#include "runtime/data/trouble.h"

namespace ltr {

namespace {

namespace fs = std::filesystem;

// A file is a head, records one behind the other, an index of them, and a tail. Its checksums make syncing needless: a file that a power
// failure tore is a damaged one.
//   head   magic, key of the store (64 hex digits)
//   index  for each record: its number i64, offset u64, bytes u32, CRC-32C u32
//   tail   records u64, CRC-32C of head and index u32, version u32
constexpr std::string_view kMagic = "LTRECORD";
constexpr size_t kKeyDigits = 64;
constexpr size_t kHead = kMagic.size() + kKeyDigits;
constexpr size_t kIndexRow = 24;
constexpr size_t kTail = 16;
constexpr uint32_t kVersion = 1;
constexpr const char* kWholeEnding = ".records";
constexpr const char* kPartEnding = ".part";

/// A kill loses what the newest file holds, and each file takes a descriptor.
constexpr int64_t kFileBytes = int64_t(64) << 20;
constexpr int64_t kMostFiles = 256;

bool read_at(int file, uint64_t offset, size_t bytes, Str& out) {
  out.resize(bytes);
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file, out.data() + done, bytes - done, off_t(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += size_t(got);
  }
  return true;
}

/// 0, or the errno of what went wrong.
int write_at(int file, uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file, bytes.data(), bytes.size(), off_t(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return put < 0 ? errno : ENOSPC;
    offset += uint64_t(put);
    bytes.remove_prefix(size_t(put));
  }
  return 0;
}

Str drawn_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

struct RecordStore::File {
  File(int number, fs::path at) : file(number), path(std::move(at)) {}
  ~File() { ::close(file); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int file;
  fs::path path;
  uint64_t end = 0;    ///< of the records
  uint64_t count = 0;  ///< of them
  int64_t bytes = 0;   ///< as the limit counts them
  Str index = {};      ///< while it is written
};

RecordStore::RecordStore(const fs::path& folder, Str key, Str whose, int64_t wanted, int64_t limit)
    : folder_(folder), key_(std::move(key)), whose_(std::move(whose)), wanted_(wanted), limit_(limit) {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) {
    stop(fmt::format("{}: {}", folder_.string(), failed.message()));
    return;
  }
  // Says when it was used last. Who may not write here still reads.
  fs::last_write_time(folder_, fs::file_time_type::clock::now(), failed);
  look_around();
}

RecordStore::~RecordStore() {
  if (writing_ != nullptr) finish_file();
}

bool RecordStore::find(int64_t number, Str& bytes) {
  const Place place = place_of(number);
  if (place.file == nullptr) return false;
  if (read_at(place.file->file, place.offset, place.bytes, bytes) &&
      doors::crc32c(bytes.data(), bytes.size()) == place.crc)
    return true;
  const std::unique_lock lock(mutex_);
  drop(place.file);
  return false;
}

RecordStore::Place RecordStore::place_of(int64_t number) {
  {
    const std::shared_lock lock(mutex_);
    const auto found = places_.find(number);
    if (found != places_.end()) return found->second;
    if (!has_changed()) return {};
  }
  // Another process may have stored it meanwhile.
  const std::unique_lock lock(mutex_);
  look_around();
  const auto found = places_.find(number);
  return found != places_.end() ? found->second : Place{};
}

bool RecordStore::has_changed() const {
  std::error_code failed;
  const auto time = fs::last_write_time(folder_, failed);
  return !failed && time != seen_at_;
}

void RecordStore::forget(int64_t number) {
  const std::unique_lock lock(mutex_);
  places_.erase(number);
}

void RecordStore::store(int64_t number, std::string_view bytes) {
  const std::unique_lock lock(mutex_);
  if (is_stopped_ || places_.contains(number) || bytes.size() > UINT32_MAX) return;
  if (bytes_ + int64_t(bytes.size() + kIndexRow) > limit_) {
    stop(fmt::format("{} of {} records fill its `limit`, the others are made anew", places_.size(), wanted_));
    return;
  }
  if (writing_ == nullptr && !begin_file()) return;
  File& file = *writing_;
  if (const int error = write_at(file.file, file.end, bytes); error != 0)
    return stop(fmt::format("{}: {}", folder_.string(), std::strerror(error)));
  const Place place{writing_, file.end, uint32_t(bytes.size()), doors::crc32c(bytes.data(), bytes.size())};
  doors::put_le(file.index, number);
  doors::put_le(file.index, place.offset);
  doors::put_le(file.index, place.bytes);
  doors::put_le(file.index, place.crc);
  file.end += bytes.size();
  ++file.count;
  file.bytes += int64_t(bytes.size() + kIndexRow);
  bytes_ += int64_t(bytes.size() + kIndexRow);
  places_.emplace(number, place);
  const int64_t most = std::max(kFileBytes, limit_ / kMostFiles);
  if (int64_t(file.end) >= most || int64_t(places_.size()) == wanted_) finish_file();
}

/// What other processes have stored since it was called last.
void RecordStore::look_around() {
  std::error_code failed;
  // Before the list is read: what comes meanwhile is seen next time.
  seen_at_ = fs::last_write_time(folder_, failed);
  std::vector<fs::path> whole, parts;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failed)) {
    if (entry.path().extension() == kWholeEnding && !seen_.contains(entry.path())) whole.push_back(entry.path());
    if (entry.path().extension() == kPartEnding && (writing_ == nullptr || entry.path() != writing_->path))
      parts.push_back(entry.path());
  }
  for (const fs::path& path : whole) take_file(path);
  for (const fs::path& path : parts) remove_abandoned(path);
}

void RecordStore::take_file(const fs::path& path) {
  seen_.insert(path);
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  // Another process has removed it, or there are too many open files: nothing says that it is damaged.
  if (number < 0) return;
  const auto file = std::make_shared<File>(number, path);
  struct stat info{};
  Str head, tail, index;
  const uint64_t size = ::fstat(number, &info) == 0 ? uint64_t(info.st_size) : 0;
  const bool is_long_enough =
      size >= kHead + kTail && read_at(number, 0, kHead, head) && read_at(number, size - kTail, kTail, tail);
  const uint64_t count = is_long_enough ? doors::get_le<uint64_t>(tail.data()) : 0;
  const bool has_index = is_long_enough && count <= (size - kHead - kTail) / kIndexRow;
  const uint64_t end = has_index ? size - kTail - count * kIndexRow : 0;
  if (!has_index || head != Str(kMagic) + key_ || doors::get_le<uint32_t>(tail.data() + 12) != kVersion ||
      !read_at(number, end, count * kIndexRow, index)) {
    return drop(file);
  }
  const Str checked = head + index;
  if (doors::get_le<uint32_t>(tail.data() + 8) != doors::crc32c(checked.data(), checked.size())) return drop(file);
  for (uint64_t i = 0; i < count; ++i) {
    const char* row = index.data() + i * kIndexRow;
    const Place place{file, doors::get_le<uint64_t>(row + 8), doors::get_le<uint32_t>(row + 16),
                      doors::get_le<uint32_t>(row + 20)};
    if (place.offset < kHead || place.offset > end || place.bytes > end - place.offset) continue;
    places_.emplace(doors::get_le<int64_t>(row), place);
  }
  file->bytes = int64_t(size);
  bytes_ += file->bytes;
}

/// A file without a name whose writer is gone: whoever writes one holds a lock on it.
void RecordStore::remove_abandoned(const fs::path& path) const {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) return;
  if (::flock(number, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  ::close(number);
}

/// Forgets `file` and removes it. Its other records are no better than the one that shows the damage.
void RecordStore::drop(const std::shared_ptr<File>& file) {
  std::erase_if(places_, [&](const auto& one) { return one.second.file == file; });
  bytes_ -= std::exchange(file->bytes, 0);
  if (file == writing_) writing_ = nullptr;
  // Whoever came first, of all threads and processes, has said it.
  if (::unlink(file->path.c_str()) == 0 || errno != ENOENT)
    note_trouble(fmt::format("{}: {} is damaged: what it held is made anew", whose_, file->path.string()));
}

bool RecordStore::begin_file() {
  // Between making a file and its lock another process may take it for an abandoned one; then the next name is tried.
  for (int tries = 0; tries < 10; ++tries) {
    const fs::path path = folder_ / (drawn_name() + kPartEnding);
    const int number = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (number < 0) {
      stop(fmt::format("{}: {}", folder_.string(), std::strerror(errno)));
      return false;
    }
    auto file = std::make_shared<File>(number, path);
    struct stat info{};
    int error = ::flock(number, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
    if (error == EWOULDBLOCK || (error == 0 && ::fstat(number, &info) == 0 && info.st_nlink == 0)) continue;
    if (error == 0) error = write_at(number, 0, Str(kMagic) + key_);
    if (error != 0) {
      ::unlink(path.c_str());
      stop(fmt::format("{}: {}", folder_.string(), std::strerror(error)));
      return false;
    }
    file->end = kHead;
    writing_ = std::move(file);
    return true;
  }
  stop(fmt::format("{}: no file could be locked", folder_.string()));
  return false;
}

/// Index, tail and name. What this process has in it is found as before.
void RecordStore::finish_file() {
  const std::shared_ptr<File> file = std::exchange(writing_, nullptr);
  const Str checked = Str(kMagic) + key_ + file->index;
  Str behind = std::move(file->index);
  doors::put_le(behind, file->count);
  doors::put_le(behind, doors::crc32c(checked.data(), checked.size()));
  doors::put_le(behind, kVersion);
  const fs::path whole = fs::path(file->path).replace_extension(kWholeEnding);
  // What a failed write left behind the last record goes: the tail is the end of the file.
  int error = write_at(file->file, file->end, behind);
  if (error == 0 && ::ftruncate(file->file, off_t(file->end + behind.size())) != 0) error = errno;
  if (error == 0 && ::rename(file->path.c_str(), whole.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(file->path.c_str());
    return stop(fmt::format("{}: {}", folder_.string(), std::strerror(error)));
  }
  file->path = whole;
  seen_.insert(whole);
}

/// Nothing more is stored; what is there is read on.
void RecordStore::stop(const Str& reason) {
  if (!std::exchange(is_stopped_, true)) note_trouble(fmt::format("{}: {}", whose_, reason));
  if (writing_ != nullptr) finish_file();
}

void remove_old_stores(const fs::path& folder) {
  constexpr auto kKept = std::chrono::hours(24 * 30);
  std::error_code failed;
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const auto time = entry.last_write_time(failed);
    if (!failed && time < fs::file_time_type::clock::now() - kKept) old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove_all(path, failed);
}

}  // namespace ltr
