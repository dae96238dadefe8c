#include "doors/token_file.h"

#include "doors/bytes.h"
#include "doors/file.h"

namespace ltr::doors {

namespace {

constexpr uint64_t kHeader = 1024;
constexpr int32_t kMagic16 = 20240520;
constexpr int32_t kMagic32 = 20240801;
// The only versions that were ever written.
constexpr int32_t kVersion16 = 1;
constexpr int32_t kVersion32 = 7;

}  // namespace

TokenFile::TokenFile(const std::string& path) : path_(path), bytes_(path) {
  bytes_.watch();
  const auto word = [&](size_t index) { return get_le<int32_t>(bytes_.data() + 4 * index); };
  const bool has_header = bytes_.size() >= kHeader && (word(0) == kMagic16 || word(0) == kMagic32);
  if (has_header) {
    start_ = kHeader;
    width_ = word(0) == kMagic32 ? 4 : 2;
    const int32_t version = width_ == 4 ? kVersion32 : kVersion16;
    if (word(1) != version)
      throw FormatError(
          path, 4,
          "the header says version " + std::to_string(word(1)) + ", and " + std::to_string(version) + " is read");
  }
  const uint64_t size = bytes_.size() - start_;
  if (size % width_ != 0) throw FormatError(path, bytes_.size(), "the file ends inside an id");
  count_ = size / width_;
  if (has_header && (word(2) < 0 || uint64_t(word(2)) != count_)) {
    throw FormatError(path, 8,
                      "the header says " + std::to_string(word(2)) + " ids, the file holds " + std::to_string(count_));
  }
}

void TokenFile::copy(uint64_t begin, uint64_t count, int32_t* out) const {
  const char* from = bytes_.data() + start_ + begin * width_;
  for (uint64_t i = 0; i < count; ++i, from += width_) {
    out[i] = width_ == 2 ? int32_t(get_le<uint16_t>(from)) : get_le<int32_t>(from);
  }
  if (bytes_.is_cut()) throw FormatError(path_, start_ + begin * width_, "the file was cut off while it was read");
}

}  // namespace ltr::doors
