#include "doors/runs/run_list.h"

#include <unistd.h>
#include <cmath>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>

#include "doors/runs/page.h"

namespace fs = std::filesystem;

namespace ltr::doors {

namespace {

struct Runs {
  Runs() { fs::create_directories(path); }
  ~Runs() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& text, bool is_added = false) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, is_added ? std::ios::app : std::ios::trunc) << text;
  }
  fs::path path = fs::canonical(fs::temp_directory_path()) / ("ltr-runs-" + std::to_string(::getpid()));
};

void look_again(RunList& list) {
  std::this_thread::sleep_for(RunList::kPause + std::chrono::milliseconds(20));
  list.refresh();
}

constexpr const char* kAbout = R"({"experiment": "line", "status": "finished", "started": "2026-01-01T00:00:00Z"})";
constexpr const char* kStart = R"({"kind":"event","event":"start","step":0,"time":10})"
                               "\n";

std::string loss(int step, const std::string& value) {
  return R"({"kind":"metrics","step":)" + std::to_string(step) + R"(,"epoch":0,"time":)" + std::to_string(10 + step) +
         R"(,"values":{"train/loss":)" + value + "}}\n";
}

}  // namespace

TEST_CASE("runs below a folder are found, links out of it and hidden folders are not") {
  const Runs runs;
  for (const char* folder : {"line/0001", "line/0002", "sweep/sweep-0001/trial-001", ".hidden/0001", "out/0003"})
    runs.write(folder + std::string("/run.json"), kAbout);
  fs::create_directory_symlink(runs.path / "line/0001", runs.path / "line/latest");
  RunList list(runs.path / "line");
  list.refresh();
  CHECK(list.runs().size() == 2);
  fs::create_directory_symlink(runs.path / "out", runs.path / "line/out");
  RunList all(runs.path);
  all.refresh();
  CHECK(all.runs().size() == 4);
  CHECK(all.find("sweep/sweep-0001/trial-001") != nullptr);
  for (const char* id : {"line/out/0003", "line/latest", "../out/0003", "line/../line/0001", "/line/0001", ""})
    CHECK_MESSAGE(all.find(id) == nullptr, id);
  RunList one(runs.path / "line/0001");
  one.refresh();
  REQUIRE(one.runs().size() == 1);
  CHECK(one.runs()[0]->id == "0001");
}

TEST_CASE("what is added to a journal is news, and nothing else is read") {
  const Runs runs;
  runs.write("line/0001/run.json", kAbout);
  runs.write("line/0001/log.jsonl", kStart + loss(1, "3") + loss(2, "1"));
  RunList list(runs.path);
  list.refresh();
  const ListedRun* run = list.find("line/0001");
  REQUIRE(run != nullptr);
  CHECK(run->metric == "train/loss");
  CHECK(run->best == 1);
  const uint64_t version = list.version(), cursor = run->journal_end;
  CHECK(!news_of(*run, cursor, "finished"));
  CHECK((*news_of(*run, cursor, "running"))["stale"] == true);
  look_again(list);
  CHECK(list.version() == version);

  runs.write("line/0001/log.jsonl", loss(3, "2") + R"({"kind":"metr)", true);
  look_again(list);
  CHECK(list.version() > version);
  CHECK(run->last == 2);
  CHECK(run->best == 1);
  CHECK(run->step == 3);
  const nlohmann::json news = *news_of(*run, cursor, "finished");
  CHECK(news["stale"] == false);
  CHECK(news["cursor"] == run->journal_end);
  CHECK(news["series"][0]["points"] == nlohmann::json::parse("[[3, 0, 3.0, 2.0]]"));
  CHECK((*news_of(*run, run->journal_end + 1, "finished"))["stale"] == true);
  CHECK_THROWS_AS(news_of(*run, cursor - 1, "finished"), std::runtime_error);
}

TEST_CASE("a run that goes on from before counts what it records anew once") {
  const Runs runs;
  runs.write("line/0001/run.json", kAbout);
  runs.write("line/0001/log.jsonl", kStart + loss(1, "3") + loss(2, "1"));
  RunList list(runs.path);
  list.refresh();
  runs.write("line/0001/log.jsonl", "{\"kind\":\"event\",\"event\":\"start\",\"step\":1,\"time\":20}\n" + loss(2, "2"),
             true);
  look_again(list);
  CHECK(list.find("line/0001")->best == 2);
  CHECK(list.find("line/0001")->step == 2);
}

TEST_CASE("a damaged run says what is damaged, and is whole again once it is mended; a removed one is gone") {
  const Runs runs;
  runs.write("line/0001/run.json", "{");
  RunList list(runs.path);
  list.refresh();
  CHECK(list.find("line/0001")->status == "damaged");
  CHECK(list.find("line/0001")->damage.find("run.json") != std::string::npos);
  runs.write("line/0001/run.json", kAbout);
  look_again(list);
  CHECK(list.find("line/0001")->status == "finished");
  fs::create_symlink("/etc/passwd", runs.path / "line/0001/log.jsonl");
  look_again(list);
  CHECK(list.find("line/0001")->damage.find("no regular file") != std::string::npos);
  fs::remove_all(runs.path / "line");
  look_again(list);
  CHECK(list.runs().empty());
}

}  // namespace ltr::doors
