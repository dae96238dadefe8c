#pragma once

// What ranks divide among them (runtime.md 13.2): each moves its part of the weights, and keeps gradients and states of that
// part alone. Here it stands who has what, and how the parts come together. All of it is exchanged: what one rank calls,
// all call, in the same order, unless it says that it is local.

#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/checkpoint/folder.h"
#include "runtime/train/division_plan.h"
#include "runtime/train/gathered.h"
#include "runtime/train/ranks.h"
#include "runtime/train/whole_units.h"

namespace ltr {

struct RootState;

class Division {
 public:
  /// Divides the weights of `root`, whose optimizers are prepared. Ranks hold the same values.
  Division(const DivisionPlan& plan, RootState& root, const Ranks& ranks, const GradientTravel& travel);
  ~Division();
  Division(const Division&) = delete;
  Division& operator=(const Division&) = delete;

  /// This rank's part of a weight. Tensors are in the weight's shape where it has all of it, else in one row, and undefined
  /// where it has nothing.
  struct Part {
    at::Tensor values;
    at::Tensor gradient;        ///< undefined, too, until one came
    bool has_gradient = false;  ///< one came, on any rank
  };
  /// Local. Null for a weight that is not divided.
  Part* find(const at::Tensor& weight);
  const Part* find(const at::Tensor& weight) const { return const_cast<Division*>(this)->find(weight); }

  /// The weight whole. Where weights are divided it goes with the last who holds it, so nobody else should hold it for long.
  at::Tensor whole(const at::Tensor& weight);
  /// Local: `weight` becomes `values`, which are whole and the same on all ranks.
  void assign(const at::Tensor& weight, const at::Tensor& values);
  /// Local: `weight` has no gradient.
  void forget_gradient(const at::Tensor& weight);
  /// Local: the part of `whole`, which has the elements of `weight`.
  at::Tensor cut(const at::Tensor& weight, const at::Tensor& whole) const;
  /// The whole of what goes with `weight`, of which each rank that has some of the weight has `own`. Shape and type are
  /// those of `like`: a tensor of as many elements as the weight is divided as it is, of another all have the same.
  at::Tensor join(const at::Tensor& weight, const at::Tensor& own, const at::Tensor& like) const;
  /// Local: which part of a tensor that goes with `weight`, and is `like` that as a whole, is here, and whether this rank is the
  /// one to write it.
  Slice slice_of(const at::Tensor& weight, const at::Tensor& like) const;
  /// Local: whether this rank is the one to write `weight` whole. Those of one unit have one writer.
  bool writes(const at::Tensor& weight) const;
  /// The ranks that hold one whole together.
  const Ranks& holders() const { return *holders_; }
  /// Whether weights themselves are divided, so that reading one is an exchange.
  bool divides_weights() const { return plan_.what == Divides::Weights; }

  /// Bytes of the weights that optimizers move, of their gradients while they are summed, and of the states once all weights
  /// have moved.
  struct Held {
    double weights = 0;
    double gradients = 0;
    double states = 0;
  };
  /// Local: what of that is here.
  Held held() const;

  /// For what autograd keeps: the unit in whose row a tensor lies, its row, gathered again, and how often it moved.
  Option<size_t> unit_with(const at::Tensor& tensor) const;
  const at::Tensor& row(size_t unit) { return whole_units_->row(unit); }
  int64_t moves_of(size_t unit) const { return units_[unit]->moves; }

  /// Sums the gradients of `optimizer`: then each rank has its part of them.
  std::unique_ptr<GradientSum> sum_gradients(const Optimizer& optimizer);
  /// The parts of the weights of `optimizer` that have a gradient moved: they are everybody's now.
  void moved(const Optimizer& optimizer);
  /// Every part moved.
  void all_moved();

 private:
  friend class DividedSum;
  struct Place {
    size_t unit;
    size_t member;
    Part part;
  };

  void add_unit(std::vector<at::Tensor> weights, bool keeps_whole, const Optimizer* optimizer);
  void divide_by_size(const Optimizer& optimizer, int64_t bytes);
  void divide_by_block(const RootState& root);
  /// Ranks that hold one whole together, and those that hold the same as this one.
  void form_groups(const Ranks& ranks);
  const Place& place(const at::Tensor& weight) const { return places_.at(weight.unsafeGetTensorImpl()); }
  Part& part(const at::Tensor& weight) { return places_.at(weight.unsafeGetTensorImpl()).part; }
  /// These units have moved.
  void gather(const std::vector<DividedUnit*>& units);

  DivisionPlan plan_;
  GradientTravel travel_;
  const Ranks* holders_;
  int64_t rank_;  ///< among all
  int64_t world_;
  std::unique_ptr<Ranks> own_holders_, peers_;  ///< where there are several groups
  DividedUnits units_;
  std::unordered_map<const void*, Place> places_;
  std::unique_ptr<WholeUnits> whole_units_;  ///< where weights are divided
  std::unique_ptr<GatheredScope> reading_;
};

}  // namespace ltr
