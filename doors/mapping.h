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

 private:
  void* bytes_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace ltr::doors
