#include "runtime/distributed/reducer_sum.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "runtime/distributed/c10d_ranks.h"
#include "runtime/distributed/shared_sum.h"

namespace ltr::distributed {

using Steady = std::chrono::steady_clock;

/// When buckets leave and come.
struct ReducerSum::Clock {
  std::mutex mutex;
  int under_way = 0;
  Steady::time_point since;     ///< the first of those left
  Steady::time_point all_left;  ///< the last bucket of the pass left: from here on nothing else is done
  Times times;

  void leaves(bool is_last) {
    const std::lock_guard lock(mutex);
    const Steady::time_point now = Steady::now();
    if (under_way++ == 0) since = now;
    if (is_last) all_left = now;
  }
  void comes() {
    const std::lock_guard lock(mutex);
    if (--under_way == 0) times.exchange_s += std::chrono::duration<double>(Steady::now() - since).count();
  }
  void waited(Steady::time_point since_then) {
    const std::lock_guard lock(mutex);
    times.wait_s += std::chrono::duration<double>(Steady::now() - since_then).count();
  }
};

namespace {

/// Sums a bucket as it is: the shares of the ranks are in the gradients already, so nothing is divided.
template <class Clock>
class SumHook final : public c10d::CommHookInterface {
 public:
  SumHook(const C10dRanks& ranks, at::ScalarType type, std::shared_ptr<Clock> clock, SharedSum* shared)
      : group_(ranks.group()), type_(type), clock_(std::move(clock)), shared_(shared) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    const at::Tensor whole = bucket.getBufferRef();
    const bool is_narrowed = type_ != at::ScalarType::Undefined && type_ != whole.scalar_type();
    std::vector<at::Tensor> sent{is_narrowed ? whole.to(type_) : whole};
    clock_->leaves(bucket.isLast());
    if (shared_ != nullptr) return share(whole, sent.front(), bucket.isLast());
    return group_->allreduce(sent)->getFuture()->then(
        [clock = clock_, sent, whole, is_narrowed](c10::ivalue::Future& done) -> c10::IValue {
          clock->comes();
          if (done.hasError()) std::rethrow_exception(done.exception_ptr());
          if (is_narrowed) whole.copy_(sent.front());
          return whole;
        },
        c10::TensorType::get());
  }
  at::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> share(const at::Tensor& whole, const at::Tensor& sent, bool is_last) {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get());
    const Steady::time_point begin = Steady::now();  // this thread does the sums itself
    shared_->give(sent, [future, whole, sent, clock = clock_] {
      clock->comes();
      if (!sent.is_same(whole)) whole.copy_(sent);
      future->markCompleted(whole);
    });
    if (is_last) shared_->finish();
    clock_->waited(begin);
    return future;
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  at::ScalarType type_;
  std::shared_ptr<Clock> clock_;
  SharedSum* shared_;
};

/// The bytes of the largest bucket.
int64_t largest(const std::vector<std::vector<size_t>>& buckets, const std::vector<at::Tensor>& weights) {
  int64_t most = 0;
  for (const std::vector<size_t>& bucket : buckets) {
    int64_t bytes = 0;
    for (const size_t index : bucket) bytes += int64_t(weights[index].nbytes());
    most = std::max(most, bytes);
  }
  return most;
}

/// Gradients come in the order opposite to that of the layers; the first bucket is small, so that something leaves soon. The
/// buckets stay as they are: which gradients lie together decides in which order they are summed, and a run that goes on
/// must sum as before.
std::vector<std::vector<size_t>> buckets_of(const std::vector<at::Tensor>& weights, size_t bytes) {
  constexpr size_t kFirst = size_t(1) << 20;
  const std::vector<at::Tensor> reversed(weights.rbegin(), weights.rend());
  std::vector<std::vector<size_t>> buckets =
      std::get<0>(c10d::compute_bucket_assignment_by_size(reversed, {std::min(kFirst, bytes), bytes}));
  for (std::vector<size_t>& bucket : buckets) {
    for (size_t& index : bucket) index = weights.size() - 1 - index;
  }
  return buckets;
}

}  // namespace

ReducerSum::ReducerSum(const C10dRanks& ranks, const std::vector<at::Tensor>& weights, const GradientTravel& travel)
    : ranks_(ranks), clock_(std::make_shared<Clock>()) {
  const std::vector<std::vector<size_t>> buckets = buckets_of(weights, size_t(travel.bucket_bytes));
  reducer_ = std::make_unique<c10d::Reducer>(
      weights, buckets, ranks.group(), std::vector<bool>(weights.size(), false), travel.bucket_bytes,
      /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true, std::unordered_map<size_t, std::string>(),
      travel.bucket_bytes, /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      std::vector<int64_t>());
  if (ranks.is_one_machine() && weights.front().is_cpu()) shared_ = SharedSum::make(ranks, largest(buckets, weights));
  reducer_->register_comm_hook(std::make_unique<SumHook<Clock>>(ranks, travel.type, clock_, shared_.get()));
}

ReducerSum::~ReducerSum() = default;

void ReducerSum::during(const std::function<void()>& pass) {
  ranks_.exchange("the sum of gradients", [&] {
    reducer_->prepare_for_backward({});
    pass();
    if (shared_ == nullptr) clock_->waited(clock_->all_left);
  });
}

GradientSum::Times ReducerSum::times() const {
  const std::lock_guard lock(clock_->mutex);
  return clock_->times;
}

}  // namespace ltr::distributed
