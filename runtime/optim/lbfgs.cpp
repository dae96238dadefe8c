#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "runtime/api/error.h"
#include "runtime/checkpoint/archive.h"
#include "runtime/optim/rule.h"
#include "runtime/optim/strong_wolfe.h"
#include "runtime/tensor/host_read.h"

namespace ltr::optim {

namespace {

double dot_of(const at::Tensor& one, const at::Tensor& other) { return read_number(one.dot(other)); }
double largest_of(const at::Tensor& values) { return read_number(values.abs().max()); }

/// L-BFGS, as PyTorch has it: all weights are one vector, and an update goes several steps down a loss that it asks for again.
class Lbfgs : public Rule {
 public:
  explicit Lbfgs(Arguments& arguments)
      : max_iter_(int64_t(arguments.number("max_iter", 20))),
        max_eval_(int64_t(arguments.number("max_eval", double(max_iter_ * 5 / 4)))),
        tolerance_grad_(arguments.number("tolerance_grad", 1e-7)),
        tolerance_change_(arguments.number("tolerance_change", 1e-9)),
        history_(size_t(arguments.number("history", 100))),
        searches_lines_(arguments.word("line_search", "") == "strong_wolfe") {}

  std::vector<const char*> state_names() const override { return {}; }
  std::vector<const char*> kept_names() const override { return {"d", "prev_flat_grad", "old_dirs", "old_stps"}; }
  double state_bytes(const at::Tensor& weight) const override { return double(weight.nbytes() * (2 + 2 * history_)); }
  Blocking blocking() const override { return Blocking::Asks; }
  bool repeats_step() const override { return true; }

  void update(const Update&) override {
    throw error_here(err::settings_contradict, "LBFGS repeats a step, and moves where that has its `minimize`");
  }

  bool search(const TensorVec& weights, const Evaluation& first, double lr, const Evaluate& evaluate) override {
    TensorVec weights_before;
    for (const at::Tensor& weight : weights) weights_before.push_back(weight.clone());
    const Memory memory_before = memory_;
    const auto put_back = [&] {
      set(weights, weights_before);
      memory_ = memory_before;
    };
    try {
      const double loss = descend(weights, first, lr, evaluate);
      // A sum is finite only if all of its numbers are; that finite ones overflow is no place to go to, either.
      const bool is_sound = std::isfinite(loss) && std::ranges::all_of(weights, [](const at::Tensor& weight) {
                              return std::isfinite(read_number(weight.sum()));
                            });
      if (is_sound) return true;
    } catch (...) {
      put_back();
      throw;
    }
    put_back();
    return false;
  }

  void visit(Archive& archive, const std::vector<Str>& prefixes, const TensorVec& weights) override {
    if (archive.is_reading()) memory_ = {};
    if (!archive.has("lbfgs")) return;
    {
      const Archive::Part part(archive, "lbfgs");
      archive.value("n_iter", memory_.iterations);
      archive.value("t", memory_.t);
      archive.value("H_diag", memory_.scale);
      archive.list("ro", memory_.inverses, [&](double& inverse) { archive.value("ro", inverse); });
    }
    if (memory_.iterations == 0) return;
    TensorVec direction{memory_.direction}, gradient{memory_.gradient};
    visit_rows(archive, "d", direction, {}, prefixes, weights);
    visit_rows(archive, "prev_flat_grad", gradient, {}, prefixes, weights);
    memory_.direction = direction.front();
    memory_.gradient = gradient.front();
    const auto pairs = int64_t(memory_.inverses.size());
    if (pairs == 0) return;
    visit_rows(archive, "old_dirs", memory_.changes, {pairs}, prefixes, weights);
    visit_rows(archive, "old_stps", memory_.moves, {pairs}, prefixes, weights);
  }

 private:
  /// What goes from one update to the next. No tensor of it is written to once it is here.
  struct Memory {
    int64_t iterations = 0;
    double t = 0;                    ///< how far the newest step went along its direction
    double scale = 1;                ///< of the curvature before any pair counts
    at::Tensor direction, gradient;  ///< of the newest step, and where it began
    // The newest pairs of a step and the change of the gradient along it.
    TensorVec changes, moves;
    std::vector<double> inverses;  ///< 1 over their products
  };

  /// Gives the loss that it ends at, as far as that is known.
  double descend(const TensorVec& weights, const Evaluation& first, double lr, const Evaluate& evaluate) {
    double loss = first.loss;
    at::Tensor gradient = flat(weights, first.gradients);
    if (largest_of(gradient) <= tolerance_grad_) return loss;
    int64_t evaluations = 1;
    for (int64_t n = 1;; n++) {
      const bool is_first = ++memory_.iterations == 1;
      if (!is_first) remember(gradient);
      memory_.direction = is_first ? gradient.neg() : direction_for(gradient);
      memory_.gradient = gradient;
      memory_.t = is_first ? std::min(1.0, 1 / read_number(gradient.abs().sum())) * lr : lr;
      const at::Tensor& direction = memory_.direction;
      const double loss_before = loss, slope = dot_of(gradient, direction);
      if (slope > -tolerance_change_) return loss;
      if (searches_lines_) {
        const LineSearch search{largest_of(direction), tolerance_change_, max_eval_ - evaluations};
        LineFound found = along(weights, {0, loss, slope, gradient}, search, evaluate);
        memory_.t = found.point.t;
        loss = found.point.loss;
        gradient = std::move(found.point.gradient);
        evaluations += found.evaluations;
        move(weights, direction, memory_.t);
      } else {
        move(weights, direction, memory_.t);
        // Nothing would come of it: the next update begins with an evaluation there.
        if (n == max_iter_) return loss;
        const Evaluation next = evaluate();
        loss = next.loss;
        gradient = flat(weights, next.gradients);
        evaluations++;
      }
      if (n == max_iter_ || evaluations >= max_eval_ || largest_of(gradient) <= tolerance_grad_) return loss;
      if (largest_of(direction * memory_.t) <= tolerance_change_) return loss;
      if (std::abs(loss - loss_before) < tolerance_change_) return loss;
    }
  }

