#pragma once

// PNG files, written through libpng.

#include <cstdint>
#include <string>
#include <vector>

namespace ltr::doors {

/// 8-bit pixels, rows from the top, channels interleaved: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 1;
  std::vector<uint8_t> pixels;
};

/// The bytes of a PNG file. The same image gives the same bytes (no time stamp).
std::string encode_png(const Image& image);

}  // namespace ltr::doors
