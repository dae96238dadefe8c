#pragma once

// What `ltrc new --data` makes of data that people have: the program of a task for them, or why it has none.

#include <string>
#include <vector>

namespace ltr::driver {

struct StarterFit {
  std::string text;   ///< the program; "" if the data fit none of its rules
  std::string found;  ///< what was seen in them, for people
  std::string error;  ///< where and what does not fit, and what is wanted
  std::string help;
};

/// The program `text` of `task` for the data at `data`, which are there. `path` is how the program names them. A task without
/// rules takes them as they are.
StarterFit fit_to_data(std::string text, const std::string& task, const std::string& data, const std::string& path);

/// The tasks that may fit what stands at `data`, the likeliest first.
std::vector<std::string> likely_tasks(const std::string& data);

/// `path` as it stands between quotes in a program.
std::string quoted_text(const std::string& path);

/// What does not fit: thrown and caught within `fit_to_data`.
struct Unfit {
  std::string error;
  std::string help = {};
};

// The rules of tables, by their tasks: each makes `text` the program for what stands at `data` and returns what it found there. Unfit for what it
// does not know to read.
std::string fit_classifier(std::string& text, const std::string& data);
std::string fit_regressor(std::string& text, const std::string& data);
std::string fit_texts(std::string& text, const std::string& data);
std::string fit_series(std::string& text, const std::string& data);

}  // namespace ltr::driver
