#pragma once

// How the weights of one group move: one class per optimizer of runtime.md 6.1.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ltr/api.h"
#include "runtime/checkpoint/archive.h"
#include "runtime/optim/element_kernels.h"
#include "runtime/optim/taken_arguments.h"

namespace ltr::optim {

using TensorVec = std::vector<at::Tensor>;

/// The arguments of a rule's call: what is given, else the default.
class Arguments : public TakenArguments {
 public:
  /// `weights` is read elsewhere.
  Arguments(const Value& call, const Location& location) : TakenArguments(call, location) { find_any("weights"); }
  double number(const char* name, double initial);
  bool flag(const char* name, bool initial);
  Str word(const char* name, const char* initial);
  std::pair<double, double> pair(const char* name, double first, double second);
  /// A pair whose first number may be `none`.
  std::pair<std::optional<double>, double> option_pair(const char* name, std::optional<double> first, double second);

 private:
  const Value* take(const char* name);
};

/// What a rule looks at to move an element of a weight: its own gradient and state, or those of the whole weight.
enum class Moves : uint8_t { elements, whole };

/// What moves in one update: weights and their gradients, and for each kind of state a tensor per weight.
/// Everything is on one device and of one element type; runs without gradients.
struct Update {
  TensorVec& weights;
  TensorVec& grads;
  std::vector<TensorVec>& state;  ///< in the order of `state_names`
  TensorVec& steps;               ///< f32[] each: updates done, this one included
  double lr;
  at::Tensor blocked;  ///< f32[] on the device: 1 if nothing may move after all. Undefined: everything moves
};

/// The loss at some weights, and the gradient of each there, undefined where none came.
struct Evaluation {
  double loss;
  TensorVec gradients;
};
/// Makes one at the weights as they are.
using Evaluate = std::function<Evaluation()>;

/// How a rule keeps an update from happening whose `blocked` the host does not know yet.
enum class Blocking : uint8_t {
  Kernel,   ///< its kernel looks
  PutBack,  ///< it moves, and what it moved is put back
  Asks,     ///< the count of its updates enters on the host: the host waits, and knows
};

class Rule {
 public:
  Rule() = default;
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;
  virtual ~Rule() = default;

  /// PyTorch's names of the state tensors.
  virtual std::vector<const char*> state_names() const = 0;
  /// The state `name` of a weight that has not moved yet.
  virtual at::Tensor initial_state(const char* name, const at::Tensor& weight) const;
  virtual void update(const Update& update) = 0;

  /// Whether an update looks at the loss again, at other weights: then it is a `search`.
  virtual bool repeats_step() const { return false; }
  /// Moves `weights`, where `first` was evaluated. False, and all is as before, if it comes to numbers that are not finite.
  virtual bool search(const TensorVec& weights, const Evaluation& first, double lr, const Evaluate& evaluate);

  /// Names of all that a checkpoint has of a weight.
  virtual std::vector<const char*> kept_names() const { return state_names(); }
  /// What it keeps of all `weights` together, whose names in the checkpoint begin with `prefixes`.
  virtual void visit(Archive&, const std::vector<Str>& /*prefixes*/, const TensorVec& /*weights*/) {}
  /// What it keeps of a weight of this form, at most.
  virtual double state_bytes(const at::Tensor& weight) const;
  /// Whether an element whose gradient is 0 stays where it is, with its state; then gradients may be sparse: f32 [rows, …] of some rows.
  virtual bool rests() const { return false; }
  virtual Blocking blocking() const { return Blocking::PutBack; }
  /// Momentum or β1, which `one_cycle` moves; null if the rule has none.
  virtual double* momentum() { return nullptr; }
  /// The number that the schedules move.
  double lr = 1e-3;
  double weight_decay = 0;
  Moves moves = Moves::whole;

 protected:
  /// Weight decay as a part of the gradient: for kernels, and as an op.
  at::Tensor decayed(const at::Tensor& grad, const at::Tensor& weight, bool maximize) const;
  Decay decay(bool maximize) const { return {.sign = maximize ? -1.0F : 1.0F, .l2 = float(weight_decay)}; }
  /// Likewise where it makes weights smaller by themselves, at this rate.
  Decay shrinking(bool maximize, double rate) const {
    return {.sign = maximize ? -1.0F : 1.0F, .shrink = float(1 - rate * weight_decay)};
  }
};

/// The 2-norm of `tensor` as f64[] on its device.
at::Tensor wide_norm(const at::Tensor& tensor);

/// The rule that `call` names; R2002 for an unknown one or an unknown argument.
std::unique_ptr<Rule> make_rule(const Value& call, Location location);

#define LTR_RULE(name, maker, lr, weight_decay, states, more, moves) std::unique_ptr<Rule> maker(Arguments& arguments);
#include "runtime/tables/rules.def"
#undef LTR_RULE

}  // namespace ltr::optim
