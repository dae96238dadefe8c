#include "doors/crc.h"

#include <array>
#include <cstring>

namespace ltr::doors {

namespace {

/// Eight bytes in one step: table k says what a byte does that has k others behind it.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value & 1) != 0 ? (value >> 1) ^ 0x82F63B78u : value >> 1;
    }
    tables[0][i] = value;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t i = 0; i < 256; ++i) tables[k][i] = tables[0][tables[k - 1][i] & 0xFF] ^ (tables[k - 1][i] >> 8);
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32c(const void* data, size_t bytes) {
  const auto* in = static_cast<const unsigned char*>(data);
  uint32_t crc = ~0u;
  for (; bytes >= 8; in += 8, bytes -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, in, sizeof word);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; bytes > 0; ++in, --bytes) crc = kTables[0][(crc ^ *in) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

uint32_t masked_crc32c(const void* data, size_t bytes) {
  const uint32_t crc = crc32c(data, bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

}  // namespace ltr::doors
