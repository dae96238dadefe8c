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
};

/// An image that was logged, as PNG.
struct Picture {
  std::string name;
  int64_t step = 0;
  std::string png;
};

struct Run {
  std::string folder;
  std::string name;            ///< `mnist/0007-baseline`
  nlohmann::json about;        ///< run.json
  nlohmann::json config;       ///< config.json: {"trainer.epochs": {"value": 5, "from": "flag", "at": "--epochs 5"}, …}
  std::string summary;         ///< the table of `describe`
  std::vector<Series> series;  ///< by name
  std::vector<RunEvent> events;
  std::vector<Picture> pictures;  ///< by name and step

  /// The series `name`, or null.
  const Series* find(const std::string& name) const;
};

/// Reads the folder of a run, which may still be writing: a torn last line or record is none. `with_pictures` reads the event
/// files, too, of which it keeps the newest `kMostPictures` of each name. Throws FormatError with file and byte for what is
/// damaged, std::system_error for what cannot be read; FormatError of run.json for a folder that holds no run.
Run read_run(const std::string& folder, bool with_pictures);

constexpr size_t kMostPictures = 8;

}  // namespace ltr::doors
