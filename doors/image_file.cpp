#include "doors/image_file.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include <jpeglib.h>
#include <png.h>

#include "doors/file.h"

namespace ltr::doors {

namespace {

[[noreturn]] void jpeg_failed(j_common_ptr info) {
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  throw std::runtime_error(text);
}

void jpeg_quiet(j_common_ptr, int) {}

/// The EXIF orientation (1 to 8) in an APP1 marker, 1 if there is none.
int orientation_in(const unsigned char* data, size_t size) {
  if (size < 14 || std::memcmp(data, "Exif\0\0", 6) != 0) return 1;
  const unsigned char* tiff = data + 6;
  const size_t length = size - 6;
  const bool is_big = tiff[0] == 'M';
  const auto u16 = [&](size_t at) {
    if (at + 2 > length) return 0;
    return is_big ? tiff[at] << 8 | tiff[at + 1] : tiff[at + 1] << 8 | tiff[at];
  };
  const auto directory = size_t(is_big ? u16(6) : u16(4));
  const int entries = u16(directory);
  for (int i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * size_t(i);
    if (u16(entry) == 0x0112) {
      const int value = u16(entry + 8);
      return value >= 1 && value <= 8 ? value : 1;
    }
  }
  return 1;
}

/// Turns and mirrors `image` so that it stands as EXIF `orientation` says.
Image upright(Image image, int orientation) {
  if (orientation == 1) return image;
  const bool is_transposed = orientation >= 5;
  Image out = image;
  if (is_transposed) std::swap(out.width, out.height);
  for (int64_t y = 0; y < out.height; ++y) {
    for (int64_t x = 0; x < out.width; ++x) {
      int64_t from_x = is_transposed ? y : x;
      int64_t from_y = is_transposed ? x : y;
      if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) {
        from_x = image.width - 1 - from_x;
      }
      if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {
        from_y = image.height - 1 - from_y;
      }
      std::memcpy(&out.pixels[size_t((y * out.width + x) * image.channels)],
                  &image.pixels[size_t((from_y * image.width + from_x) * image.channels)], size_t(image.channels));
    }
  }
  return out;
}

Image decode_jpeg(const std::string& bytes, int64_t channels) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = &jpeg_failed;
  errors.emit_message = &jpeg_quiet;
  jpeg_create_decompress(&info);
  try {
    const auto* data = static_cast<const unsigned char*>(static_cast<const void*>(bytes.data()));
    jpeg_mem_src(&info, data, static_cast<unsigned long>(bytes.size()));
    jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&info, TRUE);
    int orientation = 1;
    for (const jpeg_marker_struct* marker = info.marker_list; marker != nullptr; marker = marker->next) {
      if (marker->marker == JPEG_APP0 + 1) orientation = orientation_in(marker->data, marker->data_length);
    }
    info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&info);
    Image image{int64_t(info.output_width), int64_t(info.output_height), channels, {}};
    image.pixels.resize(size_t(image.width * image.height * channels));
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = image.pixels.data() + size_t(info.output_scanline) * size_t(image.width * channels);
      jpeg_read_scanlines(&info, &row, 1);
    }
    if (errors.num_warnings > 0) throw std::runtime_error("the image data is damaged or ends early");
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
    return upright(std::move(image), orientation);
  } catch (...) {
    jpeg_destroy_decompress(&info);
    throw;
  }
}

Image decode_png(const std::string& bytes, int64_t channels) {
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&info, bytes.data(), bytes.size()) == 0) {
    throw std::runtime_error(info.message);
  }
  info.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Image image{int64_t(info.width), int64_t(info.height), channels, {}};
  image.pixels.resize(PNG_IMAGE_SIZE(info));
  png_color background{0, 0, 0};
  if (png_image_finish_read(&info, &background, image.pixels.data(), 0, nullptr) == 0) {
    throw std::runtime_error(info.message);
  }
  return image;
}

}  // namespace

Image decode_image(const std::string& bytes, const std::string& name, int64_t channels) {
  try {
    if (bytes.size() > 3 && bytes.compare(0, 3, "\xFF\xD8\xFF") == 0) return decode_jpeg(bytes, channels);
    if (bytes.size() > 8 && bytes.compare(1, 3, "PNG") == 0) return decode_png(bytes, channels);
  } catch (const std::runtime_error& error) {
    throw FormatError(name, 0, error.what());
  }
  throw FormatError(name, 0, "neither JPEG nor PNG");
}

Image read_image(const std::string& path, int64_t channels) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::system_error(errno, std::generic_category(), path);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return decode_image(bytes, path, channels);
}

}  // namespace ltr::doors
