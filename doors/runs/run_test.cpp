#include "doors/runs/run.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "doors/file.h"
#include "doors/runs/comparison.h"
#include "doors/runs/page.h"
#include "doors/tfevents.h"

namespace fs = std::filesystem;

namespace ltr::doors {

namespace {

/// A folder `line/0007` that goes with the test.
struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path.parent_path().parent_path()); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
  }
  fs::path path = fs::temp_directory_path() / ("ltr-run-" + std::to_string(::getpid())) / "line" / "0007";
};

constexpr const char* kJournal =
    R"({"kind":"event","event":"start","step":0,"time":10}
{"kind":"metrics","step":1,"epoch":0,"time":11,"values":{"train/loss":2.5}}
{"kind":"metrics","step":2,"epoch":0,"time":12,"values":{"train/loss":"NaN"}}
{"kind":"metrics","step":3,"epoch":0,"time":13,"values":{"train/loss":9}}
{"kind":"event","event":"start","step":2,"time":20,"from":"step0000002"}
{"kind":"metrics","step":4,"epoch":1,"time":21,"values":{"train/loss":1.5,"val/loss":"Infinity"}}
{"kind":"system","step":4,"time":21,"values":{"memory":3}}
{"kind":"metr)";

}  // namespace

TEST_CASE("what a process records again behind its start stands once; a torn line is none") {
  const Folder folder;
  folder.write("run.json", R"({"status": "failed", "best": {"metric": "val/loss", "value": 0.25}})");
  folder.write("config.json", R"({"lr": {"value": 0.1, "from": "flag", "at": "--lr 0.1"}})");
  folder.write("log.jsonl", kJournal);
  const Run run = read_run(folder.path.string(), true);
  CHECK(run.name == "line/0007");
  REQUIRE(run.series.size() == 2);
  const Series* loss = run.find("train/loss");
  REQUIRE(loss != nullptr);
  REQUIRE(loss->points.size() == 3);
  CHECK(std::isnan(loss->points[1].value));
  CHECK(loss->points[2].step == 4);
  CHECK(loss->points[2].epoch == 1);
  CHECK(std::isinf(run.find("val/loss")->points[0].value));
  CHECK(run.find("memory") == nullptr);
  REQUIRE(run.events.size() == 2);
  CHECK(run.events[1].text == R"({"from":"step0000002"})");
  const Result result = result_of(*loss);
  CHECK(result.last == 1.5);
  CHECK(result.least == 1.5);
  CHECK(result.greatest == 2.5);
}

TEST_CASE("a folder without run.json is none of a run, and a damaged line is named by its byte") {
  const Folder folder;
  CHECK_THROWS_AS(read_run(folder.path.string(), false), FormatError);
  folder.write("run.json", "{}");
  CHECK(read_run(folder.path.string(), true).series.empty());
  folder.write("log.jsonl", "{}\nnull\n");
  try {
    read_run(folder.path.string(), false);
    FAIL("it was read");
  } catch (const FormatError& error) {
    CHECK(error.offset == 3);
  }
}

TEST_CASE("the newest images of each name are kept, and a damaged record is named by its byte") {
  const Folder folder;
  folder.write("run.json", "{}");
  const std::string path = (folder.path / event_file_name(100, "host", 1, 0)).string();
  const Image grey{2, 1, 1, {0, 255}};
  {
    EventFile file(path, 0, 100);
    for (int64_t step = 1; step <= int64_t(kNewest) + 3; ++step) file.image(step, 100, "val/board", grey);
    file.scalar(1, 100, "val/loss", 1);
    file.image(5, 100, "val/other", grey);
  }
  const Run run = read_run(folder.path.string(), true);
  REQUIRE(run.pictures.size() == kNewest + 1);
  CHECK(run.pictures[0].name == "val/board");
  CHECK(run.pictures[0].step == 4);
  CHECK(run.pictures[0].png == encode_png(grey));
  CHECK(run.pictures.back().name == "val/other");
  CHECK(read_run(folder.path.string(), false).pictures.empty());

  std::string bytes = read_plain_file(path, 1 << 20);
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  CHECK(read_images(path).size() == kNewest + 3);
  bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
  CHECK_THROWS_AS(read_images(path), FormatError);
}

