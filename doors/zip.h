#pragma once

// Zip archives: PyTorch's, whose entries are stored, and NumPy's, which may be compressed; zip64 is read.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/mapping.h"

namespace ltr::doors {

struct ZipEntry {
  std::string name;
  uint64_t offset = 0;  ///< of its bytes in the file
  uint64_t size = 0;
  uint64_t stored = 0;  ///< bytes in the file: `size`, unless it is compressed
  uint32_t crc = 0;     ///< CRC-32 of its bytes; 0 where the writer computed none
  bool is_compressed = false;
};

/// The entries of an archive in the order of its directory. FormatError if it has no directory, or
/// one that names places beyond the file.
std::vector<ZipEntry> read_zip(const std::string& path, const Mapping& file);

/// The bytes of `entry`, unpacked. FormatError for what is no deflate, for more of them than limits.h allows, and for bytes
/// that are not those that were written.
std::string unpacked(const std::string& path, const Mapping& file, const ZipEntry& entry);

/// Bytes that `encode_zip` takes at most, of all entries together.
inline constexpr uint64_t kZipBytes = uint64_t(0xFFFFFFFF) - (1 << 20);
/// The bytes of an archive of stored entries, each a name and its bytes, without times: equal entries give equal bytes. No zip64:
/// std::length_error beyond `kZipBytes` or 65,534 entries.
std::string encode_zip(const std::vector<std::pair<std::string, std::string>>& entries);

/// Whether the bytes of a stored entry are those that were written. Of one without a CRC nothing is known: true.
bool has_its_crc(const Mapping& file, const ZipEntry& entry);

}  // namespace ltr::doors
