#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "dsl/elaborate/planned.h"
#include "ltrc/plan.h"

namespace ltr::driver {

namespace {

using elaborate::Object;
using elaborate::Operation;
using elaborate::Plan;
using elaborate::Unit;
using elaborate::WeightId;
using elaborate::Work;

constexpr size_t kNever = std::numeric_limits<size_t>::max();
/// Multiply-adds below which the runtime leaves a product to MKL: `runtime/tensor/product.cpp`.
constexpr double kLeastWork = 2'000'000;

class WorkMaker {
 public:
  WorkMaker(const Plan& plan, const Machinery& machinery, bool is_planned, const elaborate::Device& device)
      : plan_(plan), machinery_(machinery), is_planned_(is_planned), device_(device), bandwidth_(device.bandwidth) {}

  PlannedWork run_planned() {
    add_weights();
    leave_rows_alone();
    choose_bandwidth();
    return planned();
  }

  Work run() {
    work_.bucket_bytes = machinery_.bucket_bytes;
    work_.accumulate = plan_.accumulate;
    work_.is_core = device_.is_core();
    work_.passes = int64_t(plan_.backwards.size());
    if (!machinery_.reduce.empty()) work_.wire = 2 / bytes_of(check::Element::Float, machinery_.precision);
    find_units();
    add_weights();
    if (is_planned_) leave_rows_alone();
    choose_bandwidth();
    // Each gradient is read once, each weight and state read and written.
    work_.update_s = (2 * all_weights_ + all_gradients_ + 2 * all_states_) / bandwidth_ + device_.launch_s;
    if (is_planned_) {
      work_.rest.forward_s = planned().seconds;
      return std::move(work_);
    }
    for (const Operation& operation : plan_.tape) unit_of(operation).forward_s += forward_s(operation);
    for (const elaborate::Backward& backward : plan_.backwards) add_backward(backward);
    return std::move(work_);
  }

 private:
  /// One for each block at which weights are divided, in the order in which the forward pass meets them; of blocks
  /// within each other the outer one.
  void find_units() {
    std::vector<std::string> blocks;
    for (const Object& object : plan_.tree.objects) {
      if (object.kind == check::Kind::Block && object.type == machinery_.block && object.path)
        blocks.push_back(*object.path);
    }
    std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    for (const Operation& operation : plan_.tape) {
      const Object& object = plan_.tree.objects[operation.object];
      const auto block =
          std::find_if(blocks.begin(), blocks.end(), [&](const std::string& one) { return object.lies_below(one); });
      if (block != blocks.end() && units_.emplace(*block, work_.units.size()).second) work_.units.emplace_back();
    }
  }

  Unit& unit_at(const std::string& path) {
    for (const auto& [block, index] : units_) {
      if (elaborate::is_below(path, block)) return work_.units[index];
    }
    return work_.rest;
  }
  Unit& unit_of(const Operation& operation) { return unit_at(plan_.tree.objects[operation.object].path.value_or("")); }

  void add_weights() {
    for (const elaborate::Weight& weight : plan_.tree.weights)
      bytes_.push_back(double(elaborate::count_elements(weight.dims).value_or(0)) *
                       bytes_of(weight.element, machinery_.precision));
    for (const Plan::Optimizer& optimizer : plan_.optimizers) {
      for (const WeightId id : optimizer.weights) {
        all_states_ += states_of(optimizer.rule).value_or(0) * bytes_[id];
        if (!trained_.insert(id).second) continue;
        all_gradients_ += bytes_[id];
        unit_at(plan_.tree.weights[id].path).gradient_bytes += bytes_[id];
      }
    }
    for (WeightId id = 0; id < bytes_.size(); ++id) {
      if (plan_.tree.weights[id].is_buffer) continue;
      all_weights_ += bytes_[id];
      unit_at(plan_.tree.weights[id].path).weight_bytes += bytes_[id];
    }
    first_use_.assign(bytes_.size(), kNever);
    for (size_t i = plan_.tape.size(); i-- > 0;) {
      for (const WeightId id : plan_.tape[i].weights) first_use_[id] = i;
    }
  }

  /// A step whose numbers lie in the last cache finds them there again.
  void choose_bandwidth() {
    double results = 0;
    for (const Operation& operation : plan_.tape)
      results += operation.is_view ? 0 : double(operation.output_elements.value_or(0));
    const double all = all_weights_ + all_gradients_ + all_states_ + bytes_of_results(results);
    if (all <= device_.cache_bytes) bandwidth_ = device_.cache_bandwidth;
  }

  /// Of a table whose gradient is of the rows that were read, the others do not move.
  void leave_rows_alone() {
    const double gradients =
        bytes_of_results(elaborate::plan_step(plan_, recomputed_blocks(plan_, machinery_)).gradients);
    all_weights_ -= all_gradients_ - gradients;
    all_gradients_ = gradients;
  }

