#include "doors/png.h"

#include <csetjmp>
#include <stdexcept>

#include <png.h>

namespace ltr::doors {

namespace {

void append(png_structp png, png_bytep data, png_size_t size) {
  auto* out = static_cast<std::string*>(png_get_io_ptr(png));
  out->append(static_cast<const char*>(static_cast<const void*>(data)), size);
}

void flush_nothing(png_structp) {}

int color_type(int64_t channels) {
  switch (channels) {
    case 1: return PNG_COLOR_TYPE_GRAY;
    case 2: return PNG_COLOR_TYPE_GRAY_ALPHA;
    case 3: return PNG_COLOR_TYPE_RGB;
    default: return PNG_COLOR_TYPE_RGB_ALPHA;
  }
}

[[noreturn]] void fail(png_structp, png_const_charp message) {
  throw std::runtime_error(std::string("PNG: ") + message);
}

}  // namespace

std::string encode_png(const Image& image) {
  if (image.channels < 1 || image.channels > 4 || image.width < 1 || image.height < 1 ||
      int64_t(image.pixels.size()) != image.width * image.height * image.channels) {
    throw std::runtime_error("PNG: sizes and pixels differ");
  }
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, &fail, nullptr);
  png_infop info = png_create_info_struct(png);
  try {
    png_set_write_fn(png, &out, &append, &flush_nothing);
    png_set_IHDR(png, info, png_uint_32(image.width), png_uint_32(image.height), 8, color_type(image.channels),
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    const size_t row_bytes = size_t(image.width * image.channels);
    for (int64_t y = 0; y < image.height; ++y) {
      png_write_row(png, image.pixels.data() + size_t(y) * row_bytes);
    }
    png_write_end(png, info);
  } catch (...) {
    png_destroy_write_struct(&png, &info);
    throw;
  }
  png_destroy_write_struct(&png, &info);
  return out;
}

}  // namespace ltr::doors
