#include "doors/sound.h"

#include "doors/file.h"
#include "doors/limits.h"

namespace ltr::doors {

Sound read_sound(const std::string& path) { return decode_sound(read_plain_file(path, limits::kSoundBytes), path); }

Sound decode_sound(std::string_view bytes, const std::string& name) {
  if (bytes.starts_with("fLaC")) return decode_flac(bytes, name);
  if (bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WAVE") return decode_wav(bytes, name);
  throw FormatError(name, 0, "neither a WAVE nor a FLAC file");
}

}  // namespace ltr::doors
