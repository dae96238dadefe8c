#include "dsl/elaborate/liveness.h"

#include <algorithm>
#include <set>
#include <utility>

namespace ltr::elaborate {

namespace {

constexpr size_t kNone = size_t(-1);

class Walk {
 public:
  Walk(const Plan& plan, const std::vector<std::string>& blocks, bool copies, double gradient_size)
      : tape_(plan.tape),
        plan_(plan),
        blocks_(blocks),
        copies_(copies),
        gradient_size_(gradient_size),
        results_(plan.tape.size()) {}

  Peak run() {
    find_owners();
    find_last_passes();
    find_readers();
    size_t pass = 0;
    for (size_t i = 0; i <= tape_.size(); ++i) {
      for (; pass < plan_.backwards.size() && plan_.backwards[pass].at <= i; ++pass) go_back(pass);
      if (i < tape_.size()) compute(i);
    }
    return peak_;
  }

 private:
  /// What one entry of the tape gave.
  struct Result {
    size_t owner = kNone;  ///< whose memory it is, where it is a view; none: of the batch or a weight
    double size = 0;
    int holders = 0;           ///< readers to come, in the step or its backward passes
    double gradient = 0;       ///< what its gradient takes, while there is one
    size_t last_pass = kNone;  ///< that goes through it
  };

  void find_owners() {
    for (size_t i = 0; i < tape_.size(); ++i) {
      const Operation& operation = tape_[i];
      results_[i].size = operation.is_view ? 0 : double(operation.output_elements.value_or(0));
      results_[i].owner = !operation.is_view         ? i
                          : operation.inputs.empty() ? kNone
                                                     : results_[size_t(operation.inputs[0])].owner;
    }
  }

  void find_last_passes() {
    for (size_t pass = 0; pass < plan_.backwards.size(); ++pass) {
      for (const auto& [index, flops] : plan_.backwards[pass].parts) results_[index].last_pass = pass;
    }
  }

  bool is_needed_back(size_t i) const { return results_[i].last_pass != kNone; }
  /// A block that is computed again keeps what came into it; all else of it comes back with its backward pass.
  bool is_computed_again(size_t owner, size_t reader) const {
    return !blocks_[reader].empty() && blocks_[owner] == blocks_[reader];
  }

  /// The owners that `operation` keeps for its backward pass, each once.
  std::set<size_t> kept_by(size_t i) const {
    std::set<size_t> owners;
    const Operation& operation = tape_[i];
    if (!is_needed_back(i) || operation.is_view) return owners;
    if (operation.keeps_operands) {
      for (const int32_t input : operation.inputs) owners.insert(results_[size_t(input)].owner);
    }
    if (operation.keeps_result) owners.insert(i);
    owners.erase(kNone);
    return owners;
  }

  void find_readers() {
    for (size_t i = 0; i < tape_.size(); ++i) {
      for (const int32_t input : tape_[i].inputs) {
        if (const size_t owner = results_[size_t(input)].owner; owner != kNone) ++results_[owner].holders;
      }
      for (const size_t owner : kept_by(i)) {
        if (!is_computed_again(owner, i)) ++results_[owner].holders;
      }
    }
  }

  void note(double more = 0) {
    peak_.results = std::max(peak_.results, live_ + more);
    peak_.with_gradients = std::max(peak_.with_gradients, live_ + more + gradients_);
  }

  void release(size_t owner) {
    if (--results_[owner].holders == 0) live_ -= results_[owner].size;
  }

  double extra_of(size_t i) const { return is_needed_back(i) && blocks_[i].empty() ? tape_[i].keeps_elements : 0; }
  /// What a product on a core holds a second time: a convolution all in another order, of other products the backward pass what
  /// is turned for the gradient of a weight.
  double copies(size_t i, bool is_backward) const {
    const Operation& operation = tape_[i];
    if (!copies_ || !operation.is_product || operation.is_small || (!is_backward && !operation.is_reordered)) return 0;
    const double read = double(operation.input_elements.value_or(0));
    return double(operation.output_elements.value_or(0)) + (is_backward && operation.is_reordered ? 2 : 1) * read;
  }

  void compute(size_t i) {
    live_ += results_[i].size + extra_of(i);
    note(copies(i, false));
    if (results_[i].holders == 0) live_ -= results_[i].size;
    for (const int32_t input : tape_[i].inputs) {
      if (const size_t owner = results_[size_t(input)].owner; owner != kNone) release(owner);
    }
  }

  /// A gradient of this result is there, from now on if it was not.
  void add_gradient(size_t owner) {
    Result& result = results_[owner];
    if (result.gradient > 0) return;
    result.gradient = result.size;
    live_ += result.size;
  }

  void go_back(size_t pass) {
    const Backward& backward = plan_.backwards[pass];
    std::set<size_t> taking_part;
    for (const auto& [index, flops] : backward.parts) taking_part.insert(index);
    std::string block;
    double again = 0;
    for (const auto& [i, flops] : backward.parts) {
      if (blocks_[i] != block) {
        live_ -= again;
        block = blocks_[i];
        again = block.empty() ? 0 : computed_again(block);
        live_ += again;
      }
      go_back_through(i, pass, taking_part);
    }
    live_ -= again;
    if (!backward.is_used_up) return;
    gradients_ = 0;
    counted_.clear();
  }

  double computed_again(const std::string& block) const {
    std::set<size_t> owners;
    double elements = 0;
    for (size_t i = 0; i < tape_.size(); ++i) {
      if (blocks_[i] != block) continue;
      for (const size_t owner : kept_by(i)) {
        if (is_computed_again(owner, i) && results_[owner].holders == 0) owners.insert(owner);
      }
      if (is_needed_back(i)) elements += tape_[i].keeps_elements;
    }
    for (const size_t owner : owners) elements += results_[owner].size;
    return elements;
  }

  void go_back_through(size_t i, size_t pass, const std::set<size_t>& taking_part) {
    const Operation& operation = tape_[i];
    if (operation.is_view) return;
    add_gradient(i);
    for (const int32_t input : operation.inputs) {
      const size_t owner = results_[size_t(input)].owner;
      if (owner != kNone && taking_part.contains(owner)) add_gradient(owner);
    }
    for (const WeightId id : operation.weights) {
      if (counted_.insert(id).second)
        gradients_ += gradient_size_ * double(count_elements(plan_.tree.weights[id].dims).value_or(0));
    }
    note(copies(i, true));
    live_ -= std::exchange(results_[i].gradient, 0);
    if (pass != results_[i].last_pass) return;
    live_ -= extra_of(i);
    for (const size_t owner : kept_by(i)) {
      if (!is_computed_again(owner, i)) release(owner);
    }
  }

  const std::vector<Operation>& tape_;
  const Plan& plan_;
  const std::vector<std::string>& blocks_;
  const bool copies_;
  const double gradient_size_;
  std::vector<Result> results_;
  std::set<WeightId> counted_;  ///< whose gradients are there
  double live_ = 0;
  double gradients_ = 0;
  Peak peak_;
};

}  // namespace

Peak find_peak(const Plan& plan, const std::vector<std::string>& blocks, bool copies, double gradient_size) {
  return Walk(plan, blocks, copies, gradient_size).run();
}

}  // namespace ltr::elaborate
