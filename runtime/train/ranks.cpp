#include "runtime/train/ranks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "runtime/tensor/handle.h"
#include "runtime/train/packed.h"

namespace ltr {

namespace {

class OneRank final : public Ranks {
 public:
  int64_t rank() const override { return 0; }
  int64_t world() const override { return 1; }
  std::vector<Str> texts(const Str& own) const override { return {own}; }
};

class Done final : public PendingSum {
 public:
  explicit Done(std::vector<double> sums) : sums_(std::move(sums)) {}
  std::vector<double> wait() override { return std::move(sums_); }

 private:
  std::vector<double> sums_;
};

/// All gradients at once, when the pass is over.
class FlatSum final : public GradientSum {
 public:
  FlatSum(const Ranks& ranks, std::vector<at::Tensor> weights) : ranks_(ranks), weights_(std::move(weights)) {}
  void during(const std::function<void()>& pass) override {
    pass();
    for (const at::Tensor& weight : weights_) ranks_.sum_tensor(weight.grad());
  }

 private:
  const Ranks& ranks_;
  std::vector<at::Tensor> weights_;
};

Str bytes_of(std::span<const double> numbers) {
  return Str(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

/// A name that lives as long as the program, as those of its own outputs do.
const char* kept_name(std::string_view name) {
  static std::mutex mutex;
  static std::set<Str, std::less<>> names;
  const std::lock_guard lock(mutex);
  return names.emplace(name).first->c_str();
}

/// Takes what all ranks say into `numbers`, in the order of the ranks: so all get the same bits.
void merge(const Ranks& ranks, std::span<double> numbers, const std::function<double(double, double)>& both) {
  if (ranks.world() == 1) return;
  const std::vector<Str> all = ranks.texts(bytes_of(numbers));
  std::vector<double> one(numbers.size());
  for (size_t rank = 0; rank < all.size(); rank++) {
    if (all[rank].size() != numbers.size_bytes()) {
      throw error_at({}, err::rank_lost, fmt::format("rank {} does something else than this one", rank));
    }
    std::memcpy(one.data(), all[rank].data(), all[rank].size());
    for (size_t i = 0; i < one.size(); i++) numbers[i] = rank == 0 ? one[i] : both(numbers[i], one[i]);
  }
}

}  // namespace

void Ranks::sum(std::span<double> numbers) const {
  merge(*this, numbers, [](double a, double b) { return a + b; });
}

void Ranks::least(std::span<double> numbers) const {
  merge(*this, numbers, [](double a, double b) { return std::min(a, b); });
}

void Ranks::most(std::span<double> numbers) const {
  merge(*this, numbers, [](double a, double b) { return std::max(a, b); });
}

std::unique_ptr<PendingSum> Ranks::begin_sum(std::vector<double> numbers) const {
  sum(numbers);
  return std::make_unique<Done>(std::move(numbers));
}

void Ranks::sum_tensor(const at::Tensor& tensor) const {
  if (world() == 1) return;
  Str own;
  pack(own, tensor);
  std::vector<at::Tensor> all;
  for (const Str& text : texts(own)) all.push_back(Unpacking(text).tensor());
  tensor.copy_(joined(all, Reduce::Sum));
}

void Ranks::take_from_first(const std::vector<at::Tensor>& tensors) const {
  if (world() == 1) return;
  Str own;
  if (is_first()) {
    for (const at::Tensor& tensor : tensors) pack(own, tensor);
  }
  const Str first = of_first(own);
  Unpacking from(first);
  for (const at::Tensor& tensor : tensors) tensor.copy_(from.tensor());
}

std::unique_ptr<GradientSum> Ranks::sum_gradients(const std::vector<at::Tensor>& weights, const GradientTravel&) const {
  return std::make_unique<FlatSum>(*this, weights);
}

Tensor Ranks::join(const Tensor& state, Reduce how) const {
  if (world() == 1) return state;
  Str own;
  pack(own, aten(state));
  std::vector<at::Tensor> all;
  for (const Str& text : texts(own)) all.push_back(Unpacking(text).tensor());
  return guarded([&] { return give(joined(all, how)); });
}

std::vector<Outputs> Ranks::gather(const Outputs& own) const {
  if (world() == 1) return std::vector<Outputs>(own.empty() ? 0 : 1, own);
  Str packed;
  for (const Output& output : own) {
    pack(packed, std::string_view(output.name));
    pack(packed, aten(output.value));
  }
  std::vector<Outputs> all;
  for (const Str& text : texts(packed)) {
    if (!is_first() || text.empty()) continue;
    Outputs& outputs = all.emplace_back();
    for (Unpacking from(text); !from.is_over();) {
      const char* name = kept_name(from.text());
      outputs.push_back({name, give(from.tensor())});
    }
  }
  return all;
}

at::Tensor joined(const std::vector<at::Tensor>& states, Reduce how) {
  if (how == Reduce::Cat) return at::cat(states);
  at::Tensor all = states.front();
  for (size_t i = 1; i < states.size(); i++) {
    switch (how) {
      case Reduce::Min: all = at::minimum(all, states[i]); break;
      case Reduce::Max: all = at::maximum(all, states[i]); break;
      default: all = at::add(all, states[i]);
    }
  }
  return how == Reduce::Mean ? at::div(all, double(states.size())) : all;
}

const Ranks& one_rank() {
  static const OneRank kOne;
  return kOne;
}

}  // namespace ltr
