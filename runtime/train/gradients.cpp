#include "runtime/train/gradients.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "runtime/tensor/handle.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

std::vector<at::Tensor> trained(const Optimizer& optimizer) {
  std::vector<at::Tensor> list;
  for (const Weight& weight : optimizer.weights()) {
    if (In(weight.tensor)->requires_grad()) list.push_back(aten(weight.tensor));
  }
  return list;
}

/// Those of `weights` that no row of the window gave a gradient.
std::vector<at::Tensor> without_gradient(const std::vector<at::Tensor>& weights) {
  std::vector<at::Tensor> list;
  for (const at::Tensor& weight : weights) {
    if (!weight.grad().defined()) list.push_back(weight);
  }
  return list;
}

/// 1 for each of the weights that a gradient came for here, where `lacking` have none.
std::vector<double> reached_here(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& lacking) {
  std::unordered_set<const void*> missing;
  for (const at::Tensor& weight : lacking) missing.insert(weight.unsafeGetTensorImpl());
  std::vector<double> reached;
  for (const at::Tensor& weight : weights) reached.push_back(missing.contains(weight.unsafeGetTensorImpl()) ? 0 : 1);
  return reached;
}

// What a vote says of each optimizer, in numbers that are summed: what came for it, whether each of its weights has a
// gradient, and whether it is updated now or waits for that.
enum : size_t { kShare, kRows, kBad, kWhole, kUpdates, kWaits, kNumbers };

}  // namespace

Gradients::Gradients(ModelRoot& root, const Ranks& ranks, const GradientTravel& travel, const LossScale& scale,
                     const LateGate& late, Progress& progress)
    : root_(root.state()), ranks_(ranks), travel_(travel), late_(late), backward_(root, scale), progress_(progress) {
  if (travel_.bucket_bytes == 0) {
    if (ranks.world() > 1) trial_.emplace();
    travel_.bucket_bytes = BucketTrial().size();
  }
  for (const auto& optimizer : root.state().optimizers) {
    OfOptimizer& one = all_.emplace_back();
    one.optimizer = optimizer.get();
  }
  find_trained();
}

void Gradients::find_trained() {
  are_held_ = false;
  for (OfOptimizer& one : all_) {
    one.weights = trained(*one.optimizer);
    are_held_ = are_held_ || one.weights.size() < one.optimizer->weights().size();
  }
}

void Gradients::trains_changed() {
  times_before_ = times();
  for (OfOptimizer& one : all_) {
    one.sum.reset();
    one.mark = at::Tensor();
  }
  find_trained();
  backward_.trains_changed();
}

Gradients::OfOptimizer& Gradients::of(const Optimizer& optimizer) {
  return *std::find_if(all_.begin(), all_.end(), [&](const OfOptimizer& one) { return one.optimizer == &optimizer; });
}

void Gradients::begin_window(bool may_differ) {
  may_differ_ = may_differ;
  if (trial_ && window_s_ > 0) try_buckets();
  for (OfOptimizer& one : all_) {
    one.came = {};
    one.is_open = false;
  }
}

void Gradients::add(const at::Tensor& loss, const Optimizer& optimizer, bool keep_graph, bool is_finite) {
  OfOptimizer& one = of(optimizer);
  if (one.weights.empty()) return;  // on no rank: nothing of it trains now
  one.is_open = true;
  if (is_finite) {
    one.came.share += share_;
    one.came.rows++;
  } else {
    one.came.bad++;
    one.came.is_bad_here = true;
  }
  const bool has_gradient = !are_held_ || Backward::reaches(loss);
  if (ranks_.world() > 1 && is_last_row_) return add_summed(has_gradient ? loss : at::Tensor(), one, keep_graph);
  // What is not finite is dropped with the whole window; but the other ranks may need this one's part of the pass.
  if (has_gradient && (is_finite || ranks_.world() > 1)) backward_.run(loss, share_, &optimizer, keep_graph);
}

Gradients::Came Gradients::take(const Optimizer& optimizer) {
  OfOptimizer& one = of(optimizer);
  one.is_open = false;
  return std::exchange(one.came, {});
}

Optimizer* Gradients::next_open() {
  const auto open = std::find_if(all_.begin(), all_.end(), [](const OfOptimizer& one) { return one.is_open; });
  if (ranks_.world() == 1 || !may_differ_) {
    if (open == all_.end()) return nullptr;
    if (ranks_.world() > 1) add_summed({}, *open, false);
    return open->optimizer;
  }
  // Whoever waits has said what it has; whose turn it is now may be another's.
  const Turn turn = counted(*begin_vote(nullptr, false));
  if (turn.one == nullptr) return nullptr;
  const std::vector<at::Tensor> lacking = without_gradient(turn.one->weights);
  run_summed({}, *turn.one, false, turn.one->weights);
  settle(*turn.one, turn, lacking);
  return turn.one->optimizer;
}

