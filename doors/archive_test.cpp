#include <unistd.h>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "doors/csv.h"
#include "doors/file.h"
#include "doors/sound.h"
#include "doors/sqlite.h"
#include "doors/tar.h"

namespace ltr::doors {

namespace {

std::string header(const std::string& name, const std::string& size, char kind = '0') {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, size.size(), size);
  block[156] = kind;
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += uint8_t(c);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  block.replace(148, 8, std::string(text, 6) + std::string("\0 ", 2));
  return block;
}
std::string padded(std::string body) {
  body.resize((body.size() + 511) / 512 * 512);
  return body;
}
const std::string kEnd(1024, '\0');

}  // namespace

TEST_CASE("CSV cells without a copy are those with one") {
  const std::string text = "a,\"b \"\"c\"\"\",\"d\"\n\"\"\"\",,\"x\ny\"\n1,2";
  CsvReader views(text), copies(text);
  std::vector<std::string_view> seen;
  std::vector<std::string> cells;
  for (int row = 0; row < 3; ++row) {
    REQUIRE(views.next(seen));
    REQUIRE(copies.next(cells));
    CHECK(std::vector<std::string>(seen.begin(), seen.end()) == cells);
    CHECK(views.line() == copies.line());
  }
  CHECK_FALSE(views.next(seen));
  CHECK(cells == std::vector<std::string>{"1", "2"});
}

TEST_CASE("tar: names of all kinds, and where the bytes lie") {
  const std::string long_name = std::string(150, 'd') + "/e.txt";
  const std::string archive = header("folder/", "0", '5') + header("a.txt", "3") + padded("abc") +
                              header("././@LongLink", "234", 'L') + padded(long_name) + header("cut", "1") +
                              padded("x") + header("pax", "25", 'x') + padded("21 path=pax/name.bin\n") +
                              header("short", "0") + header("link", "0", '2') + kEnd;
  const auto entries = read_tar(archive, "x.tar");
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].name == "a.txt");
  CHECK(archive.substr(entries[0].offset, entries[0].size) == "abc");
  CHECK(entries[1].name == long_name);
  CHECK(entries[2].name == "pax/name.bin");
  CHECK(entries[2].size == 0);
}

TEST_CASE("tar: what is cut off, changed or hostile is refused") {
  const std::string one = header("a.txt", "3") + padded("abc");
  const auto refusal = [](const std::string& archive) -> std::string {
    try {
      read_tar(archive, "x.tar");
    } catch (const FormatError& error) {
      return error.reason;
    }
    return "";
  };
  CHECK(refusal(one + kEnd) == "");
  CHECK(refusal("") == "the archive ends early");
  CHECK(refusal(one) == "the archive ends early");
  CHECK(refusal(one.substr(0, 700)) == "the archive ends early");
  CHECK(refusal(header("a.txt", "77777777777") + kEnd) == "the archive ends early");
  std::string changed = one + kEnd;
  changed[1] = 'b';
  CHECK(refusal(changed) == "no tar archive");
  CHECK(refusal(one + kEnd + one + kEnd).starts_with("there is more behind the end"));
  CHECK(refusal(header("x", "12", 'x') + padded("999999 a=b\n") + kEnd) == "a pax header that is none");
  CHECK(refusal(header("x", "1", 'S') + padded("x") + kEnd) == "a sparse file");
  CHECK(refusal(header("x", "9a") + kEnd) == "a header with a number that is none");
}

TEST_CASE("names of samples") {
  using Parts = std::pair<std::string, std::string>;
  CHECK(sample_parts("a/b.SEG.png") == Parts{"a/b", "seg_png"});
  CHECK(sample_parts("a.b/c.jpg") == Parts{"a.b/c", "jpg"});
  CHECK(sample_parts("plain").second == "");
  CHECK(sample_parts("a/.DS_Store").second == "");
  CHECK(sample_parts("__index__.json").second == "");
}

TEST_CASE("SQLite: queries that read, and no others") {
  const auto refusal = [](const std::string& query) -> std::string {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("ltr-sql-" + std::to_string(::getpid()))).string();
    std::ofstream(path).close();  // an empty file is an empty database
    std::string reason;
    try {
      SqlRows rows(path, query);
      while (rows.next()) reason += std::to_string(rows.whole(0)) + ";";
    } catch (const QueryError& error) {
      reason = error.what();
    }
    std::filesystem::remove(path);
    return reason;
  };
  CHECK(refusal("select 7 union select 8") == "7;8;");
  CHECK(refusal("") == "the query is empty");
  CHECK(refusal("select 1; select 2") == "the query is more than one statement");
  CHECK(refusal("create table t (a)") == "the query gives no rows");
  CHECK(refusal("select x") == "no such column: x");
  CHECK(refusal("select 1 where 1 = ?") == "the query leaves ? open, which nothing fills: write its value");
  CHECK(refusal("select :most") == "the query leaves :most open, which nothing fills: write its value");
  CHECK(refusal("attach 'other.db' as o").starts_with("the query gives no rows"));
  CHECK_THROWS_AS(SqlRows("/nowhere/x.db", "select 1"), std::system_error);
}

TEST_CASE("sound that is none") {
  CHECK_THROWS_AS(decode_sound("", "x"), FormatError);
  CHECK_THROWS_AS(decode_sound("fLaC", "x"), FormatError);
  CHECK_THROWS_AS(decode_sound(std::string("fLaC") + std::string(200, '\0'), "x"), FormatError);
  CHECK_THROWS_AS(decode_sound("RIFF....WAVE", "x"), FormatError);
}

}  // namespace ltr::doors
