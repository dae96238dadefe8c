#pragma once

// Sound in RIFF WAVE files: integers of 8, 16, 24 and 32 bits, floats of 32 and 64.

#include <cstdint>
#include <string>
#include <vector>

namespace ltr::doors {

struct Wav {
  int64_t rate = 0;  ///< samples of a channel for each second
  int64_t channels = 0;
  std::vector<float> samples;  ///< one channel behind the other; integers as parts of their range, from -1 to 1
};

/// FormatError for damaged files, those larger than limits::kSoundBytes, and for sound that is compressed.
Wav read_wav(const std::string& path);

}  // namespace ltr::doors