// ---- the ranks together --------------------------------------------------------------------------------------

std::unique_ptr<PendingSum> Gradients::begin_vote(const OfOptimizer* updated, bool is_whole) const {
  std::vector<double> numbers;
  for (const OfOptimizer& one : all_) {
    const bool is_updated = &one == updated;
    const bool waits = one.is_open && !is_updated;
    const bool has_all = is_updated ? is_whole : waits && without_gradient(one.weights).empty();
    for (const double number :
         {one.came.share, one.came.rows, one.came.bad, double(has_all), double(is_updated), double(waits)}) {
      numbers.push_back(number);
    }
  }
  return ranks_.begin_sum(std::move(numbers));
}

Gradients::Turn Gradients::counted(PendingSum& votes) {
  const std::vector<double> sums = votes.wait();
  const auto find = [&](size_t what) {
    std::vector<OfOptimizer*> found;
    for (size_t i = 0; i < all_.size(); i++) {
      if (sums[i * kNumbers + what] > 0) found.push_back(&all_[i]);
    }
    return found;
  };
  const std::vector<OfOptimizer*> updated = find(kUpdates), waiting = find(kWaits);
  if (updated.size() > 1) {
    throw with_help(
        error_here(err::ranks_differ, fmt::format("at one time some update {} and some {}",
                                                  updated[0]->optimizer->name(), updated[1]->optimizer->name())),
        "which `minimize` runs may depend on the step's number, not on what is in a batch");
  }
  Turn turn;
  turn.one = !updated.empty() ? updated.front() : !waiting.empty() ? waiting.front() : nullptr;
  if (turn.one == nullptr) return turn;
  const double* of_it = sums.data() + size_t(turn.one - all_.data()) * kNumbers;
  turn.all = {of_it[kShare], of_it[kRows], of_it[kBad], turn.one->came.is_bad_here};
  turn.is_whole = of_it[kWhole] > 0;
  return turn;
}

void Gradients::add_summed(const at::Tensor& loss, OfOptimizer& one, bool keep_graph) {
  const std::vector<at::Tensor> unreached = backward_.unreached(loss, *one.optimizer);
  const std::vector<at::Tensor> lacking = without_gradient(unreached);
  const std::unique_ptr<PendingSum> votes = begin_vote(&one, lacking.empty());
  // Sums of different gradients would not meet: where that can be, all know first whose turn it is.
  Option<Turn> turn;
  if (may_differ_) turn = counted(*votes);
  const auto begin = std::chrono::steady_clock::now();
  run_summed(loss, one, keep_graph, unreached);
  if (trial_) window_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  settle(one, turn ? *turn : counted(*votes), lacking);
}

void Gradients::try_buckets() {
  const bool is_other = trial_->took(std::exchange(window_s_, 0), ranks_);
  if (is_other) {
    travel_.bucket_bytes = trial_->size();
    times_before_ = times();
    for (OfOptimizer& one : all_) one.sum.reset();
  }
  if (!trial_->is_over()) return;
  progress_.notice(trial_->found());
  trial_.reset();
}

GradientSum& Gradients::sum_of(OfOptimizer& one) {
  if (one.sum) return *one.sum;
  if (root_.division) {
    one.sum = root_.division->sum_gradients(*one.optimizer);
    return *one.sum;
  }
  std::vector<at::Tensor> leaves = one.weights;
  if (late_.looks()) {
    // Behind the weights, and so in the first bucket that leaves.
    one.mark = at::zeros({1}, leaves.back().options().requires_grad(false)).set_requires_grad(true);
    leaves.push_back(one.mark);
  }
  one.sum = ranks_.sum_gradients(leaves, travel_);
  return *one.sum;
}

void Gradients::run_summed(const at::Tensor& loss, OfOptimizer& one, bool keep_graph,
                           const std::vector<at::Tensor>& unreached) {
  GradientSum& sum = sum_of(one);
  Backward::Given given{one.mark, {}};
  if (one.mark.defined()) given.gradient = late_.bad_loss(*one.optimizer).to(one.mark.scalar_type()).reshape({1});
  backward_.run_summed(loss, share_, *one.optimizer, keep_graph, unreached, given, sum);
}

at::Tensor Gradients::count_bad_losses(const OfOptimizer& one) const {
  if (!late_.looks()) return {};
  at::Tensor count = late_.bad_loss(*one.optimizer).to(at::kFloat);
  ranks_.sum_tensor(count);
  return count;
}

