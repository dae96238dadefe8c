#pragma once

// The exchange of tensors between processes that have a GPU each.

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>

namespace ltr::cuda {

/// NCCL between the `world` processes that meet at `store`; every one of them calls it, with its GPU chosen. A collective
/// that takes longer than `timeout`, or whose other side is gone, ends the process. Nothing is exchanged before the first one.
c10::intrusive_ptr<c10d::Backend> make_nccl_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world,
                                                  std::chrono::milliseconds timeout);

}  // namespace ltr::cuda
