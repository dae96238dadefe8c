#include "runtime/checkpoint/settler.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "doors/scratch.h"
#include "runtime/checkpoint/folder.h"

namespace ltr {

namespace fs = std::filesystem;

namespace {

struct Folder : testing::ScratchFolder {
  void make(const Str& name) const {
    fs::create_directory(path + "/" + name);
    std::ofstream(path + "/" + name + "/checkpoint.json") << "{}";
  }
  bool has(const Str& name) const { return fs::exists(path + "/" + name); }
};

}  // namespace

TEST_CASE("what a checkpoint replaces goes once it is on the disk") {
  const Folder folder;
  Settler settler(folder.path);
  for (int i = 0; i < 30; i++) {
    folder.make("step" + std::to_string(i));
    settler.settle("step" + std::to_string(i));
    if (i > 0) settler.remove({"step" + std::to_string(i - 1)});
  }
  settler.wait();
  for (int i = 0; i < 29; i++) CHECK_FALSE(folder.has("step" + std::to_string(i)));
  CHECK(folder.has("step29"));
  CHECK(settler.take_faults().empty());
}

TEST_CASE("a checkpoint that does not get to the disk is told, and what it replaces stays until a later one does") {
  const Folder folder;
  Settler settler(folder.path);
  folder.make("old");
  settler.settle("old");
  settler.wait();
  settler.settle("lost");  // there is no such folder
  settler.remove({"old"});
  settler.wait();
  CHECK(folder.has("old"));
  const std::vector<Str> faults = settler.take_faults();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].find("lost") != Str::npos);
  CHECK(settler.take_faults().empty());
  folder.make("new");
  settler.settle("new");
  settler.wait();
  CHECK_FALSE(folder.has("old"));
  CHECK(folder.has("new"));
}

TEST_CASE("a checkpoint that takes the name of one which was to go stays") {
  const Folder folder;
  Settler settler(folder.path);
  settler.settle("lost");
  settler.remove({"again"});
  settler.wait();
  folder.make("again");
  settler.settle("again");
  settler.wait();
  CHECK(folder.has("again"));
}

TEST_CASE("without memory for a thread, whoever waits brings checkpoints to the disk") {
  const Folder folder;
  folder.make("old");
  folder.make("new");
  Settler settler(folder.path);
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  rlimit none = before;
  none.rlim_cur = 1 << 20;
  ::setrlimit(RLIMIT_AS, &none);
  settler.settle("old");
  settler.settle("new");
  ::setrlimit(RLIMIT_AS, &before);
  settler.remove({"old"});
  settler.wait();
  CHECK(!folder.has("old"));
  CHECK(folder.has("new"));
  CHECK(settler.take_faults().empty());
}

}  // namespace ltr