  LineFound along(const TensorVec& weights, const LinePoint& start, const LineSearch& search,
                  const Evaluate& evaluate) const {
    TensorVec from;
    for (const at::Tensor& weight : weights) from.push_back(weight.clone());
    return strong_wolfe(start, memory_.t, search, [&](double t) {
      move(weights, memory_.direction, t);
      const Evaluation found = evaluate();
      set(weights, from);
      const at::Tensor gradient = flat(weights, found.gradients);
      return LinePoint{t, found.loss, dot_of(gradient, memory_.direction), gradient};
    });
  }

  /// The newest step and what the gradient changed along it, unless the loss did not bend upwards there.
  void remember(const at::Tensor& gradient) {
    const at::Tensor change = gradient - memory_.gradient, moved = memory_.direction * memory_.t;
    const double product = dot_of(change, moved);
    if (!(product > 1e-10)) return;
    if (memory_.moves.size() == history_) {
      memory_.changes.erase(memory_.changes.begin());
      memory_.moves.erase(memory_.moves.begin());
      memory_.inverses.erase(memory_.inverses.begin());
    }
    memory_.changes.push_back(change);
    memory_.moves.push_back(moved);
    memory_.inverses.push_back(1 / product);
    memory_.scale = product / dot_of(change, change);
  }

  /// Minus the gradient by the inverse curvature that the pairs tell: Nocedal and Wright 2006, algorithm 7.4.
  at::Tensor direction_for(const at::Tensor& gradient) const {
    const size_t pairs = memory_.moves.size();
    std::vector<double> shares(pairs);
    at::Tensor direction = gradient.neg();
    for (size_t i = pairs; i-- > 0;) {
      shares[i] = dot_of(memory_.moves[i], direction) * memory_.inverses[i];
      direction.add_(memory_.changes[i], -shares[i]);
    }
    direction = direction * memory_.scale;
    for (size_t i = 0; i < pairs; i++) {
      const double share = dot_of(memory_.changes[i], direction) * memory_.inverses[i];
      direction.add_(memory_.moves[i], shares[i] - share);
    }
    return direction;
  }

  /// All in one row, 0 where there is none.
  static at::Tensor flat(const TensorVec& weights, const TensorVec& gradients) {
    TensorVec rows;
    for (size_t i = 0; i < weights.size(); i++) {
      const at::Tensor& gradient = gradients[i];
      rows.push_back(!gradient.defined() ? at::zeros({weights[i].numel()}, weights[i].options().requires_grad(false))
                                         : (gradient.is_sparse() ? gradient.to_dense() : gradient).reshape({-1}));
    }
    return at::cat(rows);
  }

  static void move(const TensorVec& weights, const at::Tensor& direction, double t) {
    int64_t begin = 0;
    for (const at::Tensor& weight : weights) {
      weight.add_(direction.narrow(0, begin, weight.numel()).view_as(weight), t);
      begin += weight.numel();
    }
  }

  static void set(const TensorVec& weights, const TensorVec& values) {
    for (size_t i = 0; i < weights.size(); i++) weights[i].copy_(values[i]);
  }

  /// Rows of all weights, in a checkpoint by weight: in the weight's shape behind `front`, which has as many.
  static void visit_rows(Archive& archive, const char* name, TensorVec& rows, const std::vector<int64_t>& front,
                         const std::vector<Str>& prefixes, const TensorVec& weights) {
    const int64_t count = front.empty() ? 1 : front[0];
    TensorVec parts;
    int64_t begin = 0;
    for (size_t i = 0; i < weights.size(); i++) {
      const int64_t size = weights[i].numel();
      std::vector<int64_t> shape = front;
      shape.insert(shape.end(), weights[i].sizes().begin(), weights[i].sizes().end());
      at::Tensor part;
      if (archive.is_reading()) {
        part = at::zeros(shape, weights[i].options().requires_grad(false));
        if (archive.has_tensor(prefixes[i] + name)) archive.tensor(prefixes[i] + name, part);
        parts.push_back(part.reshape({count, size}));
      } else {
        for (const at::Tensor& row : rows) parts.push_back(row.narrow(0, begin, size));
        part = at::stack(parts).reshape(shape);
        archive.tensor(prefixes[i] + name, part);
        parts.clear();
      }
      begin += size;
    }
    if (!archive.is_reading()) return;
    rows.clear();
    // Each lies by itself, as where the run had it: sums may hang on where a row begins.
    for (const at::Tensor& row : at::cat(parts, 1).unbind()) rows.push_back(row.clone());
  }

  int64_t max_iter_;
  int64_t max_eval_;
  double tolerance_grad_;
  double tolerance_change_;
  size_t history_;
  bool searches_lines_;
  Memory memory_;
};

}  // namespace

std::unique_ptr<Rule> make_lbfgs(Arguments& arguments) { return std::make_unique<Lbfgs>(arguments); }

}  // namespace ltr::optim
