#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ltr::doors {

/// A file as memory. Pages are read when they are touched.
class Mapping {
 public:
  /// std::system_error if it cannot be opened. An empty file has no bytes.
  explicit Mapping(const std::string& path);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  const char* data() const { return static_cast<const char*>(bytes_); }
  uint64_t size() const { return size_; }
  std::string_view text() const { return {data(), size_t(size_)}; }

  /// From here on a page that the file no longer has reads as zeros instead of ending the process with SIGBUS, and `is_cut` says so.
  void watch();
  /// Whether some of what was read was not there: the file was cut off after it was opened. Of a file that is watched.
  bool is_cut() const;

 private:
  struct Watched;
  void* bytes_ = nullptr;
  uint64_t size_ = 0;
  Watched* watched_ = nullptr;
};

}  // namespace ltr::doors
