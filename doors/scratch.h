#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

/// Files of tests: no program includes this.
namespace ltr::testing {

/// A path below the folder for temporary files that no other scratch has.
inline std::string scratch_path() {
  static int count = 0;
  return (std::filesystem::temp_directory_path() /
          ("ltr-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++)))
      .string();
}

/// A file that goes with the test.
struct ScratchFile {
  ScratchFile(const std::string& ending, const std::string& bytes) : path(scratch_path() + ending) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~ScratchFile() { std::filesystem::remove(path); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string path;
};

/// A folder that goes with the test, and all in it.
struct ScratchFolder {
  ScratchFolder() { std::filesystem::create_directories(path); }
  ~ScratchFolder() { std::filesystem::remove_all(path); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  /// Writes the file `name`, which may lie in folders of its own; its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path file = std::filesystem::path(path) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }
  const std::string path = scratch_path();
};

}  // namespace ltr::testing
