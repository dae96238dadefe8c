#pragma once

// An `optimizer` of a model: its groups of weights, their rules, schedules, clipping and state.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/api/error.h"
#include "runtime/checkpoint/archive.h"
#include "runtime/optim/rule.h"
#include "runtime/optim/schedule.h"
#include "runtime/tables/weight_group.h"
#include "runtime/train/model_root.h"

namespace ltr {

class Optimizer {
 public:
  Optimizer(Str name, Value rule, Weights weights, std::vector<Argument> settings, std::vector<Group> groups,
            Location location, RootState& root);
  ~Optimizer();

  /// Resolves settings and groups; R2002 and R2006 for what does not fit. Later calls do nothing.
  void prepare();
  /// Makes the schedules; R2009 if one needs a length that is not known. Without it, rates are constant.
  void schedule(const optim::Length& length);

  bool clips_norm() const { return clip_norm_ >= 0; }
  const Str& name() const { return name_; }
  const Weights& weights() const { return weights_; }
  /// The path of one of its weights from the model on, as checkpoints have it.
  Str path_of(const Weight& weight) const;
  /// What the rule of one of its weights looks at.
  optim::Moves moves_of(const at::Tensor& weight) const;
  /// Where one of its weights lies, the place that the optimizer was given it at first.
  std::vector<WeightPlace> places_of(const Weight& weight) const;
  /// Whether what of one of its weights has no gradient does not move.
  bool rests(const at::Tensor& weight) const;
  OptimizerEntry describe() const;
  /// Every `plateau` among the schedules.
  std::vector<optim::Plateau*> plateaus() const;

  /// The gradients were clipped if they were to be, and the weights move by them; `t` updates were done before.
  /// Weights without a gradient stay. The gradients are let go of.
  /// `blocked`: f32[] on the device, 1 if nothing may move after all; undefined where that is known.
  void step(int64_t t, const at::Tensor& blocked = {});
  /// Whether an update asks for the loss again, at other weights: then `search` makes it, not `step`.
  bool repeats_step() const;
  /// The weights move from where their gradients and `loss` are. `evaluate` gives the loss at the weights as they are then, with
  /// their gradients in place. False, and all is as before, if that comes to numbers that are not finite.
  bool search(int64_t t, double loss, const std::function<double()>& evaluate);
  /// Clips as declared; gives the norm before, if it was computed for that. One that is not finite clips nothing.
  Option<double> clip();
  /// L2 norm of all gradients, as they are now. Where ranks divide them, all ask for it together.
  double measure_norm() const;
  /// Likewise, from p-norms of what is here those of what all ranks have.
  void join_norms(std::span<double> norms, double p) const;
  /// Likewise, the gradient of each weight, undefined where none came.
  std::vector<at::Tensor> whole_gradients() const;
  /// What of a weight's gradient is here: its part where ranks divide it.
  at::Tensor own_gradient(const at::Tensor& weight) const;
  /// Clips to `limit`; gives the norm before.
  double clip_norm(double limit);
  /// Where numbers come later, the same on the device: norms are f32[], undefined where none was computed.
  at::Tensor measure_norm_later() const;
  at::Tensor clip_later();
  at::Tensor clip_norm_later(double limit);
  void clip_value(double limit);
  /// The numbers of the gradients that there are; of one that is sparse, those of its rows.
  optim::TensorVec grads() const;
  void scale_grads(double factor);
  void zero_grad();
  /// Rate of the first group, and what moves each group that has weights, at update `t`.
  double rate(int64_t t) const;
  /// Keeps the rates of update `t`, which was made: callbacks and hooks may set those of the next one before it is recorded.
  void note_rates(int64_t t);
  /// The rate of the update that was noted last; before the first, that of update `t`.
  double noted_rate(int64_t t) const;
  struct GroupNumbers {
    Str pattern;  ///< `rest` of the weights that no pattern names
    double rate;
    double noted_rate;
    double weight_decay;
    Option<double> momentum;  ///< or β1, of the newest update
  };
  std::vector<GroupNumbers> group_numbers(int64_t t) const;
  /// From now on its own rate is `rate`, and those of its groups keep their ratio to it.
  void set_base_rate(double rate);
  /// From now on `weight` moves by this share of its group's rate; 1 unless it was said.
  void set_share(const at::Tensor& weight, double share);
  /// From now on this rate, whatever the schedule says.
  void set_rate(double rate);
  /// From now on these rates, of the groups that have weights in their order, whatever schedules and `set_rate` say.
  void set_group_rates(const std::vector<double>& rates);