TEST_CASE("a run that goes on is as long as its processes, and forgets what it does again") {
  const Folder folder;
  folder.write("run.json", R"({"status": "finished"})");
  folder.write("log.jsonl", R"({"kind":"event","event":"start","step":0,"time":10}
{"kind":"metrics","step":2,"epoch":0,"time":13,"values":{"train/loss":2.5}}
{"kind":"metrics","step":3,"epoch":0,"time":14,"values":{"train/loss":2.4,"val/loss":1}}
{"kind":"event","event":"resume","step":2,"time":100,"from":"step0000002"}
{"kind":"metrics","step":4,"epoch":1,"time":101.5,"values":{"train/loss":1.5}}
{"kind":"event","event":"finish","step":4,"time":102}
)");
  const Run run = read_run(folder.path.string(), false);
  CHECK(seconds_of(run).value() == doctest::Approx(3 + 2));  // what it does again counts once
  CHECK(run.find("train/loss")->points.size() == 2);
  CHECK(run.find("val/loss") == nullptr);
}

TEST_CASE("a run that nobody ended is lost when its process is, and has the best checkpoint of now") {
  const Folder folder;
  folder.write("run.json", R"({"status": "running", "best": null})");
  folder.write("lock", "");
  folder.write("log.jsonl", R"({"kind":"event","event":"start","step":0,"time":10}
{"kind":"event","event":"checkpoint","step":2,"time":11,"path":"checkpoints/a","best":{"metric":"val/acc","value":0.5}}
{"kind":"event","event":"checkpoint","step":4,"time":12,"path":"checkpoints/b","best":{"metric":"val/acc","value":0.75}}
{"kind":"event","event":"checkpoint","step":6,"time":13,"path":"checkpoints/c"}
)");
  const Run run = read_run(folder.path.string(), false);
  CHECK(run.about["status"] == "lost");
  const std::vector<Run> runs = {run};
  const Comparison compared = compare_runs(runs);
  const auto best = std::ranges::find(compared.about, "best", &Row::name);
  REQUIRE(best != compared.about.end());
  CHECK(best->cells == std::vector<std::string>{"val/acc 0.75"});

  const int held = ::open((folder.path / "lock").c_str(), O_RDONLY);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  CHECK(read_run(folder.path.string(), false).about["status"] == "running");
  ::close(held);
}

TEST_CASE("pictures, texts, matrices and the profile of a run are on its page") {
  const Folder folder;
  folder.write("run.json", R"({"status": "finished"})");
  folder.write("log.jsonl", R"({"kind":"event","event":"start","step":0,"time":10}
{"kind":"text","step":4,"time":11,"name":"val/samples","text":"<b>old"}
{"kind":"text","step":8,"time":12,"name":"val/samples","text":"<b>new"}
{"kind":"matrix","step":4,"time":11,"name":"val/confusion","rows":[[1,0],[0,1]]}
{"kind":"matrix","step":8,"time":12,"name":"val/confusion","rows":[[3,1],["NaN",17]]}
)");
  fs::create_directories(folder.path / "samples");
  fs::create_directories(folder.path / "profile");
  const std::string png = encode_png({2, 1, 1, {0, 255}});
  for (int step = 1; step <= int(kNewest) + 2; ++step)
    folder.write("samples/val.clean.x-step000000" + std::to_string(step) + ".png", png);
  for (const char* other :
       {"val-step0000004.jsonl", "x.png", "x-step.png", "x-step1a.png", "x-step99999999999999999999.png"})
    folder.write(std::string("samples/") + other, "x");
  folder.write("profile/steps.txt", "train: <all> of it");
  const Run run = read_run(folder.path.string(), true);
  REQUIRE(run.pictures.size() == kNewest);
  CHECK(run.pictures[0].name == "val/clean/x");
  CHECK(run.pictures[0].png == png);
  REQUIRE(run.texts.size() == 2);
  CHECK(run.texts[1].step == 8);
  REQUIRE(run.matrices.size() == 1);
  CHECK(run.matrices[0].rows[1][1] == 17);
  const std::string page = run_page(run);
  for (const char* text : {"&lt;b&gt;new", "&lt;all&gt;", "rgb(31 119 180/75%)\">3</td>", ">17</td>"})
    CHECK_MESSAGE(page.find(text) != std::string::npos, text);
  CHECK(page.find("<b>") == std::string::npos);

  fs::remove_all(folder.path / "samples");
  fs::create_directory_symlink("/etc", folder.path / "samples");
  CHECK(read_run(folder.path.string(), true).pictures.empty());
  folder.write("log.jsonl", R"({"kind":"matrix","step":4,"time":11,"name":"a"})"
                            "\n");
  CHECK_THROWS_AS(read_run(folder.path.string(), false), FormatError);
}

