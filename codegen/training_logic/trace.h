#pragma once

#include <set>
#include <unordered_map>
#include <unordered_set>

#include "codegen/ir/tables.h"
#include "codegen/training_logic/findings.h"

namespace ltr::training_logic {

/// Whether `size` is made of `part`, among others.
bool is_made_of(ir::DimId size, ir::DimId part, const ir::DimStore& dims);

/// Follows functions of a module over what is known about values. Both sides of a branch are
/// followed, a loop until nothing changes; a call is followed with its own arguments each time.
class Trace {
 public:
  Trace(const ir::Module& module, Heap& heap);

  Findings findings;

  /// Forgets all objects, of which thousands would fill the memory.
  void start_anew();
  /// Builds an object below a new root, from arguments of which nothing is known.
  ObjectId build(const ir::ObjectInfo& object);
  /// The model that an experiment wires, with the blocks that it is given; nothing if it cannot be followed.
  std::optional<ObjectId> build_wired(const ir::Function& make_model);
  /// A callback `for` a model.
  ObjectId build_callback(const std::string& name, ObjectId model);
  /// Runs a step of `self`, a test, or any function, from the start: all weights are as built.
  void run(const ir::Function& function, std::optional<ObjectId> self);
  bool has_followed(const ir::Function& function) const { return followed_.contains(&function); }
  const ir::Function* find(std::string_view function) const;
  const ir::ObjectInfo* find_object(std::string_view name) const;

 private:
  struct Frame {
    const ir::Function* function = nullptr;
    const Frame* caller = nullptr;
    const ir::Op* site = nullptr;
    std::vector<Known> values;  ///< null: nothing is known, as of code that was not followed
    Known result;
  };
  using Versions = std::map<OwnerId, VersionId>;

