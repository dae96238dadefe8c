#include "doors/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>
#include <utility>

namespace ltr::doors {

Mapping::Mapping(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts{};
  const auto fail = [&](int reason) {
    if (descriptor >= 0) ::close(descriptor);
    throw std::system_error(reason, std::generic_category(), path);
  };
  if (descriptor < 0 || ::fstat(descriptor, &facts) != 0) fail(errno);
  if (!S_ISREG(facts.st_mode)) fail(S_ISDIR(facts.st_mode) ? EISDIR : EINVAL);
  if (facts.st_size > 0) {
    void* const bytes = ::mmap(nullptr, size_t(facts.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED) fail(errno);
    bytes_ = bytes;
    size_ = uint64_t(facts.st_size);
  }
  ::close(descriptor);
}

Mapping::Mapping(Mapping&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (bytes_ != nullptr) ::munmap(bytes_, size_t(size_));
}

}  // namespace ltr::doors