  /// Of a batch, all of its calls.
  PlannedWork planned() const {
    const elaborate::PlannedStep step = elaborate::plan_step(plan_, recomputed_blocks(plan_, machinery_));
    PlannedWork work;
    for (const elaborate::PlannedCall& call : step.calls) {
      double numbers = call.given;
      for (const auto* values : {&call.reads, &call.writes}) {
        for (const size_t value : *values) numbers += step.values[value];
      }
      work.calls += 1;
      (call.gathers ? work.gathered : work.products) += call.flops;
      work.operations += call.operations;
      work.bytes_s += bytes_s(numbers);
    }
    const double flops = device_.flops(machinery_.precision);
    work.seconds = work.calls * device_.plan_call_s + work.products / (flops * device_.plan_share) +
                   work.gathered / (flops * device_.plan_gather_share) + work.operations / device_.plan_rate +
                   work.bytes_s;
    return work;
  }

  /// A product that the runtime leaves to MKL.
  static bool is_small(const Operation& operation) {
    return operation.is_small || operation.flops.value_or(0) < 2 * kLeastWork;
  }

  /// Values of a plan are f32, whatever its products round.
  double bytes_of_results(double elements) const {
    return elements * result_bytes(is_planned_ ? "f32" : machinery_.precision);
  }
  double bytes_s(double elements) const { return bytes_of_results(elements) / bandwidth_; }

  /// On a GPU arithmetic hides memory, and an operation that runs hides the launch of the next.
  double on_gpu(const Operation& operation, double flops, double moved) const {
    const double product_s = operation.is_product ? flops / (device_.flops(machinery_.precision) * device_.share) : 0;
    return std::max({device_.launch_s, product_s, bytes_s(moved)});
  }

  /// On a core one comes behind the other. `copied` numbers are read and written again, in another order.
  double on_core(const Operation& operation, double flops, double moved, double copied) const {
    const double other_s = device_.launch_s + bytes_s(moved);
    if (!operation.is_product) return other_s;
    const double rate =
        device_.flops(machinery_.precision) * (is_small(operation) ? device_.small_share : device_.share);
    return other_s + flops / rate + (is_small(operation) ? 0 : device_.find_s + bytes_s(2 * copied));
  }

  /// Numbers that an operation reads; of a table only the rows.
  static double read_by(const Operation& operation) {
    const double given = given_by(operation), read = double(operation.input_elements.value_or(0));
    return operation.flops == 0 ? std::min(read, given) : read;
  }
  static double given_by(const Operation& operation) { return double(operation.output_elements.value_or(0)); }

  double forward_s(const Operation& operation) const {
    if (operation.is_view) return 0;
    const double flops = operation.flops.value_or(0), moved = read_by(operation) + given_by(operation);
    if (!device_.is_core()) return on_gpu(operation, flops, moved);
    const double copied = operation.is_reordered ? moved : 0;
    return on_core(operation, flops, moved, copied) + operation.loop_operations / device_.scalar_rate;
  }

  /// It reads the gradient of what was given and what was read, and writes the gradient of that.
  double backward_s(const Operation& operation, double flops) const {
    if (operation.is_view) return 0;
    const double moved = given_by(operation) + 2 * read_by(operation);
    if (!device_.is_core()) return on_gpu(operation, flops, moved);
    // For the gradient of a weight what was read and the gradient of what was given are turned.
    const double copied = operation.is_reordered ? moved : given_by(operation) + read_by(operation);
    return on_core(operation, flops, moved, copied);
  }

  /// A gradient is whole once the first operation that read its weight has been gone back through.
  void add_backward(const elaborate::Backward& backward) {
    for (const auto& [index, flops] : backward.parts) {
      const Operation& operation = plan_.tape[index];
      elaborate::Piece piece{backward_s(operation, flops), 0};
      if (!recomputed_block(plan_, machinery_, operation.object).empty()) piece.seconds += forward_s(operation);
      for (const WeightId id : operation.weights) {
        if (first_use_[id] == index && trained_.contains(id)) piece.gradient_bytes += bytes_[id];
      }
      unit_of(operation).backward_s += piece.seconds;
      work_.backward.push_back(piece);
    }
  }

  const Plan& plan_;
  const Machinery& machinery_;
  const bool is_planned_;
  const elaborate::Device& device_;
  double bandwidth_;
  Work work_;
  std::map<std::string, size_t> units_;  ///< by path of the block
  std::vector<double> bytes_;            ///< of each weight
  std::vector<size_t> first_use_;        ///< of each weight, on the tape
  std::set<WeightId> trained_;
  double all_weights_ = 0, all_gradients_ = 0, all_states_ = 0;
};

}  // namespace

Work make_work(const Plan& plan, const Machinery& machinery, const elaborate::Layout& layout,
               const elaborate::Device& device) {
  return WorkMaker(plan, machinery, machinery.plans(layout), device).run();
}

PlannedWork count_planned(const Plan& plan, const Machinery& machinery, const elaborate::Device& device) {
  return WorkMaker(plan, machinery, true, device).run_planned();
}

}  // namespace ltr::driver
