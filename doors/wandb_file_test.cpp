#include "doors/wandb_file.h"

#include <zlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "doors/bytes.h"
#include "doors/file.h"
#include "doors/json.h"
#include "doors/scratch.h"

namespace ltr::doors {

namespace {

constexpr size_t kHeadOfFile = 7;
constexpr size_t kHeadOfPart = 7;

/// The records of a file, as its readers find them; each part is held against its CRC.
std::vector<std::string> records_in(const std::string& bytes) {
  std::vector<std::string> records;
  std::string open;
  bool is_open = false;
  for (size_t at = kHeadOfFile; at < bytes.size();) {
    const size_t left = WandbFile::kBlock - at % WandbFile::kBlock;
    if (left < kHeadOfPart) {
      at += left;
      continue;
    }
    const auto crc = get_le<uint32_t>(bytes.data() + at);
    const auto size = get_le<uint16_t>(bytes.data() + at + 4);
    const std::string part = bytes.substr(at + 6, size + 1u);
    REQUIRE(size + kHeadOfPart <= left);
    CHECK(::crc32(0, reinterpret_cast<const Bytef*>(part.data()), uInt(part.size())) == crc);
    const int kind = part[0];
    CHECK((kind == 3 || kind == 4) == is_open);
    is_open = kind == 2 || kind == 3;
    open += part.substr(1);
    if (!is_open) {
      records.push_back(open);
      open.clear();
    }
    at += kHeadOfPart + size;
  }
  return records;
}

/// The lines of a journal, each with its end.
std::string steps(int64_t from, int64_t to) {
  std::string out;
  for (int64_t step = from; step < to; ++step) {
    out += R"({"kind":"metrics","step":)" + std::to_string(step) +
           R"(,"epoch":0,"time":1700000000,"values":{"a":"NaN"}})" + "\n";
  }
  return out;
}

/// Numbers of the fields that say what each record of the run's file is.
std::vector<int> kinds_in(const std::string& folder) {
  std::vector<int> kinds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".wandb") continue;
    for (const std::string& record : records_in(read_file(entry.path().string()))) {
      Fields fields(record);
      REQUIRE(fields.next());
      CHECK(fields.number == 1);
      CHECK(fields.whole == kinds.size() + 1);
      REQUIRE(fields.next());
      kinds.push_back(fields.number);
    }
  }
  return kinds;
}

}  // namespace

TEST_CASE("a record of W&B is its CRC, its length, its kind and its bytes") {
  CHECK(wandb_parts("123456789", 7) == std::string("\xc0\x2e\xb5\x21\x09\x00\x01", 7) + "123456789");
}

TEST_CASE("records of W&B cross blocks, and leave no room for half a head") {
  for (const size_t size : {size_t(0), size_t(1), size_t(32740), size_t(32754), size_t(32760), size_t(100000)}) {
    for (size_t gap = 0; gap < 12; ++gap) {
      std::string bytes(kHeadOfFile, ' ');
      const std::string first(32768 - kHeadOfFile - kHeadOfPart - gap, 'f'), second(size, 's');
      bytes += wandb_parts(first, bytes.size());
      bytes += wandb_parts(second, bytes.size());
      bytes += wandb_parts("third", bytes.size());
      CHECK(records_in(bytes) == std::vector<std::string>{first, second, "third"});
    }
  }
}

TEST_CASE("a file of W&B begins with its name, and goes on where it was cut") {
  const testing::ScratchFolder folder;
  const std::string path = folder.path + "/run.wandb";
  uint64_t size = 0;
  {
    WandbFile file(path, 0);
    file.append("one");
    size = file.size();
    file.append(std::string(40000, 'x'));
  }
  {
    WandbFile file(path, size);
    file.append("two");
  }
  const std::string bytes = read_file(path);
  CHECK(bytes.substr(0, 7) == std::string(":W&B\xe1\xbe\x00", 7));
  CHECK(records_in(bytes) == std::vector<std::string>{"one", "two"});
  CHECK_THROWS_AS(WandbFile(path, bytes.size() + 1), std::system_error);
}

TEST_CASE("a run that goes on has each step once, and one end") {
  const testing::ScratchFolder run;
  run.write("run.json", R"({"experiment":"e","run":"0001","started":"2026-01-31T12:00:00Z"})");
  run.write("config.json", R"({"lr":{"value":0.1}})");
  const std::string begin = R"({"kind":"event","event":"start","step":0,"time":1700000000})"
                            "\n";
  const std::string stop = R"({"kind":"event","event":"stop","step":4,"time":1700000001,"exit_code":130})"
                           "\n";
  const std::string resume = R"({"kind":"event","event":"resume","step":2,"time":1700000002})"
                             "\n";
  const std::string finish = R"({"kind":"event","event":"finish","step":6,"time":1700000003,"exit_code":0})"
                             "\n";
  const WandbSettings settings{.project = "p", .entity = "", .dir = ""};
  run.write("log.jsonl", begin + steps(1, 5) + stop);
  std::string folder;
  {
    WandbFolder one(run.path, settings);
    one.write_all();
    folder = one.path();
  }
  // Header, run, files; steps 1 to 3, their summary; step 4, which may grow yet; the end.
  CHECK(kinds_in(folder) == std::vector<int>{21, 17, 6, 2, 2, 2, 3, 2, 3, 18, 20, 22});
  run.write("log.jsonl", begin + steps(1, 5) + stop + resume + steps(3, 7) + finish);
  WandbFolder two(run.path, settings);
  two.write_all();
  CHECK(two.path() == folder);
  CHECK(kinds_in(folder) == std::vector<int>{21, 17, 6, 2, 2, 2, 3, 2, 2, 3, 2, 3, 18, 20, 22});
  CHECK(read_json(folder + "/files/wandb-summary.json")["_step"] == 6);
}

TEST_CASE("names of projects at W&B") {
  CHECK(!WandbFolder::wrong_project("mnist 2"));
  CHECK(WandbFolder::wrong_project("a/b").has_value());
  CHECK(WandbFolder::wrong_project(std::string(129, 'a')).has_value());
}

}  // namespace ltr::doors
