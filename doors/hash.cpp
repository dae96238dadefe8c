#include "doors/hash.h"

#include <cstdio>
#include <vector>

#include <openssl/evp.h>

namespace ltr::doors {

namespace {

EVP_MD_CTX* context_of(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context_of(context_), EVP_sha256(), nullptr); }

Sha256::~Sha256() { EVP_MD_CTX_free(context_of(context_)); }

void Sha256::update(const void* data, size_t bytes) { EVP_DigestUpdate(context_of(context_), data, bytes); }

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context_of(context_), digest.data(), &length);
  std::string text;
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view data) {
  Sha256 hash;
  hash.update(data.data(), data.size());
  return hash.hex();
}

std::string sha256_file(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return "";
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    hash.update(buffer.data(), count);
  }
  return std::ferror(file.get()) != 0 ? "" : hash.hex();
}

}  // namespace ltr::doors
