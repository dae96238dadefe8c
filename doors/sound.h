#pragma once

// Sound in files: RIFF WAVE with integers of 8, 16, 24 and 32 bits or floats of 32 and 64, and FLAC.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ltr::doors {

struct Sound {
  int64_t rate = 0;  ///< samples of a channel for each second
  int64_t channels = 0;
  std::vector<float> samples;  ///< one channel behind the other; integers as parts of their range, from -1 to 1
};

/// FormatError for damaged files, those larger than limits::kSoundBytes, and for sound that is neither.
Sound read_sound(const std::string& path);
/// The same of the bytes of a file; `name` is for messages.
Sound decode_sound(std::string_view bytes, const std::string& name);

// The two forms.
Sound decode_wav(std::string_view bytes, const std::string& name);
Sound decode_flac(std::string_view bytes, const std::string& name);

}  // namespace ltr::doors
