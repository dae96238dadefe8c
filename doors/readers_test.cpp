#include <cmath>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "doors/bytes.h"
#include "doors/csv.h"
#include "doors/file.h"
#include "doors/hash.h"
#include "doors/idx.h"
#include "doors/image_file.h"
#include "doors/npy.h"
#include "doors/number.h"
#include "doors/scratch.h"

namespace ltr::doors {

namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& text, char separator = ',') {
  CsvReader reader(text, separator);
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> cells;
  while (reader.next(cells)) rows.push_back(cells);
  return rows;
}

std::string idx_bytes(const std::string& data) { return std::string("\0\0\x08\x02\0\0\0\x02\0\0\0\x03", 12) + data; }

}  // namespace

TEST_CASE("CSV: quotes, doubled quotes, newlines in quotes, CRLF, BOM, blank lines") {
  const auto rows = rows_of(
      "\xEF\xBB\xBF"
      "a,b\r\n\"x,1\",\"say \"\"hi\"\"\"\r\n\r\n\"two\nlines\",\n,last");
  CHECK(rows ==
        std::vector<std::vector<std::string>>{{"a", "b"}, {"x,1", "say \"hi\""}, {"two\nlines", ""}, {"", "last"}});
  CHECK(rows_of("a;b\n1;2,3\n", ';') == std::vector<std::vector<std::string>>{{"a", "b"}, {"1", "2,3"}});
  CHECK(rows_of("").empty());
}

TEST_CASE("CSV knows the line on which a record begins") {
  CsvReader reader("a\n\"x\ny\"\nz\n");
  std::vector<std::string> cells;
  std::vector<int64_t> lines;
  while (reader.next(cells)) lines.push_back(reader.line());
  CHECK(lines == std::vector<int64_t>{1, 2, 4});
  CsvReader old("a\rb\r\rc\r\nd");
  for (const int64_t line : {1, 2, 4, 5}) {
    REQUIRE(old.next(cells));
    CHECK(old.line() == line);
  }
}

TEST_CASE("CSV refuses open quotes and text behind one") {
  CHECK_THROWS_AS(rows_of("a\n\"x"), FormatError);
  CHECK_THROWS_AS(rows_of("a\n\"x\"y\n"), FormatError);
}

TEST_CASE("numbers of cells") {
  double real = 0;
  int64_t whole = 0;
  CHECK(parse_float(" -1.5e3 ", real));
  CHECK(real == -1500);
  CHECK(parse_float("", real));
  CHECK(std::isnan(real));
  CHECK(parse_float("NA", real));
  CHECK_FALSE(parse_float("1,5", real));
  CHECK_FALSE(parse_float("5.1x", real));
  CHECK_FALSE(parse_float("1e400", real));
  CHECK(parse_float("1e-400", real));
  CHECK(real == 0);
  CHECK(parse_int("+7", whole));
  CHECK(whole == 7);
  CHECK_FALSE(parse_int("7.0", whole));
  CHECK_FALSE(parse_int("99999999999999999999", whole));
}

TEST_CASE("IDX: header, data, and every way to be wrong") {
  const IdxFile file = read_idx(testing::ScratchFile("", idx_bytes("abcdef")).path);
  CHECK(file.shape == std::vector<int64_t>{2, 3});
  CHECK(file.data == "abcdef");
  CHECK_THROWS_WITH(read_idx(testing::ScratchFile("", idx_bytes("abcde")).path),
                    doctest::Contains("ends early: 6 bytes of data are declared, 5 are there"));
  CHECK_THROWS_WITH(read_idx(testing::ScratchFile("", idx_bytes("abcdefg")).path),
                    doctest::Contains("behind the last element"));
  CHECK_THROWS_WITH(read_idx(testing::ScratchFile("", "PK\3\4").path), doctest::Contains("not an IDX file"));
  CHECK_THROWS_WITH(read_idx(testing::ScratchFile("", std::string("\0\0\x08\x02\0\0", 6)).path),
                    doctest::Contains("header ends early"));
  CHECK_THROWS_WITH(read_idx(testing::ScratchFile("", std::string("\0\0\x77\x01\0\0\0\1x", 9)).path),
                    doctest::Contains("unknown element type"));
}

TEST_CASE("a gzip file that is cut off is refused") {
  // gzip of "hello\n", then without its last ten bytes.
  const std::string whole(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30\x3a\x36\x06\x00\x00\x00", 26);
  CHECK(read_file(testing::ScratchFile("", whole).path) == "hello\n");
  CHECK_THROWS_AS(read_file(testing::ScratchFile("", whole.substr(0, 14)).path), FormatError);
}

TEST_CASE("npy goes there and back, and pickles are refused") {
  NpyArray array{"F32", {2, 2}, std::string(16, '\1')};
  const std::string bytes = encode_npy(array);
  const NpyArray back = read_npy(testing::ScratchFile("", bytes).path);
  CHECK(back.dtype == "F32");
  CHECK(back.shape == array.shape);
  CHECK(back.data == array.data);
  CHECK(bytes.find('\n') % 64 == 63);
  std::string object = bytes;
  object.replace(object.find("<f4"), 3, "|O8");
  CHECK_THROWS_AS(read_npy(testing::ScratchFile("", object).path), FormatError);
}

TEST_CASE("PNG goes there and back") {
  const Image image{2, 2, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7}};
  const Image back = decode_image(encode_png(image), "x.png", 3);
  CHECK(back.width == 2);
  CHECK(back.pixels == image.pixels);
  CHECK_THROWS_AS(decode_image("\x89PNG broken file", "x.png", 3), FormatError);
  CHECK_THROWS_AS(decode_image("GIF89a", "x.gif", 3), FormatError);
  CHECK_THROWS_AS(decode_image("\xFF\xD8\xFF\xE0 cut", "x.jpg", 3), FormatError);
}

TEST_CASE("numbers as text read back to the same number") {
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(1e-5) == "1e-05");
  CHECK(shortest(3) == "3");
  CHECK(shortest(1.0 / 3) == "0.3333333333333333");
  CHECK(shortest(NAN) == "nan");
  CHECK(shortest(-INFINITY) == "-inf");
  CHECK(json_number(INFINITY) == "\"Infinity\"");
  CHECK(json_string("a\"b\\\n\x01") == "\"a\\\"b\\\\\\n\\u0001\"");
}

TEST_CASE("SHA-256 of abc") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace ltr::doors