TEST_CASE("files of a run are files: links and pipes are refused, and not waited for") {
  const Folder folder;
  folder.write("run.json", "{}");
  for (const char* name : {"summary.txt", "config.json", "log.jsonl", "events.out.tfevents.1.host"}) {
    fs::create_symlink("/etc/passwd", folder.path / name);
    CHECK_THROWS_AS(read_run(folder.path.string(), true), FormatError);
    fs::remove(folder.path / name);
    REQUIRE(::mkfifo((folder.path / name).c_str(), 0600) == 0);
    CHECK_THROWS_AS(read_run(folder.path.string(), true), FormatError);
    fs::remove(folder.path / name);
  }
  fs::remove(folder.path / "run.json");
  folder.write("run.json", R"({"status": 5})");
  CHECK_THROWS_AS(read_run(folder.path.string(), false), FormatError);
}

TEST_CASE("a thinned curve keeps its ends, its peaks and its order") {
  std::vector<Point> points(100'001);
  for (size_t i = 0; i < points.size(); ++i) points[i] = {int64_t(i), 0, 0, std::sin(double(i))};
  points[70'001].value = 50;
  points[69'970].value = std::nan("");  // The first of its piece: it hides no neighbour.
  points[30'003].value = -50;
  const std::vector<Point> thin = thinned(points, 2000);
  CHECK(thin.size() <= 2000);
  CHECK(thin.size() > 1900);
  CHECK(thin.front().step == 0);
  CHECK(thin.back().step == 100'000);
  CHECK(std::ranges::is_sorted(thin, {}, &Point::step));
  CHECK(std::ranges::count(thin, 50.0, &Point::value) == 1);
  CHECK(std::ranges::count(thin, -50.0, &Point::value) == 1);
  CHECK(thinned(std::span(points).first(7), 2000).size() == 7);
}

TEST_CASE("a comparison shows the settings that differ, and the last values of all") {
  Run one, two;
  one.config = nlohmann::json::parse(R"({"lr": {"value": 0.1}, "epochs": {"value": 3}, "only": {"value": "a"}})");
  two.config = nlohmann::json::parse(R"({"lr": {"value": 0.2}, "epochs": {"value": 3}})");
  one.about = two.about = nlohmann::json::parse(R"({"status": "finished"})");
  one.series = {{"val/loss", {{1, 0, 0, 0.123456789}}}};
  const std::vector<Run> runs = {one, two};
  const Comparison found = compare_runs(runs);
  REQUIRE(found.settings.size() == 2);
  CHECK(found.settings[0].name == "lr");
  CHECK(found.settings[0].cells == std::vector<std::string>{"0.1", "0.2"});
  CHECK(found.settings[1].cells == std::vector<std::string>{"a", ""});
  REQUIRE(found.results.size() == 1);
  CHECK(found.results[0].cells == std::vector<std::string>{"0.123457", ""});
  CHECK(duration_text(3723) == "1 h 02 min");
  CHECK(duration_text(125) == "2 min 05 s");
}

TEST_CASE("rows of a comparison stand in the order in which people count") {
  Run run;
  run.config = run.about = nlohmann::json::object();
  for (const char* name : {"recall/10", "recall/2", "recall/02", "recall", "f1", "recall/2/b", "recall/1"})
    run.series.push_back({name, {{1, 0, 0, 1}}});
  std::vector<std::string> names;
  for (const Row& row : compare_runs(std::vector<Run>{run}).results) names.push_back(row.name);
  CHECK(names ==
        std::vector<std::string>{"f1", "recall", "recall/1", "recall/2", "recall/2/b", "recall/02", "recall/10"});
}

TEST_CASE("no name or text of a run becomes a part of its page") {
  Run run;
  run.name = "</title><script>1</script>";
  run.about = nlohmann::json::object();
  run.config = nlohmann::json::parse(R"({"a": {"value": "</td><b>", "from": "flag", "at": "\"><i>"}})");
  run.series = {{"</script><script>2</script>", {{1, 0, 0, 1}}}};
  const std::string page = run_page(run);
  for (const char* text : {"<script>1", "<script>2", "<b>", "<i>"}) CHECK(page.find(text) == std::string::npos);
  CHECK(page.find("&lt;/td&gt;&lt;b&gt;") != std::string::npos);
}

}  // namespace ltr::doors
