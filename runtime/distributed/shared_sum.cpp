#include "runtime/distributed/shared_sum.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

namespace ltr::distributed {

/// What a rank says, in a cache line of its own.
struct alignas(64) SharedSum::Header {
  std::atomic<uint32_t> given{0};   ///< parts that lie in its slots
  std::atomic<uint32_t> summed{0};  ///< parts whose piece it has summed
  std::atomic<uint32_t> taken{0};   ///< parts that it has taken back
};

namespace {

/// While one part is summed the next may be given.
constexpr int64_t kSlots = 2;
/// A rank that computes on a core of its own comes within this many looks, mostly.
constexpr int kLooks = 2000;

size_t page_whole(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

void sleep_on(const std::atomic<uint32_t>& counter, uint32_t seen) {
  const timespec short_while{0, 50'000'000};
  syscall(SYS_futex, &counter, FUTEX_WAIT, seen, &short_while, nullptr, 0);
}

void announce(std::atomic<uint32_t>& counter, int64_t number) {
  counter.store(uint32_t(number), std::memory_order_release);
  syscall(SYS_futex, &counter, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

/// The file of `bytes` that all ranks map; null if it cannot be. The first rank makes it, and takes its name away when all
/// have it.
void* map(const C10dRanks& ranks, size_t bytes) {
  const Str own = ranks.is_first() ? fmt::format("/ltr-{}-{}", ::getpid(),
                                                 std::chrono::steady_clock::now().time_since_epoch().count())
                                   : "";
  int file = -1;
  if (ranks.is_first()) {
    file = ::shm_open(own.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    // Memory that is promised and not there would end the process when it is written.
    if (file >= 0 && ::posix_fallocate(file, 0, off_t(bytes)) != 0) {
      ::shm_unlink(own.c_str());
      ::close(file);
      file = -1;
    }
  }
  // Whoever is lost meanwhile, the name goes.
  const std::unique_ptr<const Str, void (*)(const Str*)> unlink(file >= 0 && ranks.is_first() ? &own : nullptr,
                                                                [](const Str* made) { ::shm_unlink(made->c_str()); });
  const Str name = ranks.of_first(file >= 0 ? own : "");
  if (name.empty()) return nullptr;
  if (!ranks.is_first()) file = ::shm_open(name.c_str(), O_RDWR, 0600);
  void* memory = file >= 0 ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (file >= 0) ::close(file);
  double has_it = memory == MAP_FAILED ? 0 : 1;
  ranks.least({&has_it, 1});
  if (has_it == 0 && memory != MAP_FAILED) ::munmap(memory, bytes);
  return has_it == 0 ? nullptr : memory;
}

}  // namespace

std::unique_ptr<SharedSum> SharedSum::make(const C10dRanks& ranks, int64_t bytes) {
  const auto slot_bytes = int64_t(page_whole(size_t(bytes)));
  // A slot of each rank, and one for the sum, twice; the counters come first.
  const size_t all =
      page_whole(size_t(ranks.world()) * sizeof(Header)) + size_t(kSlots * (ranks.world() + 1) * slot_bytes);
  void* memory = map(ranks, all);
  return memory == nullptr ? nullptr : std::unique_ptr<SharedSum>(new SharedSum(ranks, memory, all, slot_bytes));
}

SharedSum::SharedSum(const C10dRanks& ranks, void* memory, size_t bytes, int64_t slot_bytes)
    : ranks_(ranks), memory_(static_cast<char*>(memory)), bytes_(bytes), slot_bytes_(slot_bytes) {}

SharedSum::~SharedSum() { ::munmap(memory_, bytes_); }

at::Tensor SharedSum::slot(int64_t rank, int64_t number, const at::Tensor& like) const {
  char* slots = memory_ + page_whole(size_t(ranks_.world()) * sizeof(Header));
  char* data = slots + (rank * kSlots + number % kSlots) * slot_bytes_;
  return at::from_blob(data, {like.numel()}, like.options().requires_grad(false));
}

void SharedSum::wait_for(std::atomic<uint32_t> Header::* counter, int64_t number) const {
  const auto* headers = reinterpret_cast<const Header*>(memory_);
  for (int64_t rank = 0; rank < ranks_.world(); rank++) {
    const std::atomic<uint32_t>& its = headers[rank].*counter;
    const Waiting waiting(ranks_);
    for (int looks = 0;; looks++) {
      const uint32_t seen = its.load(std::memory_order_acquire);
      if (int32_t(seen - uint32_t(number)) >= 0) break;
      if (looks < kLooks) continue;
      sleep_on(its, seen);
      waiting.check();
    }
  }
}

void SharedSum::give(const at::Tensor& part, std::function<void()> done) {
  auto& own = reinterpret_cast<Header*>(memory_)[ranks_.rank()];
  const int64_t number = ++given_;
  // The slot's part before this one is done with.
  while (!open_.empty() && open_.front().number <= number - kSlots) {
    sum(open_.front());
    open_.erase(open_.begin());
  }
  wait_for(&Header::taken, number - kSlots);
  slot(ranks_.rank(), number, part).copy_(part);
  announce(own.given, number);
  open_.push_back({part, std::move(done), number});
}

void SharedSum::finish() {
  for (Given& given : open_) sum(given);
  open_.clear();
}

void SharedSum::sum(Given& given) {
  const int64_t world = ranks_.world(), rank = ranks_.rank();
  auto& own = reinterpret_cast<Header*>(memory_)[rank];
  // Each rank sums a piece of the part.
  const int64_t elements = given.part.numel(), piece = (elements + world - 1) / world;
  const int64_t begin = std::min(rank * piece, elements), length = std::min(piece, elements - begin);
  wait_for(&Header::given, given.number);
  at::Tensor result = slot(world, given.number, given.part);
  if (length > 0) {
    at::Tensor of_piece = result.narrow(0, begin, length);
    const auto of_rank = [&](int64_t one) { return slot(one, given.number, given.part).narrow(0, begin, length); };
    at::add_out(of_piece, of_rank(0), of_rank(1));
    for (int64_t one = 2; one < world; one++) of_piece.add_(of_rank(one));
  }
  announce(own.summed, given.number);
  wait_for(&Header::summed, given.number);
  given.part.copy_(result.view_as(given.part));
  announce(own.taken, given.number);
  given.done();
}

}  // namespace ltr::distributed
