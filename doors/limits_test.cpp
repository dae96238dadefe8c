// Every bound of limits.h is met before memory is taken, and people can read it in docs/runtime/limits.md.
#include "doors/limits.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <zlib.h>

#include "doors/bytes.h"
#include "doors/file.h"
#include "doors/image_file.h"
#include "doors/pickle.h"
#include "doors/scratch.h"
#include "doors/weights_file.h"

namespace ltr::doors {

namespace {

const std::string kImages = LTR_SOURCE_DIR "/tests/doors/Inputs/";

std::string image_refusal(const std::string& bytes) {
  try {
    decode_image(bytes, "x", 3);
  } catch (const FormatError& error) {
    return error.reason;
  }
  return "";
}

std::string be32(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += char(value >> shift);
  return out;
}

std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const void* bytes = body.data();
  return be32(uint32_t(data.size())) + body +
         be32(uint32_t(crc32(0, static_cast<const unsigned char*>(bytes), unsigned(body.size()))));
}

/// A PNG whose header says so many pixels, with no more data than that.
std::string png_header(uint32_t width, uint32_t height) {
  return std::string("\x89PNG\r\n\x1a\n", 8) +
         png_chunk("IHDR", be32(width) + be32(height) + std::string("\x08\x02\0\0\0", 5)) +
         png_chunk("IDAT", std::string("\x78\x9c\x03\0\0\0\0\1", 8)) + png_chunk("IEND", "");
}

/// An archive of torch.save with this `data.pkl` and one storage of 16 bytes.
std::string torch_archive(const std::string& pickle) {
  std::string file, directory;
  int count = 0;
  const auto add = [&](const std::string& name, const std::string& bytes) {
    const auto sizes = [&](std::string& out) {
      put_le(out, uint32_t(0));
      put_le(out, uint32_t(bytes.size()));
      put_le(out, uint32_t(bytes.size()));
      put_le(out, uint16_t(name.size()));
      put_le(out, uint16_t(0));
    };
    const auto offset = uint32_t(file.size());
    put_le(file, uint32_t(0x04034b50));
    file += std::string(10, '\0');
    sizes(file);
    file += name + bytes;
    put_le(directory, uint32_t(0x02014b50));
    directory += std::string(12, '\0');
    sizes(directory);
    directory += std::string(10, '\0');
    put_le(directory, offset);
    directory += name;
    ++count;
  };
  add("a/data.pkl", pickle);
  add("a/data/0", std::string(16, '\1'));
  std::string end;
  put_le(end, uint32_t(0x06054b50));
  end += std::string(4, '\0');
  put_le(end, uint16_t(count));
  put_le(end, uint16_t(count));
  put_le(end, uint32_t(directory.size()));
  put_le(end, uint32_t(file.size()));
  put_le(end, uint16_t(0));
  return file + directory + end;
}

std::string text(const std::string& value) {
  std::string out = "X";
  put_le(out, uint32_t(value.size()));
  return out + value;
}

/// A tensor of four floats with these sizes and strides, as torch pickles it.
std::string tensor(const std::string& sizes, const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" + text("0") +
         text("cpu") + "K\4tQK" + std::string(1, '\0') + "(" + sizes + "t(" + strides + "t\x89}tR";
}

std::string weights_refusal(const std::string& path) {
  try {
    WeightsFile::open(path);
  } catch (const WeightsError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a JPEG that is cut off is refused, wherever the cut is; a whole one is not") {
  for (const char* name : {"photo.jpg", "progressive.jpg"}) {
    const std::string whole = read_file(kImages + name);
    CHECK(image_refusal(whole).empty());
    for (size_t size = 4; size + 2 < whole.size(); size += 13) CHECK(image_refusal(whole.substr(0, size)) != "");
    CHECK(image_refusal(whole.substr(0, 700)) != "");
    CHECK(image_refusal(whole + "a trailer that harms nothing").empty());
  }
}

TEST_CASE("an image of too many pixels is refused by its header") {
  CHECK(image_refusal(png_header(100'000, 100'000)).starts_with("100000 x 100000 pixels, more than 134217728"));
  CHECK(image_refusal(png_header(20'000, 20'000)).starts_with("20000 x 20000 pixels"));
  std::string jpeg = read_file(kImages + "photo.jpg");
  const size_t frame = jpeg.find("\xFF\xC0");
  REQUIRE(frame != std::string::npos);
  jpeg.replace(frame + 5, 4, std::string("\xF0\0\xF0\0", 4));
  CHECK(image_refusal(jpeg).starts_with("61440 x 61440 pixels"));
}

TEST_CASE("gzip that grows beyond its bound is refused before it has grown") {
  std::string zeros(size_t(1) << 20, '\0');
  const std::string path =
      (std::filesystem::temp_directory_path() / ("ltr-bomb-" + std::to_string(::getpid()))).string();
  gzFile file = gzopen(path.c_str(), "wb9");
  for (int i = 0; i < 80; ++i) gzwrite(file, zeros.data(), unsigned(zeros.size()));
  gzclose(file);
  CHECK_THROWS_WITH(read_file(path), doctest::Contains("unpacked it has more than 67108864 bytes"));
  std::filesystem::remove(path);
}

TEST_CASE("dicts that share dicts are not multiplied out") {
  // d0 = {"t": tensor}, d1 = {"a": d0, "b": d0}, …: 2^40 names in a few hundred bytes.
  std::string dict = "}" + text("t") + tensor("K\4", "K\1") + "sq" + std::string(1, '\0');
  for (char level = 1; level <= 40; ++level) {
    dict =
        "}" + text("a") + dict + "s" + text("b") + "h" + std::string(1, char(level - 1)) + "sq" + std::string(1, level);
  }
  const testing::ScratchFile file(".pt", torch_archive("\x80\x02}" + text("state_dict") + dict + "s."));
  CHECK(weights_refusal(file.path + "#state_dict") == "it makes more than 64 MiB of names");
}

TEST_CASE("a tensor that repeats its elements is read") {
  const testing::ScratchFile file(
      ".pt", torch_archive("\x80\x02}" + text("w") + tensor("K\3K\4", std::string("K\0K\1", 4)) + "s."));
  WeightsFile weights = WeightsFile::open(file.path);
  REQUIRE(weights.tensors().size() == 1);
  const TensorEntry& entry = weights.tensors()[0];
  CHECK(entry.shape == std::vector<int64_t>{3, 4});
  CHECK(entry.bytes == 48);
  CHECK(std::string(static_cast<const char*>(weights.bytes_of(entry)), entry.bytes) == std::string(48, '\1'));
}

TEST_CASE("a pickle that asks for copies upon copies is refused") {
  std::string pickle =
      "\x80\x02"
      "ca\nb\nq" +
      std::string(1, '\0') + "(" + std::string(2'000'000, 'N') + "tq\1";
  for (int i = 0; i < 400; ++i) pickle += std::string("h\0h\1R", 5);
  CHECK_THROWS_WITH(read_pickle(pickle + "."), doctest::Contains("more than 1 GiB"));
}

TEST_CASE("the page of limits says every bound") {
  std::ifstream header(LTR_SOURCE_DIR "/doors/limits.h");
  const std::string page = read_file(LTR_SOURCE_DIR "/docs/runtime/limits.md");
  std::string line;
  int bounds = 0;
  while (std::getline(header, line)) {
    const size_t name = line.find(" k");
    if (!line.starts_with("inline constexpr") || name == std::string::npos) continue;
    ++bounds;
    CHECK_MESSAGE(
        page.find("`" + line.substr(name + 1, line.find(' ', name + 1) - name - 1) + "`") != std::string::npos, line);
  }
  CHECK(bounds > 10);
}

}  // namespace ltr::doors
