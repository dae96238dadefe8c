#pragma once

// Runs of Weights & Biases as files: what their client writes offline, and uploads by `wandb sync FOLDER`.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "doors/protobuf.h"

namespace ltr::doors {

/// The log of a run: seven bytes of its own, then records in blocks of 32 KiB, which a record may cross. Errors of the disk
/// are std::system_error.
class WandbFile {
 public:
  /// Opens `path`, and cuts off what stands behind byte `size`; 0 begins it anew.
  WandbFile(const std::string& path, uint64_t size);
  ~WandbFile();
  WandbFile(const WandbFile&) = delete;
  WandbFile& operator=(const WandbFile&) = delete;

  /// Adds a record whole, in one `write()`; where that fails, the file stays as it was.
  void append(std::string_view record);
  void cut(uint64_t size);
  uint64_t size() const { return size_; }

  static constexpr uint64_t kBlock = 32768;

 private:
  int file_ = -1;
  uint64_t size_ = 0;
};

/// `record` as it stands in a file with `at` bytes before it: parts of CRC-32, length, kind and bytes, none over the end of a block.
std::string wandb_parts(std::string_view record, uint64_t at);

struct WandbSettings {
  std::string project;
  std::string entity;  ///< "": that of the user who uploads
  std::string dir;     ///< `wandb/` is made in it; "": in the folder of the run
};

/// The offline folder of a run: follows its journal, and keeps in `RUN/sync/wandb.json` how far that has got. A process that goes on
/// with the run cuts off what stands behind, so that each step is there once.
class WandbFolder {
 public:
  /// Of the run in the folder `run`, which goes on where it was if project and place are the same.
  WandbFolder(std::string run, WandbSettings settings);
  /// How the folder of the run was begun; nothing if none was.
  static std::optional<WandbSettings> begun(const std::string& run);

  /// Writes what the journal says by now. Steps are complete once a later one begins, or the run ends. Throws std::system_error or
  /// FormatError where a file cannot be read or written; what is missing then comes with the next call.
  void write_all();
  /// Its own; there once something was written.
  std::string path() const;
  /// What a user types to send the folder of the run in `run`; nothing if it has none.
  static std::optional<std::string> upload_command(const std::string& run);

  /// What is wrong with the name of a project; nothing if it is right.
  static std::optional<std::string> wrong_project(std::string_view name);

 private:
  /// Values of one step, or the newest of each series.
  struct Row {
    int64_t step = -1;  ///< -1: there are none
    double time = 0;
    nlohmann::json values = nlohmann::json::object();
    void take(const Row& later);
  };
  void begin();
  void name_folder();
  /// Goes through the journal from byte `from` to `until`. `take` gets each step that is complete, and the byte behind its lines; what
  /// is returned may grow yet. `end` becomes the event that the run ends with, null if it goes on behind one.
  template <class Take>
  Row read_rows(uint64_t from, uint64_t until, nlohmann::json& end, const Take& take) const;
  void acknowledge(uint64_t offset);
  void add(int field, const Message& content);
  void add_run();
  void add_file(const char* name);
  void add_row(const Row& row);
  void add_summary(const Row& newest);
  void add_end(const Row& row, const nlohmann::json& event);
  void save() const;
  double runtime_s(double time) const;
  std::string journal() const { return run_ + "/log.jsonl"; }
  std::string file(const std::string& name) const { return path() + "/files/" + name; }

  std::string run_;
  WandbSettings settings_;
  std::unique_ptr<WandbFile> file_;
  bool has_begun_ = false;
  std::string id_;
  std::string folder_;   ///< below that of the run, if it does not begin with `/`
  double start_s_ = 0;   ///< when the journal begins
  uint64_t offset_ = 0;  ///< so far the file has the journal
  uint64_t size_ = 0;    ///< of the file, up to there
  int64_t records_ = 0;  ///< in it, up to there
  int64_t next_ = 0;     ///< records in it now
  uint64_t seen_ = 0;    ///< bytes of the journal at the last call
  Row newest_;           ///< of each series, as far as steps are complete
};

}  // namespace ltr::doors
