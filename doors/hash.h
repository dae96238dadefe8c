#pragma once

// SHA-256, through libcrypto.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ltr::doors {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(const void* data, size_t bytes);
  /// Lower-case hex; ends the hash.
  std::string hex();

 private:
  void* context_;
};

std::string sha256_hex(std::string_view data);
/// Of a whole file; empty if it cannot be read.
std::string sha256_file(const std::string& path);

}  // namespace ltr::doors