void Gradients::settle(OfOptimizer& one, const Turn& turn, const std::vector<at::Tensor>& lacking) {
  one.came = turn.all;
  // All hold back alike, and no host waits for it. The memory of what was summed is that of the next sum.
  one.came.bad_later =
      one.mark.defined() ? std::exchange(one.mark.mutable_grad(), {}).reshape({}).clone() : count_bad_losses(one);
  if (turn.is_whole) return;
  // A weight that no rank reached has no gradient, as where a single process runs.
  std::vector<double> reached = reached_here(one.weights, lacking);
  ranks_.sum(reached);
  for (size_t i = 0; i < reached.size(); i++) {
    if (reached[i] == 0) one.sum->drop(one.weights[i]);
  }
}

// ---- manual steps --------------------------------------------------------------------------------------------

void Gradients::add_manual(const at::Tensor& loss, bool is_finite) {
  for (OfOptimizer& one : all_) {
    (is_finite ? one.came.rows : one.came.bad)++;
    one.came.is_bad_here = one.came.is_bad_here || !is_finite;
    // What all ranks have summed is summed once.
    if (!std::exchange(one.is_gathered, false) || root_.division) continue;
    one.summed.resize(one.weights.size());
    for (size_t i = 0; i < one.weights.size(); i++)
      one.summed[i] = std::exchange(one.weights[i].mutable_grad(), at::Tensor());
  }
  if (!are_held_ || Backward::reaches(loss)) backward_.run(loss, share_, nullptr, true);
}

Gradients::Came Gradients::gather(const Optimizer& optimizer) {
  OfOptimizer& one = of(optimizer);
  if (ranks_.world() == 1 || std::exchange(one.is_gathered, true)) return one.came;
  std::vector<double> numbers = reached_here(one.weights, without_gradient(one.weights));
  numbers.push_back(one.came.bad);
  ranks_.sum(numbers);
  one.came.bad = numbers.back();
  if (one.came.bad > 0) return one.came;
  const std::span<const double> reached(numbers.data(), one.weights.size());
  if (root_.division)
    gather_parts(one, reached);
  else
    gather_whole(one, reached);
  return one.came;
}

void Gradients::gather_whole(OfOptimizer& one, std::span<const double> reached) {
  std::vector<at::Tensor> flat, gradients;
  for (size_t i = 0; i < one.weights.size(); i++) {
    if (reached[i] == 0) continue;
    at::Tensor& gradient = one.weights[i].mutable_grad();
    if (!gradient.defined()) gradient = at::zeros_like(one.weights[i]);
    gradients.push_back(gradient);
    flat.push_back(gradient.flatten());
  }
  if (late_.looks()) {
    const at::ScalarType type = flat.empty() ? at::kFloat : flat.front().scalar_type();
    flat.push_back(late_.bad_loss(*one.optimizer).to(type).reshape({1}));
  }
  if (!flat.empty()) {
    const at::Tensor all = at::cat(flat);
    ranks_.sum_tensor(all);
    if (late_.looks()) one.came.bad_later = all[-1];
    int64_t begin = 0;
    for (const at::Tensor& gradient : gradients) {
      gradient.copy_(all.narrow(0, begin, gradient.numel()).view_as(gradient));
      begin += gradient.numel();
    }
  }
  for (size_t i = 0; i < one.summed.size(); i++) {
    if (!one.summed[i].defined()) continue;
    at::Tensor& gradient = one.weights[i].mutable_grad();
    gradient = gradient.defined() ? gradient + one.summed[i] : one.summed[i];
  }
  one.summed.clear();
}

void Gradients::gather_parts(OfOptimizer& one, std::span<const double> reached) {
  std::vector<char> had;
  for (const at::Tensor& weight : one.weights) had.push_back(root_.part_of(weight)->has_gradient);
  sum_of(one).during([] {});
  one.came.bad_later = count_bad_losses(one);
  for (size_t i = 0; i < one.weights.size(); i++) {
    if (reached[i] == 0 && !had[i]) one.sum->drop(one.weights[i]);
  }
}

void Gradients::forget(const Optimizer& optimizer) {
  OfOptimizer& one = of(optimizer);
  one.came = {};
  one.is_gathered = false;
  one.summed.clear();
}

GradientSum::Times Gradients::times() const {
  GradientSum::Times all = times_before_;
  for (const OfOptimizer& one : all_) {
    if (!one.sum) continue;
    const GradientSum::Times times = one.sum->times();
    all.exchange_s += times.exchange_s;
    all.wait_s += times.wait_s;
  }
  return all;
}

}  // namespace ltr
