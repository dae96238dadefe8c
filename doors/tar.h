#pragma once

// Tar archives: ustar, GNU tar's long names, pax.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ltr::doors {

struct TarEntry {
  std::string name;
  uint64_t offset = 0;  ///< of its bytes in the archive
  uint64_t size = 0;
};

/// The files in an archive, in its order; folders and links are passed over. FormatError for what is no archive, is cut off, or
/// has a header whose sum is wrong; `path` is for messages.
std::vector<TarEntry> read_tar(std::string_view archive, const std::string& path);

/// The name of a file as WebDataset takes it: `a/b.seg.png` is `seg_png` of the sample `a/b`. What belongs to no sample, such as
/// notes of file systems, has no ending.
std::pair<std::string, std::string> sample_parts(const std::string& name);

}  // namespace ltr::doors
