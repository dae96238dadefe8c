#pragma once

// What `ltrc data` knows of: data and weights that others publish, with the sum of each file.

#include <cstdint>
#include <string>
#include <vector>

namespace ltr::driver {

/// One file of an entry as it is published.
struct PublishedFile {
  std::string name;
  uint64_t bytes = 0;
  std::string sha256;
  std::vector<std::string> urls;  ///< mirrors, the first to be asked first
  std::string unpack;             ///< "", or "tar" (packed with gzip or not)
};

struct CatalogEntry {
  std::string name;
  std::string kind;  ///< data, weights
  std::string licence;
  std::string home;
  std::string what;
  std::vector<PublishedFile> files;

  uint64_t bytes() const;
};

/// The catalogue of this version, and behind it those of the JSON files `own`; of entries of one name the last one counts.
/// std::runtime_error for a file that is damaged, names a file outside of its folder, or has no sum.
std::vector<CatalogEntry> read_catalog(const std::vector<std::string>& own);

}  // namespace ltr::driver
