#pragma once

// What a run left in its folder, for who looks at it afterwards: pages, comparisons.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ltr::doors {

/// A recorded value.
struct Point {
  int64_t step = 0;
  int64_t epoch = 0;
  double time = 0;  ///< seconds since 1970
  double value = 0;
};

/// All values of one name, `val/loss`, in the order of their steps. Of a step that was taken twice, before and after a
/// restart, the later ones.
struct Series {
  std::string name;
  std::vector<Point> points;
};

struct RunEvent {
  std::string name;  ///< `start`, `checkpoint`, `warning`
  int64_t step = 0;
  double time = 0;
  std::string text;  ///< what else it says, as JSON; "" for nothing

  /// Of a process that begins the run, or goes on with it from this step.
  bool begins() const { return name == "start" || name == "resume"; }
};

/// An image that was logged, as PNG.
struct Picture {
  std::string name;
  int64_t step = 0;
  std::string png;
};

/// A text that was logged.
struct LoggedText {
  std::string name;
  int64_t step = 0;
  std::string text;
};

/// Numbers in rows that were logged: a confusion matrix.
struct LoggedMatrix {
  std::string name;
  int64_t step = 0;
  std::vector<std::vector<double>> rows;
};

/// What a journal says behind a byte of it.
struct JournalPart {
  std::vector<Series> series;  ///< by name
  std::vector<RunEvent> events;
  std::vector<LoggedText> texts;       ///< by name and step, of each name the newest
  std::vector<LoggedMatrix> matrices;  ///< by name, the newest
  uint64_t end = 0;                    ///< behind its last whole line
};

struct Run {
  std::string folder;
  std::string name;       ///< `mnist/0007-baseline`
  nlohmann::json about;   ///< run.json; `lost` is the status of a running one whose process is gone, `best` that of now
  nlohmann::json config;  ///< config.json: {"trainer.epochs": {"value": 5, "from": "flag", "at": "--epochs 5"}, …}
  std::string summary;    ///< the table of `describe`
  std::vector<Series> series;  ///< by name
  std::vector<RunEvent> events;
  std::vector<Picture> pictures;  ///< by name and step
  std::vector<LoggedText> texts;  ///< likewise
  std::vector<LoggedMatrix> matrices;
  std::string profile;       ///< where the time of its steps went
  uint64_t journal_end = 0;  ///< so far was log.jsonl read

  /// The series `name`, or null.
  const Series* find(const std::string& name) const;
};

/// Reads the folder of a run, which may still be writing: a torn last line or record is none. `with_pictures` reads the event
/// files and the pictures of `samples/`, too. Of pictures and texts the newest `kNewest` of each name stay. Throws FormatError
/// with file and byte for what is damaged, std::system_error for what cannot be read; FormatError of run.json for a folder that
/// holds no run. Files of a run are files: a link, which may lead out of the folder, or a pipe, which may never end, is damage.
Run read_run(const std::string& folder, bool with_pictures);

/// The journal at `path` behind byte `from`, where a line begins; a torn last line is none. FormatError for what is damaged, and
/// where no line begins at `from`.
JournalPart read_journal(const std::string& path, uint64_t from);
/// Whether the writer of the run in `folder` is gone: it holds the lock of its run while it lives. The lock is taken for a moment only,
/// and shared; who begins to write on in this very moment is told that the run is in use.
bool is_abandoned(const std::string& folder);
/// FormatError if there is something at `path` that is no regular file. Whether there is one.
bool has_regular_file(const std::string& path);

constexpr size_t kNewest = 8;

}  // namespace ltr::doors