  Known call(const ir::Function& function, std::vector<Known> arguments, const Frame* caller, const ir::Op* site);
  /// False if every path through the region has left the function. `yielded` takes the operands of
  /// its `yield`.
  bool region(const ir::Region& region, Frame& frame, std::vector<Known>& yielded);
  /// Region by region as if it were a loop over all of them; for For, While and what else carries
  /// values.
  void loop(const ir::Op& op, Frame& frame, size_t first_carried);
  /// What the index of a loop may be.
  Known index_of(const ir::Op& op, const Frame& frame) const;
  bool branch(const ir::Op& op, Frame& frame);
  void severed_region(const ir::Op& op, Frame& frame);
  void frozen_region(const ir::Op& op, Frame& frame);
  void comprehension(const ir::Op& op, Frame& frame);
  void closure(const ir::Op& op, Frame& frame);
  Known call_value(const ir::Op& op, Frame& frame);
  /// False if the function is left.
  bool op(const ir::Op& op, Frame& frame);
  Known value_of(const ir::Op& op, Frame& frame);
  Known call_op(const ir::Op& op, Frame& frame);
  Known construct(const ir::Op& op, Frame& frame);
  /// Where blocks and weights are made.
  Value place(const ir::Op& op, Frame& frame);
  /// Those of a place, of an optimizer, or of several together.
  Value weights(const ir::Op& op, Frame& frame);
  /// A size in a constructor, where its arguments tell.
  std::optional<int64_t> size_of(ir::DimId id, const Frame& constructor) const;
  Known made_weight(const ir::Op& op, Frame& frame);
  Value made_setting(const ir::Op& op, const Frame& frame) const;
  Value made_optimizer(const ir::Op& op, Frame& frame);
  void made_metric(const ir::Op& op, Frame& frame);
  void called_metric(const ir::Op& op, Frame& frame);
  Value chosen_by_pattern(const ir::Op& op, Frame& frame);
  using Groups = std::vector<const ir::Op*>;
  Groups groups_of(const ir::Op& op, const Frame& frame) const;
  std::vector<library::Id> rules_of(const ir::Op& op, const Groups& groups, const Value& weights) const;
  void note_groups(const ir::Op& op, const Groups& groups, const Value& weights);
  Known member(const ir::Op& op, Frame& frame);
  /// Marks the weights that a `freeze` of the op matches.
  void freeze(const ir::Op& op, Frame& frame);
  Value read_weight(const Value& weight, const ir::Op& op, const Frame& frame);
  Known element(const ir::Op& op, Frame& frame);
  Value host(const ir::Op& op, Frame& frame);
  Value library(const ir::Op& op, Frame& frame);
  void look_at_sides(library::Id loss, const ir::Op& op, const Frame& frame);
  /// A metric that is given one value twice.
  void look_at_sides(const ir::Op& op, const ir::Function& update, const Frame& frame);
  /// Where the function is called that is given one value twice; an empty place if it is not.
  Span call_with_same(const Frame& frame) const;
  /// A loss that is computed twice, and added to itself.
  void look_at_terms(const ir::Op& op, const Frame& frame);
  void look_at_average(const ir::Op& op, const Value& target, const Value& source, const Frame& frame);
  void look_at_activation(library::Id taker, const ir::Op& op, Frame& frame);
  /// Whether the second of what is compared is a logarithm of probabilities, where the first should be.
  bool has_logs_second(const ir::Op& op, Frame& frame);
  void look_at_axis(const ir::Op& op, const Frame& frame);
  /// Arguments of a loss of which one kind of values is wanted: signs, variances, the logarithm of a rate.
  void look_at_kinds(library::Id loss, const ir::Op& op, const Frame& frame);
  /// A metric with `logits = false` takes probabilities.
  void look_at_scores(const ir::Op& op, const ir::Function& update, const Value& metric, const Frame& frame);
  /// Whether a size of the function is that of the batches that the step takes.
  bool is_batch(ir::DimId dim, const Frame& frame) const;
  using Operands = std::vector<const Value*>;
  /// What a mask and an index say of records, and one number of all of them.
  void take_records(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame);
  void take_rows(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) const;
  void look_at_rows_of_sides(const Value& predicted, const Value& wanted, Span span, const std::string& taker);
  /// Numbers of all samples that meet each of them.
  void take_of_all(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame);
  /// Whether it gives places of another axis than that of the records.
  bool names_others(const ir::Op& op, const Operands& operands, const Frame& frame) const;
  /// Where a mask is true.
  void take_places(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) const;
  void look_at_masks(const ir::Op& op, const Operands& operands, const Frame& frame);
  void look_at_mask(const std::string& name, const ir::Op& op, size_t operand, const Value& mask, const Frame& frame);
  /// Scores of which some are filled with a number.
  struct Fill {
    std::optional<TurnedMask> turned;      ///< they are those that should stay
    std::optional<ShownScores> shown;      ///< with a number that soft-max does not pass over
    std::optional<UnsummedAxis> unsummed;  ///< soft-max went over this axis of them
    bool is_sure = false;                  ///< they are known to be those that should be hidden
    bool is_shared_out = false;            ///< soft-max was applied to them
  };
  /// Whether all its numbers are one, and what it hides where it is added to scores.
  void take_filled(const ir::Op& op, const Operands& operands, Value& value) const;
  /// What an op fills some of the scores with that soft-max takes: an index into `fills_`, or 0.
  uint32_t fill_of(const ir::Op& op, const Operands& operands, const Frame& frame);
  /// What of that is left behind an op, and whether it does what it should.
  uint32_t take_fill(const ir::Op& op, const Operands& operands, const Frame& frame);
  uint32_t share_out(const ir::Op& op, const Operands& operands, const Frame& frame);
  void report_fill(const Fill& fill);
  /// Of soft-max over another axis than the last.
  uint32_t share_out_across(const ir::Op& op, const Value& scores, const Frame& frame);
  /// Noise that is drawn, where it meets records and what scales it.
  void take_noise(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame);
  /// Whether noise is the same for all records.
  bool is_shared(ir::ValueId noise, ir::ValueId records, const Frame& frame) const;
  /// Notes what stands beside normal noise in a product.
  void note_scale(const ir::Op& op, size_t operand, const Frame& frame);
  /// Whether an operand begins with the axis of the records.
  bool is_of_records(ir::ValueId operand, const Frame& frame) const;
  /// A term of a sum, by its `Value::identity`.
  struct Term {
    uint64_t value = 0;
    std::optional<double> number;
    bool is_minus = false;
  };
  /// What sums and exponentials are made of, and whether one is the divergence of a normal distribution.
  void note_terms(const ir::Op& op, uint64_t identity, const Frame& frame);
  std::vector<Term> terms_of(const Value& value) const;
  void look_at_divergence(const std::vector<Term>& terms, Span span);
  /// Sums over the records of a batch, and what is done with them.
  void take_total(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame);
  uint32_t total_of(const ir::Op& op, const Operands& operands, const Frame& frame);
  /// Whether what it gives is of all records together.
  bool joins_records(const ir::Op& op, const Operands& operands, const Frame& frame) const;
  void look_at_rows(const ir::Op& op, const Operands& operands, const Frame& frame);
  void look_at_masks_given(const ir::Op& op, const ir::Function& function, const std::vector<Known>& given,
                           const Frame& frame);
  /// Whether the result is a loss still, and taken with a minus.
  void take_sign(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) const;
  void look_at_randomness(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame);
  bool is_in_block(const Frame& frame) const;
  /// Of what an op computes of its operands alone; 0 where it does more, or one of them is not known.
  uint64_t identity_of(const ir::Op& op, const Frame& frame) const;
  /// Of a weight as it is now; 0 of one that stands for those of a list, or that `ema_update` moves unnoticed.
  uint64_t identity_of(WeightId weight) const;
  /// Of the one or the other, as a condition says.
  static uint64_t identity_of(const Value& condition, const Value& first, const Value& second);
  uint64_t new_identity() const;
  Value read_on_host(const ir::Op& op, const Frame& frame) const;
  /// What the gradient of `loss` for the weights of `of`, for all where it is 0, needs as it was before an update.
  std::optional<Update::Stale> stale(const Value& loss, OwnerId of) const;
  void update(const ir::Op& op, Frame& frame);
  void trainer(const ir::Op& op, Frame& frame);
  /// What a call of an optimizer does to its gradients.
  void use_gradients(const ir::Op& op, OwnerId owner);
  /// Notes `call`, which looks for gradients, where there are none.
  void find_none_left(const ir::Op& op, OwnerId owner, std::string_view call);
  void note_left_gradients();

