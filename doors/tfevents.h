#pragma once

// TensorBoard event files (doors.md 3.1). One record per call, one `write()` per record; a file is never
// truncated or reopened, and begins with its version and a SessionLog START, so that readers drop the
// points that a resumed run overtakes.

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "doors/png.h"

namespace ltr::doors {

/// Bins of a histogram: `counts[i]` values lie in [left[i], right[i]), the last bin holds its right end.
struct Histogram {
  std::vector<double> left;
  std::vector<double> right;
  std::vector<double> counts;
};

/// `bins` equal bins from the least to the greatest finite value. No values give no bins; equal ones
/// share one bin of width 1 around them.
Histogram make_histogram(std::span<const double> values, size_t bins);

using HparamValue = std::variant<double, bool, std::string>;

enum class SessionStatus : uint8_t { Success = 1, Failure = 2, Running = 3 };

/// The bytes of one framed record: length, its CRC, payload, its CRC.
std::string frame_record(const std::string& payload);

/// A file being written. Errors of the disk are std::system_error.
class EventFile {
 public:
  /// Opens `path`, which must not exist, and writes the two first records. `step`: the first one that the file may
  /// hold; readers drop what earlier files have from there on.
  EventFile(const std::string& path, int64_t step, double time);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  void scalar(int64_t step, double time, const std::string& tag, double value);
  void histogram(int64_t step, double time, const std::string& tag, const Histogram& histogram);
  void image(int64_t step, double time, const std::string& tag, const Image& image);
  void text(int64_t step, double time, const std::string& tag, const std::string& markdown);
  void hparams_start(double time, const std::map<std::string, HparamValue>& values);
  void hparams_end(double time, SessionStatus status);

 private:
  void write(const std::string& payload);
  int file_;
};

/// An image of a file of events, encoded as PNG.
struct LoggedImage {
  std::string tag;
  int64_t step = 0;
  std::string png;
};

/// The images of an event file, in its order. A torn last record is none: the file may still be written. Throws FormatError
/// with the byte of a record that is damaged, std::system_error if the file cannot be read.
std::vector<LoggedImage> read_images(const std::string& path);

/// The tags of the scalars that readers find at `step` in event files, which are read as such; the oldest comes first. Throws as
/// `read_images` does.
std::set<std::string> scalar_tags(const std::vector<std::string>& paths, int64_t step);

/// The event files of a folder, the oldest first.
std::vector<std::string> event_files(const std::string& folder);

/// `events.out.tfevents.SECONDS.HOST.PID.N`
std::string event_file_name(double time, const std::string& host, int pid, int number);

}  // namespace ltr::doors
