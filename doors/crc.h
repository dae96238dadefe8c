#pragma once

// CRC-32C (Castagnoli), as event files and TFRecord use it.

#include <cstddef>
#include <cstdint>

namespace ltr::doors {

uint32_t crc32c(const void* data, size_t bytes);
/// TensorFlow's masked form, so that a CRC of data that holds CRCs stays useful.
uint32_t masked_crc32c(const void* data, size_t bytes);

}  // namespace ltr::doors
