#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ltr::toolchain {

struct Finished {
  int status = -1;  ///< -1: could not be started
  std::string output;
};

/// A program with its arguments; its output (both streams) goes to `log`.
struct Command {
  std::vector<std::string> words;
  std::filesystem::path log;
};

/// Runs programs beside each other to their ends.
std::vector<Finished> run_all(const std::vector<Command>& commands);
Finished run(const std::vector<std::string>& words, const std::filesystem::path& log);

}  // namespace ltr::toolchain
