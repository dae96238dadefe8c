#include "doors/made_folders.h"

#include <unistd.h>

#include <filesystem>

namespace ltr::doors {

void MadeFolders::make(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<fs::path> missing;
  for (fs::path at = path; !at.empty() && !fs::exists(at); at = at.parent_path()) missing.push_back(at);
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
    std::error_code failed;
    if (fs::create_directory(*at, failed)) made_.push_back(at->string());
  }
  // What another process takes back meanwhile, and what is wrong.
  fs::create_directories(path);
}

void MadeFolders::take_back() {
  while (!made_.empty() && ::rmdir(made_.back().c_str()) == 0) made_.pop_back();
  made_.clear();
}

}  // namespace ltr::doors
