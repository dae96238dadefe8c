#pragma once

// Numbers as bytes: little endian for files of ours, big endian for IDX, varints for protobuf.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace ltr::doors {

static_assert(std::endian::native == std::endian::little, "files are read and written as they lie in memory");

/// Appends the bytes of `value`, lowest first.
template <class T>
void put_le(std::string& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

template <class T>
T get_le(const void* data) {
  T value{};
  std::memcpy(&value, data, sizeof(T));
  return value;
}

inline uint32_t get_be32(const void* data) { return __builtin_bswap32(get_le<uint32_t>(data)); }

/// Seven bits a byte, lowest first.
inline void put_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += char(value | 0x80);
    value >>= 7;
  }
  out += char(value);
}

}  // namespace ltr::doors
