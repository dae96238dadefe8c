#include "doors/image_file.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include <jpeglib.h>
// Behind jpeglib.h, whose types it needs.
#include <jerror.h>
#include <png.h>

#include "doors/file.h"
#include "doors/limits.h"

namespace ltr::doors {

namespace {

/// The orientation (1 to 8) that EXIF says, 1 if it says none.
int orientation_in(const unsigned char* tiff, size_t length) {
  if (length < 8) return 1;
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

/// `image` in grey or in colour, as in Rec. 601: 299/1000 R + 587/1000 G + 114/1000 B, rounded.
Image with_channels(Image image, int64_t channels) {
  if (image.channels == channels) return image;
  Image out{image.width, image.height, channels, {}};
  out.pixels.resize(size_t(image.width * image.height * channels));
  const uint8_t* from = image.pixels.data();
  if (channels == 1) {
    for (uint8_t& grey : out.pixels) {
      grey = uint8_t((from[0] * 19595 + from[1] * 38470 + from[2] * 7471 + 0x8000) >> 16);
      from += 3;
    }
  } else {
    for (size_t i = 0; i < out.pixels.size(); ++i) out.pixels[i] = from[i / 3];
  }
  return out;
}

/// From four inks, which JPEG files hold inverted, to RGB.
Image without_inks(const Image& inks) {
  Image out{inks.width, inks.height, 3, {}};
  out.pixels.reserve(inks.pixels.size() / 4 * 3);
  for (size_t i = 0; i < inks.pixels.size(); i += 4) {
    const int white = inks.pixels[i + 3];
    for (size_t ink = 0; ink < 3; ++ink)
      out.pixels.push_back(uint8_t(white - ((255 - inks.pixels[i + ink]) * white + 127) / 255));
  }
  return out;
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
      constexpr size_t kName = 6;  // of what an APP1 marker holds
      if (marker->marker == JPEG_APP0 + 1 && marker->data_length > kName &&
          std::memcmp(marker->data, "Exif\0\0", kName) == 0)
        orientation = orientation_in(marker->data + kName, marker->data_length - kName);
    }
    const bool has_inks = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = has_inks ? JCS_CMYK : channels_ == 1 ? JCS_GRAYSCALE : JCS_RGB;
    image_ = {int64_t(info_.image_width), int64_t(info_.image_height), has_inks ? 4 : channels_, {}};
    image_.pixels.resize(size_t(image_.width * image_.height * image_.channels));
    if (!read_pixels()) throw std::runtime_error(reason_);
    if (has_inks) image_ = with_channels(without_inks(image_), channels_);
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
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = image_.pixels.data() + size_t(info_.output_scanline) * size_t(image_.width * image_.channels);
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

/// Decodes one PNG. Values are those of the file: 16 bits become 8 by their ratio, and nothing is done about gamma and opacity. As in
/// libjpeg, errors leave libpng by longjmp.
class Png {
 public:
  Png(std::string_view bytes, int64_t channels)
      : bytes_(bytes),
        channels_(channels),
        png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &failed, &warned)),
        info_(png_ == nullptr ? nullptr : png_create_info_struct(png_)) {
    if (info_ == nullptr) throw std::bad_alloc();
  }
  ~Png() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  Image run() {
    if (!read_header()) throw std::runtime_error(reason_);
    const int64_t width = png_get_image_width(png_, info_), height = png_get_image_height(png_, info_);
    bound_pixels(width, height);
    const bool is_grey = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) == 0;
    image_ = {width, height, is_grey ? 1 : 3, {}};
    image_.pixels.resize(size_t(width * height * image_.channels));
    png_uint_32 length = 0;
    png_bytep exif = nullptr;
    png_get_eXIf_1(png_, info_, &length, &exif);
    const int orientation = exif == nullptr ? 1 : orientation_in(exif, length);
    if (!read_pixels()) throw std::runtime_error(reason_);
    return upright(with_channels(std::move(image_), channels_), orientation);
  }

 private:
  [[noreturn]] static void failed(png_structp png, png_const_charp reason) {
    Png& self = *static_cast<Png*>(png_get_error_ptr(png));
    std::snprintf(self.reason_, sizeof self.reason_, "%s", reason);
    std::longjmp(self.escape_, 1);
  }
  /// What stands beside the pixels harms none of them.
  static void warned(png_structp /*png*/, png_const_charp /*reason*/) {}
  static void read(png_structp png, png_bytep to, size_t size) {
    Png& self = *static_cast<Png*>(png_get_io_ptr(png));
    if (size > self.bytes_.size() - self.at_) png_error(png, "read beyond end of data");
    std::memcpy(to, self.bytes_.data() + self.at_, size);
    self.at_ += size;
  }

  bool read_header() {
    if (setjmp(escape_) != 0) return false;
    png_set_read_fn(png_, this, &read);
    png_read_info(png_, info_);
    return true;
  }

  bool read_pixels() {
    if (setjmp(escape_) != 0) return false;
    png_set_scale_16(png_);
    png_set_expand(png_);
    png_set_strip_alpha(png_);
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    const auto stride = size_t(image_.width * image_.channels);
    if (png_get_rowbytes(png_, info_) != stride) png_error(png_, "rows of another length");
    for (int pass = 0; pass < passes; ++pass) {
      for (int64_t y = 0; y < image_.height; ++y)
        png_read_row(png_, image_.pixels.data() + size_t(y) * stride, nullptr);
    }
    return true;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  int64_t channels_;
  Image image_;
  std::jmp_buf escape_{};
  char reason_[256] = "";
  png_structp png_;
  png_infop info_;
};

}  // namespace

Image decode_image(std::string_view bytes, const std::string& name, int64_t channels) {
  try {
    if (bytes.starts_with("\xFF\xD8\xFF")) return Jpeg(bytes, channels).run();
    if (bytes.size() > 8 && bytes.substr(1).starts_with("PNG")) return Png(bytes, channels).run();
  } catch (const std::runtime_error& error) {
    throw FormatError(name, 0, error.what());
  }
  throw FormatError(name, 0, "neither JPEG nor PNG");
}

Image read_image(const std::string& path, int64_t channels) {
  return decode_image(read_plain_file(path, limits::kImageBytes), path, channels);
}

}  // namespace ltr::doors
