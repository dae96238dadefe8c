#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "doors/memory.h"
#include "ltrc/plan.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define LTR_WIDEST __attribute__((target_clones("avx512f", "fma", "default"), optimize("O3")))
#else
#define LTR_WIDEST
#endif

namespace ltr::driver {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Sixteen numbers at once, in whatever registers there are.
using Lanes = float __attribute__((vector_size(64)));

constexpr int kSums = 8;
constexpr int64_t kRounds = 1'000'000;

/// Multiply-adds on as many independent sums as keep the units of a core busy; their total, so that they are not left
/// out.
LTR_WIDEST float multiply_add(float factor) {
  Lanes sums[kSums] = {};
  const Lanes factors = Lanes{} + factor;
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * factors + factors;
  }
  float total = 0;
  for (const Lanes& sum : sums) total += sum[0];
  return total;
}

/// The best of several, as other programs only take time away.
double measure_flops() {
  double best_s = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const float total = multiply_add(0.5f);
    if (total > 0) best_s = std::min(best_s, seconds_since(start));
  }
  return 2.0 * kSums * (sizeof(Lanes) / sizeof(float)) * double(kRounds) / best_s;
}

/// Operations a second that wait for each other, as those of a loop without vectors do.
double measure_scalar_rate() {
  constexpr uint64_t kOperations = 20'000'000;
  double best_s = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t operation = 0, value = kOperations; operation < kOperations; ++operation) {
      value ^= operation;
      asm volatile("" : "+r"(value));
    }
    best_s = std::min(best_s, seconds_since(start));
  }
  return double(kOperations) / best_s;
}

constexpr size_t kInMemory = size_t(64) << 20;  ///< fits in no cache, mostly

/// Bytes a second, read and written, that one of `threads` copies while all do: `bytes` at a time.
double measure_bandwidth(int64_t threads, size_t bytes) {
  constexpr int kTimes = 4;
  const size_t copies = std::max<size_t>(kInMemory / bytes, 1);
  std::atomic<int64_t> ready{0};
  std::atomic<double> slowest_s{0};
  const auto copy = [&] {
    std::vector<char> from(bytes, 1), to(bytes, 0);
    ++ready;
    while (ready < threads) std::this_thread::yield();
    double best_s = 1e9;
    for (int time = 0; time < kTimes; ++time) {
      const auto start = std::chrono::steady_clock::now();
      for (size_t i = 0; i < copies; ++i) {
        std::memcpy(to.data(), from.data(), bytes);
        asm volatile("" : : "r"(to.data()) : "memory");
      }
      best_s = std::min(best_s, seconds_since(start));
    }
    double seen = slowest_s;
    while (seen < best_s && !slowest_s.compare_exchange_weak(seen, best_s)) {
    }
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads; ++i) others.emplace_back(copy);
  copy();
  for (std::thread& other : others) other.join();
  return 2.0 * double(bytes * copies) / slowest_s;
}

/// Of the caches that the first core sees, the largest; 0 where the system does not say.
double last_cache_bytes() {
  double largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    double size = 0;
    char unit = 'K';
    if (!(file >> size >> unit)) continue;
    largest = std::max(largest, size * (unit == 'M' ? 1024 * 1024 : 1024));
  }
  return largest;
}

bool send_all(int socket, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= size_t(sent);
  }
  return true;
}

bool receive_all(int socket, char* data, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(socket, data, size, 0);
    if (got <= 0) return false;
    data += got;
    size -= size_t(got);
  }
  return true;
}

/// A TCP connection of this machine with itself, both ends; -1 where there is none to be had.
struct Loopback {
  int ends[2] = {-1, -1};

  Loopback() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (listener >= 0 && bind(listener, plain, size) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, plain, &size) == 0) {
      ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(ends[0], plain, size) == 0) ends[1] = accept(listener, nullptr, nullptr);
    }
    if (listener >= 0) close(listener);
    const int on = 1;
    for (const int end : ends) {
      if (end >= 0) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
  }
  ~Loopback() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;
};

elaborate::Link not_measured(elaborate::Link link) {
  link.source += "; not measured here";
  return link;
}

/// Small messages there and back, then a large one there; the table's values where there is no connection.
elaborate::Link measure_link(const elaborate::Link& otherwise) {
  constexpr int kTrips = 500;
  constexpr size_t kBytes = size_t(64) << 20;
  Loopback loopback;
  if (loopback.ends[1] < 0) return not_measured(otherwise);
  std::thread other([end = loopback.ends[1]] {
    std::vector<char> data(kBytes);
    for (int trip = 0; trip < kTrips; ++trip) {
      if (!receive_all(end, data.data(), 8) || !send_all(end, data.data(), 8)) return;
    }
    if (receive_all(end, data.data(), kBytes)) send_all(end, data.data(), 1);
  });
  const int end = loopback.ends[0];
  const std::vector<char> data(kBytes, 1);
  char answer[8];
  bool is_well = true;
  auto start = std::chrono::steady_clock::now();
  for (int trip = 0; trip < kTrips && is_well; ++trip)
    is_well = send_all(end, data.data(), 8) && receive_all(end, answer, 8);
  elaborate::Link link{"loopback", "measured", 0, seconds_since(start) / (2 * kTrips)};
  start = std::chrono::steady_clock::now();
  is_well = is_well && send_all(end, data.data(), kBytes) && receive_all(end, answer, 1);
  link.bandwidth = double(kBytes) / seconds_since(start);
  shutdown(end, SHUT_RDWR);
  other.join();
  return is_well ? link : not_measured(otherwise);
}

/// Of bf16 in the time of one of f32.
double products_of_bf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") ? 2 : 1;
#else
  return 1;
#endif
}

}  // namespace

elaborate::Cluster measure_machine() {
  constexpr int64_t kMostThreads = 16;          // A node's memory is busy with fewer.
  constexpr size_t kInCache = size_t(4) << 20;  // Twice, and not in the caches of a core.
  elaborate::Cluster cluster = elaborate::cluster_of_kind("cpu");
  cluster.name = "this machine";
  cluster.cores = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  cluster.memory_bytes = double(doors::own_memory());
  elaborate::Device& device = cluster.device;
  device.source = "measured";
  device.memory_bytes = cluster.memory_bytes;
  const double table_flops = device.f32_flops;
  device.f32_flops = measure_flops();
  // Functions of elements go with the width of vectors and the clock, as products do; their kernels are the runtime's, which is not
  // linked here.
  device.plan_rate *= device.f32_flops / table_flops;
  device.bf16_flops = device.f32_flops * products_of_bf16();
  device.scalar_rate = measure_scalar_rate();
  device.bandwidth = measure_bandwidth(1, kInMemory);
  const int64_t threads = std::min(cluster.cores, kMostThreads);
  cluster.bandwidth = threads == 1 ? device.bandwidth : double(threads) * measure_bandwidth(threads, kInMemory);
  device.cache_bytes = last_cache_bytes();
  device.cache_bandwidth = std::max(device.bandwidth, measure_bandwidth(1, kInCache));
  cluster.within = measure_link(cluster.within);
  cluster.between = not_measured(cluster.between);
  return cluster;
}

}  // namespace ltr::driver
