#include "doors/tfevents.h"

#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "doors/bytes.h"
#include "doors/crc.h"

namespace ltr::doors {

TEST_CASE("CRC-32C of the standard check string") { CHECK(crc32c("123456789", 9) == 0xE3069283u); }

TEST_CASE("an event file begins with its version and a session start, and frames a scalar") {
  const std::string path = (std::filesystem::temp_directory_path() / ("ltr-ev-" + std::to_string(::getpid()))).string();
  std::filesystem::remove(path);
  {
    EventFile file(path, 0, 2.0);
    file.scalar(5, 2.0, "a", 1.5);
  }
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::remove(path.c_str());
  const std::string time("\x09\x00\x00\x00\x00\x00\x00\x00\x40", 9);
  const std::string version = frame_record(time +
                                           "\x1a\x0d"
                                           "brain.Event:2");
  const std::string start = frame_record(time + "\x3a\x02\x08\x01");
  const std::string scalar = frame_record(time +
                                          "\x10\x05"
                                          "\x2a\x0a\x0a\x08\x0a\x01"
                                          "a\x15" +
                                          std::string("\x00\x00\xc0\x3f", 4));
  CHECK(bytes == version + start + scalar);
  CHECK(get_le<uint64_t>(version.data()) == version.size() - 16);
}

TEST_CASE("histograms cover all finite values") {
  const Histogram histogram = make_histogram(std::vector<double>{0, 0.5, 1, 1, NAN}, 4);
  CHECK(histogram.counts == std::vector<double>{1, 0, 1, 2});
  CHECK(histogram.left.front() == 0);
  CHECK(histogram.right.back() == 1);
  CHECK(make_histogram(std::vector<double>{}, 4).counts.empty());
  CHECK(make_histogram(std::vector<double>{2, 2}, 4).counts == std::vector<double>{2});
}

}  // namespace ltr::doors
