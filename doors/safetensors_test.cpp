#include "doors/safetensors.h"

#include <unistd.h>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "doors/bytes.h"
#include "doors/scratch.h"

namespace ltr::doors {

namespace {

void write(const std::string& path, const std::string& header, const std::string& data) {
  std::string bytes;
  put_le(bytes, uint64_t(header.size()));
  std::ofstream(path, std::ios::binary) << bytes << header << data;
}

/// The reason for which `header` and `data` are refused, "" if they are not.
std::string refusal(const std::string& header, const std::string& data) {
  const testing::ScratchFile scratch("", "");
  write(scratch.path, header, data);
  try {
    SafetensorsFile::open(scratch.path);
  } catch (const FormatError& error) {
    const std::string what = error.what();
    return what.substr(what.find(": at byte") + 2);
  }
  return "";
}

}  // namespace

TEST_CASE("safetensors are written sorted, padded and read back") {
  const testing::ScratchFile scratch("", "");
  const float wide[2] = {1.5f, -2.0f};
  const uint8_t narrow[3] = {1, 2, 3};
  const double widest = 0.1;
  write_safetensors(scratch.path,
                    {{"b", "U8", {3}, narrow, 3}, {"a", "F32", {2, 1}, wide, 8}, {"z", "F64", {}, &widest, 8}},
                    {{"format", "pt"}});
  const SafetensorsFile file = SafetensorsFile::open(scratch.path);
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.tensors()[0].name == "z");
  CHECK(file.tensors()[1].name == "a");
  CHECK(file.tensors()[2].name == "b");
  CHECK(file.metadata().at("format") == "pt");
  CHECK(get_le<double>(file.find("z")->data) == 0.1);
  CHECK(file.find("a")->shape == std::vector<int64_t>{2, 1});
  CHECK(get_le<float>(static_cast<const char*>(file.find("a")->data) + 4) == -2.0f);
  CHECK(file.find("none") == nullptr);
  std::ifstream in(scratch.path, std::ios::binary);
  char size[8];
  in.read(size, 8);
  CHECK(get_le<uint64_t>(size) % 8 == 0);
}

TEST_CASE("a digest takes in what is written, pieces and all") {
  const testing::ScratchFile scratch("", "");
  const std::vector<float> values(300000, 0.25f);
  Sha256 digest;
  write_safetensors(
      scratch.path,
      {{"a", "F32", {300000}, values.data(), values.size() * sizeof(float)}, {"e", "F32", {0}, nullptr, 0}}, {},
      &digest);
  CHECK(digest.hex() == sha256_file(scratch.path));
}

TEST_CASE("empty tensors and files without tensors are fine") {
  const testing::ScratchFile scratch("", "");
  write_safetensors(scratch.path, {{"e", "F32", {0, 4}, nullptr, 0}}, {});
  CHECK(SafetensorsFile::open(scratch.path).tensors()[0].bytes == 0);
  write_safetensors(scratch.path, {}, {});
  CHECK(SafetensorsFile::open(scratch.path).tensors().empty());
}

TEST_CASE("what is no safetensors file is refused with its place") {
  const std::string one = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  CHECK(refusal(one, "ab") == "");
  CHECK(refusal(one, "a") == "at byte " + std::to_string(8 + one.size()) + ": a goes beyond the file");
  CHECK(refusal(one, "abc").find("data behind the last tensor") != std::string::npos);
  CHECK(refusal("[]", "").find("does not begin with {") != std::string::npos);
  CHECK(refusal("{", "").find("not JSON") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{}})", "ab").find("occurs twice") !=
        std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}})", "ab").find("do not fit its shape") !=
        std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"X9","shape":[2],"data_offsets":[0,2]}})", "ab").find("unknown dtype") !=
        std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,2]}})", "ab").find("a size is no count") !=
        std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F64","shape":[9223372036854775807,9],"data_offsets":[0,2]}})", "ab")
            .find("overflows") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "ab").find("a hole before a") !=
        std::string::npos);
  CHECK(
      refusal(
          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
          "ab")
          .find("overlaps") != std::string::npos);
  const testing::ScratchFile scratch("", "");
  std::string bytes;
  put_le(bytes, uint64_t(1) << 40);
  std::ofstream(scratch.path, std::ios::binary) << bytes << "{}";
  CHECK_THROWS_AS(SafetensorsFile::open(scratch.path), FormatError);
}

}  // namespace ltr::doors
