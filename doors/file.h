#pragma once

// Whole files, unpacked when they are gzip; and the error of all readers.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ltr::doors {

/// A file that is not what it should be: byte offset and reason.
struct FormatError : std::runtime_error {
  FormatError(const std::string& path, uint64_t offset, const std::string& reason);
  /// "at byte 7: REASON"; of the first byte the reason alone, since that is about the file as a whole.
  static std::string placed(uint64_t offset, const std::string& reason);
  std::string placed() const { return placed(offset, reason); }
  uint64_t offset;
  std::string reason;
};

/// All bytes of `path`; gzip is unpacked. Throws std::system_error, or FormatError for damaged gzip and for what is
/// larger than limits.h allows.
std::string read_file(const std::string& path);
/// The same without unpacking, at most `limit` bytes, from byte `from` on.
std::string read_plain_file(const std::string& path, uint64_t limit, uint64_t from = 0);

/// Replaces `path` in one step: temporary file beside it, fsync, rename. Throws std::system_error.
void write_file_atomically(const std::string& path, std::string_view text);

/// Writes all of `text` to the open file `file`, and waits where another process made a pipe non-blocking. 0, or the
/// errno of what went wrong.
int write_all(int file, std::string_view text);

}  // namespace ltr::doors
