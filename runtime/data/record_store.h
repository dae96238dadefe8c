#pragma once

// Bytes by number, in files of a folder that several processes share: what `cache(disk)` keeps.

#include <filesystem>
#include <memory>
#include <set>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ltr/api.h"

namespace ltr {

/// Each process writes files of its own, which the others see once they are whole: then they have their name. One that was killed leaves
/// none. Every read is checked; a damaged file is removed and said so, and what it held is as if nobody had stored it. Any thread may
/// call; what goes wrong with the disk ends no run but is a trouble (trouble.h), and nothing more is stored.
class RecordStore {
 public:
  /// `key` names what is stored, in hex; `whose` begins messages. At most `wanted` records are stored, of `limit` bytes together.
  RecordStore(const std::filesystem::path& folder, Str key, Str whose, int64_t wanted, int64_t limit);
  /// Gives the last file its name.
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  /// The bytes of `number`; false if nobody has stored it.
  bool find(int64_t number, Str& bytes);
  void store(int64_t number, std::string_view bytes);
  /// What is stored of `number` is not what it is now.
  void forget(int64_t number);

 private:
  struct File;
  struct Place {
    std::shared_ptr<File> file;
    uint64_t offset = 0;
    uint32_t bytes = 0;
    uint32_t crc = 0;
  };

  Place place_of(int64_t number);
  bool has_changed() const;
  void look_around();
  void take_file(const std::filesystem::path& path);
  void remove_abandoned(const std::filesystem::path& path) const;
  void drop(const std::shared_ptr<File>& file);
  bool begin_file();
  void finish_file();
  void stop(const Str& reason);

  const std::filesystem::path folder_;
  const Str key_;
  const Str whose_;
  const int64_t wanted_;
  const int64_t limit_;
  std::shared_mutex mutex_;
  std::unordered_map<int64_t, Place> places_;
  std::set<std::filesystem::path> seen_;  ///< files whose records are in `places_`, and those that cannot be opened
  std::filesystem::file_time_type seen_at_;
  std::shared_ptr<File> writing_;  ///< the file that has no name yet
  int64_t bytes_ = 0;              ///< of all files
  bool is_stopped_ = false;
};

/// Folders of `folder` that no store has opened for 30 days go.
void remove_old_stores(const std::filesystem::path& folder);

}  // namespace ltr
