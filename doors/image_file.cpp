#include "doors/image_file.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <jpeglib.h>
// Behind jpeglib.h, whose types it needs.
#include <jerror.h>
#include <png.h>

#include "doors/file.h"
#include "doors/limits.h"

namespace ltr::doors {

namespace {

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

/// Refused before there is memory for it.
void bound_pixels(int64_t width, int64_t height) {
  if (width > 0 && height > limits::kImagePixels / width) {
    throw std::runtime_error(std::to_string(width) + " x " + std::to_string(height) + " pixels, more than " +
                             std::to_string(limits::kImagePixels) + " are not read");
  }
}

/// Decodes one JPEG. libjpeg is C: its errors leave it by longjmp, over nothing but its own frames and ours that hold
/// no C++ objects, and never by an exception.
class Jpeg {
 public:
  Jpeg(std::string_view bytes, int64_t channels) : bytes_(bytes), channels_(channels) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = &failed;
    errors_.emit_message = &warned;
    info_.client_data = this;
    progress_.progress_monitor = &count_scans;
  }
  ~Jpeg() { jpeg_destroy_decompress(&info_); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;

  Image run() {
    if (!read_header()) throw std::runtime_error(reason_);
    bound_pixels(info_.image_width, info_.image_height);
    int orientation = 1;
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      if (marker->marker == JPEG_APP0 + 1) orientation = orientation_in(marker->data, marker->data_length);
    }
    image_ = {int64_t(info_.image_width), int64_t(info_.image_height), channels_, {}};
    image_.pixels.resize(size_t(image_.width * image_.height * channels_));
    if (!read_pixels()) throw std::runtime_error(reason_);
    return upright(std::move(image_), orientation);
  }

 private:
  static Jpeg& self(j_common_ptr info) { return *static_cast<Jpeg*>(info->client_data); }

  [[noreturn]] static void failed(j_common_ptr info) {
    info->err->format_message(info, self(info).reason_);
    std::longjmp(self(info).escape_, 1);
  }
  /// Data that is missing or makes no sense is made up by libjpeg with a warning: here it is an error. What stands
  /// beside the data harms none of it.
  static void warned(j_common_ptr info, int level) {
    const int code = info->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_TOO_MUCH_DATA)
      failed(info);
  }
  static void count_scans(j_common_ptr info) {
    if (info->is_decompressor && self(info).info_.input_scan_number > limits::kJpegScans) {
      std::snprintf(self(info).reason_, sizeof reason_, "more than %d scans", limits::kJpegScans);
      std::longjmp(self(info).escape_, 1);
    }
  }

  bool read_header() {
    if (setjmp(escape_) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    info_.mem->max_memory_to_use = limits::kJpegMemory;
    const void* data = bytes_.data();
    jpeg_mem_src(&info_, static_cast<const unsigned char*>(data), static_cast<unsigned long>(bytes_.size()));
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  bool read_pixels() {
    if (setjmp(escape_) != 0) return false;
    info_.out_color_space = channels_ == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = image_.pixels.data() + size_t(info_.output_scanline) * size_t(image_.width * channels_);
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  std::string_view bytes_;
  int64_t channels_;
  Image image_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf escape_{};
  char reason_[JMSG_LENGTH_MAX] = "";
};

Image decode_png(std::string_view bytes, int64_t channels) {
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> owner(&info, &png_image_free);
  if (png_image_begin_read_from_memory(&info, bytes.data(), bytes.size()) == 0) {
    throw std::runtime_error(info.message);
  }
  bound_pixels(info.width, info.height);
  info.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Image image{int64_t(info.width), int64_t(info.height), channels, {}};
  image.pixels.resize(PNG_IMAGE_SIZE(info));
  const png_color background{0, 0, 0};
  if (png_image_finish_read(&info, &background, image.pixels.data(), 0, nullptr) == 0) {
    throw std::runtime_error(info.message);
  }
  return image;
}

}  // namespace

Image decode_image(std::string_view bytes, const std::string& name, int64_t channels) {
  try {
    if (bytes.starts_with("\xFF\xD8\xFF")) return Jpeg(bytes, channels).run();
    if (bytes.size() > 8 && bytes.substr(1).starts_with("PNG")) return decode_png(bytes, channels);
  } catch (const std::runtime_error& error) {
    throw FormatError(name, 0, error.what());
  }
  throw FormatError(name, 0, "neither JPEG nor PNG");
}

Image read_image(const std::string& path, int64_t channels) {
  return decode_image(read_plain_file(path, limits::kImageBytes), path, channels);
}

}  // namespace ltr::doors
