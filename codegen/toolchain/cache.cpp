#include <openssl/evp.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "codegen/toolchain/toolchain.h"

namespace ltr::toolchain {

namespace {

std::optional<std::string> read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return file.bad() ? std::nullopt : std::optional(std::move(content));
}

}  // namespace

std::string digest(const std::string& text) {
  std::array<unsigned char, 32> bytes{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), bytes.data(), &size, EVP_sha256(), nullptr);
  static const char* kHex = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += kHex[byte >> 4U];
    hex += kHex[byte & 15U];
  }
  return hex;
}

fs::path cache_folder() {
  if (const char* given = std::getenv("LTR_CACHE_DIR"); given != nullptr && *given != '\0') return given;
  if (const char* given = std::getenv("XDG_CACHE_HOME"); given != nullptr && *given != '\0')
    return fs::path(given) / "ltr";
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr && *home != '\0' ? home : "/tmp") / ".cache" / "ltr";
}

std::string build_key(const std::string& sources_hash, const Installation& installation,
                      const CompileOptions& options) {
  std::string text = sources_hash;
  const auto add_identity = [&](const fs::path& file) {
    // Size and time stand for the content: hashing the runtime would cost more than the build.
    std::error_code error;
    const auto size = fs::file_size(file, error);
    const auto time = fs::last_write_time(file, error).time_since_epoch().count();
    text += "|" + file.string() + ":" + std::to_string(size) + ":" + std::to_string(time);
  };
  add_identity(installation.ltrc);
  add_identity(installation.library / "libltr_runtime.so");
  const char* compiler = std::getenv("CXX");
  text += "|" + std::string(compiler != nullptr ? compiler : "c++");
  text += options.debug ? "|g" : "|O" + options.optimization.value_or("");
  return digest(text).substr(0, 24);
}

std::optional<fs::path> find_cached(const std::string& key, const std::string& name) {
  const fs::path program = cache_folder() / "programs" / key / name;
  const auto content = read_file(program);
  const auto sum = read_file(program.string() + kSumSuffix);
  if (!content || !sum || digest(*content) != *sum) return std::nullopt;
  return program;
}

bool write_sum(const fs::path& program) {
  const auto content = read_file(program);
  std::ofstream file(program.string() + kSumSuffix, std::ios::binary);
  if (content) file << digest(*content);
  return content && file.flush();
}

}  // namespace ltr::toolchain