  /// A rate that was set, a momentum that a schedule moved, and the state of every weight that ever moved, as `opt.NAME.PATH.exp_avg`;
  /// with `keeps_gradients` those that wait for a later update, as `opt.NAME.PATH.grad`: several ranks have each their own.
  void visit(Archive& archive, bool keeps_gradients = true);
  /// R2010 unless what the current part of `archive` kept is of this rule, and enough for it.
  void check_fits(Archive& archive);

 private:
  struct Listed;
  /// Weights of a group that move by one rate, and what goes with them.
  struct UpdatePart {
    double share;
    optim::TensorVec weights, grads, steps;
    std::vector<optim::TensorVec> state;
  };
  /// Of one update; its memory stays for the next.
  struct GroupUpdate {
    optim::TensorVec grads;
    std::vector<char> moves;     ///< weights that have one
    optim::TensorVec elsewhere;  ///< steps of those that other ranks move
    std::vector<char> divided;   ///< the `moves` that `parts` are of
    std::vector<UpdatePart> parts;
    std::vector<size_t> part_of;  ///< of each weight that moves, in their order
  };
  struct GroupState {
    Str pattern;
    Str rule_text;
    bool has_own_rule = false;
    std::vector<std::pair<Str, Value>> settings;
    std::unique_ptr<optim::Rule> rule;
    Value schedule_call;
    std::unique_ptr<optim::Schedule> own_schedule;
    std::vector<Str> paths;
    optim::TensorVec weights;
    optim::TensorVec own;  ///< what of each moves here: its part where ranks divide it, undefined if it has none
    std::vector<optim::TensorVec> state;  ///< of these, one list per state name; empty until the first update
    optim::TensorVec steps;
    std::vector<char> has_moved;  ///< weights whose state counts
    Option<double> own_rate;      ///< in place of what its schedule says
    Option<double> noted_rate;
    Option<double> moved_momentum;  ///< what a schedule has made of it, which stays when the schedule is over
    std::vector<double> shares;     ///< of the rate, by weight
    bool is_even = true;            ///< all of them are 1
    GroupUpdate update;
  };

  void make_groups();
  /// R2006 for what does not go with one line that all weights move along.
  void check_search() const;
  void list_grads(optim::TensorVec& list) const;
  /// Its rule, and those that groups have in its place, as checkpoints name them.
  Str rules_text() const;
  void make_state(GroupState& group);
  /// The gradient by which `weight` moves here goes from it into `gradient`. Whether one came, on any rank.
  bool take_gradient(const at::Tensor& weight, at::Tensor& gradient);
  double state_bytes() const;
  /// What moves where not all of a group does so by the same rate.
  static void divide(GroupState& group);
  static void step_parts(GroupState& group, double lr, const at::Tensor& blocked);
  double rate_of(const GroupState& group, int64_t t) const;
  /// That of the weights which no pattern names, if there are any; null without groups.
  const GroupState* first_group() const;
  /// Counts an update of the weights that have these `steps`.
  static void count(const optim::Rule& rule, const optim::TensorVec& steps, const at::Tensor& blocked);
  /// Counts an update and makes it.
  static void move(optim::Rule& rule, const optim::Update& update);
  bool asks() const;
  /// In front of the names of what is kept of the weight with this path.
  Str state_prefix(const Str& path) const { return fmt::format("opt.{}.{}.", name_, path); }
  static void visit_momentum(Archive& archive, GroupState& group, const Str& name);
  void visit_gradient(Archive& archive, GroupState& group, size_t i);
  void visit_states(Archive& archive, GroupState& group, size_t i);
  /// Whether a state of the weight with this path has its place here.
  bool keeps(const Str& path, const Str& state) const;
  /// What of this optimizer `archive` has and nothing here has a place for: `momentum_buffer of net.weight`; "" if nothing.
  Str without_place(const Archive& archive) const;
  /// R2010: `what` is how the optimizer differs from that of the checkpoint.
  Error misfit(const Str& what) const;
  /// Null if no group moves the weight.
  const optim::Rule* rule_of(const at::Tensor& weight) const;
  /// The first of its groups that takes the weight, their number if none does.
  size_t group_of(const Weight& weight) const;

  Str name_;
  Value rule_;
  Weights weights_;
  std::vector<Argument> settings_;
  std::vector<Group> given_groups_;
  Location location_;
  RootState& root_;
  bool is_prepared_ = false;
  double clip_norm_ = -1;
  double clip_value_ = -1;
  Value schedule_call_;
  std::unique_ptr<optim::Schedule> schedule_;
  Option<double> fixed_rate_;
  std::vector<GroupState> groups_;
  mutable optim::TensorVec listed_;
};

}  // namespace ltr
