#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ltrc/canonical.h"
#include "ltrc/compile.h"

namespace ltr::driver {

/// A folder that goes with its owner.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// One of the two things that are compared: a program, compiled as far as its meaning.
struct Side {
  std::string name;        ///< as given
  std::string file;        ///< where its program lies now
  std::string experiment;  ///< of a run: the only one that counts
  /// Of a run: what flags, environment and files set, by key of config.json.
  std::map<std::string, std::string> settings;
  std::unique_ptr<ScratchFolder> scratch;
  Compilation compilation;
  std::vector<Canonical> forms;
};

/// Finds the program that `given` names: a file, `file@REVISION`, a run folder. Fails with a
/// message on stderr.
bool locate(const std::string& given, Side& side);
/// Compiles it up to its canonical forms. Fails with its diagnostics.
bool read_forms(Side& side, const Common& common);
/// A file that differs between two revisions.
struct ChangedFile {
  char state = 'M';  ///< A added, D deleted, else both have it
  std::string file;
};
/// The `.ltr` files of the repository around here that differ; nothing after a message.
std::optional<std::vector<ChangedFile>> changed_files(const std::string& base, const std::string& head);

}  // namespace ltr::driver
