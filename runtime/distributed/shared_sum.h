#pragma once

// Sums over ranks of one machine through memory that they share: no copy goes through the kernel, and no second thread takes
// a core from the one that computes. The sum is in the order of the ranks, whatever the parts.

#include <ATen/core/Tensor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/distributed/c10d_ranks.h"

namespace ltr::distributed {

class SharedSum {
 public:
  /// A part has at most `bytes`. Null, on all ranks, where they cannot share so much memory. All ranks call it.
  static std::unique_ptr<SharedSum> make(const C10dRanks& ranks, int64_t bytes);
  ~SharedSum();
  SharedSum(const SharedSum&) = delete;
  SharedSum& operator=(const SharedSum&) = delete;

  /// Gives this rank's part; `done` is called when the sum is in it. All ranks give equal parts in equal order. The part
  /// before the last one that was given may be waited for.
  void give(const at::Tensor& part, std::function<void()> done);
  /// All that was given is summed.
  void finish();

 private:
  struct Header;
  struct Given {
    at::Tensor part;
    std::function<void()> done;
    int64_t number;
  };
  SharedSum(const C10dRanks& ranks, void* memory, size_t bytes, int64_t slot_bytes);
  void sum(Given& given);
  at::Tensor slot(int64_t rank, int64_t number, const at::Tensor& like) const;
  /// Until every rank's counter has come to `number`; R1002 or R1003 if one does not.
  void wait_for(std::atomic<uint32_t> Header::* counter, int64_t number) const;

  const C10dRanks& ranks_;
  char* memory_;
  size_t bytes_;
  int64_t slot_bytes_;
  int64_t given_ = 0;
  std::vector<Given> open_;
};

}  // namespace ltr::distributed
