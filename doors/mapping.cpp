#include "doors/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace ltr::doors {

/// Addresses whose pages may go. A handler looks through all of them, so they are never deleted, and taken again.
struct Mapping::Watched {
  std::atomic<uintptr_t> begin{0}, end{0};  ///< 0: free
  std::atomic<bool> is_cut{false};
  Watched* next = nullptr;

  static std::atomic<Watched*> first;
  static struct sigaction before;

  static void on_bus(int number, siginfo_t* info, void* context);
};

std::atomic<Mapping::Watched*> Mapping::Watched::first{nullptr};
struct sigaction Mapping::Watched::before{};

void Mapping::Watched::on_bus(int /*number*/, siginfo_t* info, void* /*context*/) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto page_size = uintptr_t(::sysconf(_SC_PAGESIZE));
  for (Watched* one = first.load(); one != nullptr; one = one->next) {
    if (address < one->begin.load() || address >= one->end.load()) continue;
    void* const page = reinterpret_cast<void*>(address / page_size * page_size);
    if (::mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
    one->is_cut.store(true);
    return;
  }
  ::sigaction(SIGBUS, &before, nullptr);  // The same access fails once more, for who was told of it before.
}

void Mapping::watch() {
  if (bytes_ == nullptr || watched_ != nullptr) return;
  static const bool is_handled [[maybe_unused]] = [] {
    struct sigaction action{};
    action.sa_sigaction = Watched::on_bus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &Watched::before) == 0;
  }();
  const auto begin = reinterpret_cast<uintptr_t>(bytes_);
  for (Watched* one = Watched::first.load(); one != nullptr && watched_ == nullptr; one = one->next) {
    uintptr_t free = 0;
    if (one->begin.compare_exchange_strong(free, begin)) watched_ = one;
  }
  if (watched_ == nullptr) {
    watched_ = new Watched;
    watched_->begin = begin;
    watched_->next = Watched::first.load();
    while (!Watched::first.compare_exchange_weak(watched_->next, watched_)) {
    }
  }
  watched_->is_cut = false;
  watched_->end = begin + size_;
}

bool Mapping::is_cut() const { return watched_ != nullptr && watched_->is_cut.load(std::memory_order_relaxed); }

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
    : bytes_(std::exchange(other.bytes_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      watched_(std::exchange(other.watched_, nullptr)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  std::swap(watched_, other.watched_);
  return *this;
}

Mapping::~Mapping() {
  if (watched_ != nullptr) {
    watched_->end = 0;
    watched_->begin = 0;
  }
  if (bytes_ != nullptr) ::munmap(bytes_, size_t(size_));
}

}  // namespace ltr::doors
