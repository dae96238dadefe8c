#include <algorithm>
#include <optional>
#include <string_view>

#include "doors/bytes.h"
#include "doors/file.h"
#include "doors/limits.h"
#include "doors/sound.h"

namespace ltr::doors {

namespace {

constexpr uint16_t kIntegers = 1;
constexpr uint16_t kFloats = 3;
constexpr uint16_t kExtensible = 0xFFFE;  // What it is stands further down in the chunk.

/// How samples are stored.
struct Form {
  uint16_t kind = 0;
  uint16_t channels = 0;
  uint32_t rate = 0;
  uint16_t bits = 0;

  bool is_known() const {
    if (kind == kFloats) return bits == 32 || bits == 64;
    return kind == kIntegers && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
  }
};

/// A number as a part of its range. 8 bits count from 0 to 255, all others from below 0.
float sample_at(const char* at, const Form& form) {
  if (form.kind == kFloats) return form.bits == 32 ? get_le<float>(at) : float(get_le<double>(at));
  switch (form.bits) {
    case 8: return (float(uint8_t(*at)) - 128) / 128;
    case 16: return float(get_le<int16_t>(at)) / 32768;
    case 24: {
      const auto low = uint32_t(get_le<uint16_t>(at));
      const auto high = uint32_t(uint8_t(at[2]));
      return float(int32_t((high << 24) | (low << 8)) >> 8) / 8388608;
    }
    default: return float(double(get_le<int32_t>(at)) / 2147483648.0);
  }
}

}  // namespace

Sound decode_wav(std::string_view text, const std::string& path) {
  std::optional<Form> form;
  for (size_t at = 12; text.size() - at >= 8;) {
    const std::string_view name = text.substr(at, 4);
    const size_t length = get_le<uint32_t>(text.data() + at + 4);
    const size_t body = at + 8;
    if (length > text.size() - body) throw FormatError(path, text.size(), "the file ends early");
    if (name == "fmt ") {
      if (length < 16) throw FormatError(path, body, "the format ends early");
      const char* data = text.data() + body;
      form = Form{get_le<uint16_t>(data), get_le<uint16_t>(data + 2), get_le<uint32_t>(data + 4),
                  get_le<uint16_t>(data + 14)};
      if (form->kind == kExtensible && length >= 26) form->kind = get_le<uint16_t>(data + 24);
      if (form->channels == 0 || form->rate == 0) throw FormatError(path, body, "no channels, or no rate");
      if (!form->is_known())
        throw FormatError(path, body,
                          "samples of this kind are not supported: integers of 8, 16, 24 or 32 bits, or floats, are");
    } else if (name == "data") {
      if (!form) throw FormatError(path, body, "the samples stand in front of their format");
      const size_t width = form->bits / 8;
      const size_t channels = form->channels;
      if (length % (width * channels) != 0) throw FormatError(path, text.size(), "the last sample is cut off");
      const size_t frames = length / (width * channels);
      Sound wav{int64_t(form->rate), int64_t(channels), std::vector<float>(frames * channels)};
      for (size_t frame = 0; frame < frames; ++frame) {
        for (size_t channel = 0; channel < channels; ++channel)
          wav.samples[channel * frames + frame] =
              sample_at(text.data() + body + (frame * channels + channel) * width, *form);
      }
      return wav;
    }
    at = std::min(text.size(), body + length + length % 2);
  }
  throw FormatError(path, text.size(), "the file has no samples");
}

}  // namespace ltr::doors
