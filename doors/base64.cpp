#include "doors/base64.h"

#include <algorithm>

#include <openssl/evp.h>

namespace ltr::doors {

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  // OpenSSL takes blanks around the text, and a padding anywhere, for zeros.
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const auto is_digit = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  if (!std::all_of(text.begin(), text.end() - long(padding), is_digit)) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), int(text.size()));
  if (size < 0) return std::nullopt;
  bytes.resize(size_t(size) - padding);
  return bytes;
}

}  // namespace ltr::doors
