#include "doors/made_folders.h"

#include <filesystem>

#include <doctest/doctest.h>

#include "doors/scratch.h"

namespace ltr::doors {

TEST_CASE("folders that were made are taken back as far as they are empty") {
  namespace fs = std::filesystem;
  const testing::ScratchFolder scratch;
  MadeFolders made;
  made.make(scratch.path + "/a/b/c");
  CHECK(fs::is_directory(scratch.path + "/a/b/c"));
  MadeFolders within;
  within.make(scratch.path + "/a/b/d");
  made.take_back();
  CHECK_FALSE(fs::exists(scratch.path + "/a/b/c"));
  CHECK(fs::is_directory(scratch.path + "/a/b/d"));
  within.take_back();
  CHECK_FALSE(fs::exists(scratch.path + "/a/b/d"));
  CHECK(fs::is_directory(scratch.path + "/a/b"));
  within.take_back();
  CHECK(fs::is_directory(scratch.path + "/a/b"));
}

}  // namespace ltr::doors