  const Known& known(ir::ValueId id, const Frame& frame) const;
  const Value& use(ir::ValueId id, const Frame& frame) const { return *known(id, frame); }
  Value joined_operands(const ir::Op& op, const Frame& frame) const;
  /// Of the program rather than of the library: the place of the call, if need be.
  Span user_span(const ir::Op& op, const Frame& frame) const;
  Span written_span(const ir::Op& op, size_t operand, const Frame& frame) const;
  /// What the program calls, where the library comes to `name`.
  std::string called_name(std::string_view name, const Frame& frame) const;
  /// The place in the function that the trace began with.
  Span outer_span(const ir::Op& op, const Frame& frame) const;
  VersionId version_of(OwnerId owner) const;
  /// The number that stands for "what is after this op", the same each time.
  VersionId version_at(const ir::Op& op, OwnerId owner, Span span);
  Value parameter(const ir::Type& type) const;
  bool is_train_step() const { return root_->role == ir::Role::Step && root_->name.ends_with(".train"); }
  std::vector<WeightUse> weights_in(const Value& value, Span span) const;

  const ir::Module& module_;
  Heap& heap_;
  const Known nothing_ = new Value;
  const Known unknown_ = new Value(Value::unknown());
  const Known varying_ = new Value(Value::varying());
  std::unordered_map<std::string_view, const ir::Function*> functions_;  // of the module
  std::unordered_map<std::string_view, const ir::ObjectInfo*> objects_;
  std::unordered_set<const ir::Function*> followed_;
  bool tells_elements_apart_ = false;  ///< as the program does: the blocks of a list of known length are no `*`
  mutable std::unordered_map<const ir::Constant*, Known> constants_;  ///< of all functions, as `use` meets them
  /// The gradients of a manual step, by the owner of their weights.
  struct Gradients {
    std::map<OwnerId, Span> cleared;  ///< none since here, on every way
    std::map<OwnerId, Span> left;     ///< of this loss, which nobody took, on every way
    std::map<OwnerId, Span> clipped;  ///< here, and not taken since, on every way
    static Gradients join(const Gradients& left, const Gradients& right);
  };
  Gradients gradients_;
  std::set<OwnerId> reached_;     ///< by a `backward` of this run
  std::set<OwnerId> taken_;       ///< by a `step` that is always run
  std::set<OwnerId> begun_anew_;  ///< cleared before any `backward` reaches them
  boost::container::flat_set<const ir::Function*> active_;
  const ir::Function* root_ = nullptr;
  Versions versions_;
  std::vector<Span> update_spans_ = {Span{}};  ///< by version
  std::map<std::pair<const ir::Op*, OwnerId>, VersionId> version_ids_;
  std::vector<std::pair<std::set<WeightId>, Span>> frozen_;
  std::vector<Cut> no_grad_;
  /// Functions as values, with what was known where they were made.
  std::vector<std::pair<const ir::Op*, Frame>> closures_;
  std::vector<Fill> fills_ = {Fill{}};
  std::vector<SharedNoise> draws_ = {SharedNoise{}};
  /// What is a sum over records, or a sum of means of such ones.
  struct Total {
    std::vector<RecordSum> sums;
    bool is_mean = false;
  };
  std::vector<Total> totals_ = {Total{}};
  std::unordered_map<uint64_t, std::vector<Term>> sums_;  ///< of two to four terms
  struct Logarithm {
    uint64_t value = 0;  ///< its `Value::identity`
    std::string name;    ///< of the variable in the program
  };
  std::unordered_map<uint64_t, Logarithm> logarithms_;  ///< of what is an `exp`, by the identity of that
  mutable uint64_t identities_ = 0;                     ///< those that were given away
  size_t budget_ = 0;                                   ///< ops that this run may still follow
  size_t nested_ = 0;  ///< constructors that are being followed, each for a block of the one before
  size_t built_ = 0;   ///< ops of constructors that were followed by themselves, in all
  std::unordered_map<const ir::Function*, Span>
      normalized_;     ///< functions of blocks that were told of samples they mix
  size_t unsure_ = 0;  ///< conditions around the op at hand that only a run knows
};

}  // namespace ltr::training_logic
