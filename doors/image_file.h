#pragma once

// Decodes image files: JPEG and PNG, 8 bits a channel, EXIF orientation applied, opacity and gamma left alone, as Pillow and
// torchvision do.

#include <string>
#include <string_view>

#include "doors/png.h"

namespace ltr::doors {

/// `channels`: 1 grey or 3 RGB, converted if the file has others. FormatError for what is damaged, cut off or beyond
/// limits.h.
Image read_image(const std::string& path, int64_t channels);
/// The same for the bytes of a file; `name` is for messages.
Image decode_image(std::string_view bytes, const std::string& name, int64_t channels);

}  // namespace ltr::doors
