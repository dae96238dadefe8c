#pragma once

// The runs below a folder, followed while they train.

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doors/runs/comparison.h"
#include "doors/runs/run.h"

namespace ltr::doors {

/// What a list says of a run.
struct ListedRun {
  std::string id;          ///< its path below the folder of the list: `line/0001`; its name if it is that folder
  std::string folder;      ///< as the list found it, never made of an id that somebody else wrote
  std::string experiment;  ///< of run.json, as are
  std::string status;      ///< `running finished failed interrupted`; `lost` for a running one whose process is gone
  std::string started;     ///< 2026-11-21T01:02:03Z
  std::string damage;      ///< what of it cannot be read; the rest is empty then
  int64_t step = 0;
  int64_t epoch = 0;
  double begin = 0;            ///< time of its first event, 0 for none
  double end = 0;              ///< of its newest value
  std::string metric;          ///< what its best checkpoint was chosen by, else its main loss
  std::optional<double> best;  ///< nothing where no direction of `metric` is known
  std::optional<double> last;
  uint64_t journal_end = 0;  ///< so far its journal was read
};

class RunList {
 public:
  /// Runs at most `kDeepest` folders below `folder`. Links are not followed.
  explicit RunList(std::filesystem::path folder);

  /// Looks again what is there, once in `kPause` at most, and reads of journals what was added to them.
  void refresh();
  /// Another number after each change of what is listed.
  uint64_t version() const { return version_; }
  /// Newest first.
  std::vector<const ListedRun*> runs() const;
  /// The run of that id, or null.
  const ListedRun* find(const std::string& id) const;
  const std::filesystem::path& folder() const { return folder_; }

  static constexpr int kDeepest = 5;
  static constexpr std::chrono::milliseconds kPause{500};

 private:
  /// Of a file: changed if this is.
  struct Stamp {
    std::filesystem::file_time_type time;
    uintmax_t bytes = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Followed {
    ListedRun listed;
    Stamp about, journal;
    nlohmann::json best;                    ///< of run.json
    std::string written_status;             ///< of run.json
    std::map<std::string, Result> results;  ///< by series
    bool is_there = true;
  };
  void look_into(const std::filesystem::path& folder, int depth);
  void follow(Followed& run, bool is_new);
  static void read_about(Followed& run);
  static void read_news(Followed& run);
  static void choose_metric(Followed& run);
  static Stamp stamp_of(const std::string& file);

  std::filesystem::path folder_;
  std::map<std::string, Followed> runs_;
  std::chrono::steady_clock::time_point looked_;
  uint64_t version_ = 0;
};

}  // namespace ltr::doors
