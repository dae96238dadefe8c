#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ltr::toolchain {

struct Finished {
  int status = -1;  ///< -1: could not be started
  std::string output;
};

/// Runs a program to its end, its output (both streams) going to `log`.
Finished run(const std::vector<std::string>& words, const std::filesystem::path& log);

}  // namespace ltr::toolchain
