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

class Here final : public PendingTensors {
 public:
  void wait() override {}
};

/// Some of the ranks. What one group exchanges the others do, too: it goes through all of them.
class SomeRanks final : public Ranks {
 public:
  SomeRanks(const Ranks& all, std::vector<int64_t> members) : all_(all), members_(std::move(members)) {}
  int64_t rank() const override { return std::find(members_.begin(), members_.end(), all_.rank()) - members_.begin(); }
  int64_t world() const override { return int64_t(members_.size()); }
  std::vector<Str> texts(const Str& own) const override {
    const std::vector<Str> all = all_.texts(own);
    std::vector<Str> theirs;
    for (const int64_t member : members_) theirs.push_back(all[size_t(member)]);
    return theirs;
  }

 private:
  const Ranks& all_;
  std::vector<int64_t> members_;
};

/// All gradients at once, when the pass is over.
class FlatSum final : public GradientSum {
 public:
  FlatSum(const Ranks& ranks, std::vector<at::Tensor> weights) : ranks_(ranks), weights_(std::move(weights)) {}
  void during(const std::function<void()>& pass) override {
    pass();
    std::vector<at::Tensor> flat;
    for (const at::Tensor& weight : weights_) flat.push_back(weight.grad().flatten());
    const at::Tensor all = at::cat(flat);
    ranks_.sum_tensor(all);
    int64_t begin = 0;
    for (const at::Tensor& weight : weights_) {
      weight.grad().copy_(all.narrow(0, begin, weight.numel()).view_as(weight));
      begin += weight.numel();
    }
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
  if (world() > 1) tensor.copy_(joined(tensors(tensor), Reduce::Sum));
}

std::vector<at::Tensor> Ranks::tensors(const at::Tensor& own) const {
  Str packed;
  pack(packed, own);
  std::vector<at::Tensor> all;
  for (const Str& text : texts(packed)) all.push_back(Unpacking(text).tensor().to(own.device()));
  return all;
}

std::unique_ptr<PendingTensors> Ranks::begin_scatter(const at::Tensor& part, const at::Tensor& whole) const {
  part.copy_(joined(tensors(whole), Reduce::Sum).narrow(0, rank() * part.numel(), part.numel()));
  return std::make_unique<Here>();
}

std::unique_ptr<PendingTensors> Ranks::begin_gather(const at::Tensor& whole, const at::Tensor& part) const {
  whole.copy_(at::cat(tensors(part)));
  return std::make_unique<Here>();
}

std::unique_ptr<Ranks> Ranks::among(const std::vector<int64_t>& members) const {
  return std::make_unique<SomeRanks>(*this, members);
}

void GradientSum::drop(const at::Tensor& weight) const { weight.mutable_grad() = at::Tensor(); }

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

std::vector<Outputs> Ranks::gather(const Outputs& own) const {
  if (world() == 1) return std::vector<Outputs>(own.empty() ? 0 : 1, own);
  Str packed;
  for (const Output& output : own) {
    pack(packed, std::string_view(output.name));
    pack(packed, std::string_view(output.is_texts ? "texts" : ""));
    pack(packed, aten(output.value));
  }
  std::vector<Outputs> all;
  for (const Str& text : texts(packed)) {
    if (!is_first() || text.empty()) continue;
    Outputs& outputs = all.emplace_back();
    for (Unpacking from(text); !from.is_over();) {
      const char* name = kept_name(from.text());
      const bool is_texts = !from.text().empty();
      outputs.push_back({name, give(from.tensor()), is_texts});
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
