#pragma once

#include <set>

#include "codegen/training_logic/heap.h"

namespace ltr::training_logic {

/// `minimize loss with opt`, or `backward loss` without an owner.
struct Update {
  Span span;
  Span loss_span;
  Value loss;
  OwnerId owner = 0;
  struct Stale {
    OwnerId owner = 0;
    Span read;
    Span update;
  };
  std::optional<Stale> stale;  ///< weights that the way back needs as they were before
};

/// An activation whose result a loss or a metric takes, which applies one itself.
struct Doubled {
  Span span;
  std::string taker;
  Activation activation;
  bool is_metric = false;
  bool takes_both = false;  ///< the metric has a setting that says which
  bool is_idle = false;     ///< once more it gives what it was given
};

/// What a loss of probabilities, or of their logarithms, takes, and is none: the other one, or scores.
struct Misfit {
  Span span;
  library::Id taker = library::Id::None;
  Activation given;
  bool are_exchanged = false;  ///< what is wanted first stands second
  bool is_wanted = false;      ///< what the loss compares with, which are probabilities
  std::string metric;          ///< that takes it, rather than a loss
};

/// An activation over the axis of the samples of a batch; or numbers of all of them, which meet each.
struct MixedSamples {
  enum class Of : uint8_t { Each, OneNumber, Columns };
  Span span;
  library::Id function = library::Id::None;
  std::string size;  ///< of that axis, as the program calls it
  Of of = Of::Each;
};

/// A mask that is true at the places at which it should be false.
struct TurnedMask {
  Span span;
  std::string taker;  ///< `key_padding_mask`, `mask`, `masked_fill`, `where`, or + of what is added to scores
  Places places = Places::Any;
  bool hides = false;  ///< of `where`: it takes the number where its mask is true
};

/// What should hide scores from soft-max, and does not.
struct ShownScores {
  Span span;
  std::string what;      ///< "a fill of 0"
  bool is_mask = false;  ///< numbers that attention adds to the scores
};

/// A target of 0 and 1 where a loss takes 1 and -1.
struct NoSigns {
  Span span;
  library::Id loss = library::Id::None;
};

/// Soft-max over an axis of size 1, or over another axis than that of the classes.
struct OddAxis {
  Span span;
  library::Id function = library::Id::None;
  int64_t axis = 0;     ///< of the latter
  uint64_t scores = 0;  ///< of the latter: `Value::identity` of what it is applied to
};

/// Soft-max over another axis than the last one of what is the first factor of a product.
struct UnsummedAxis {
  Span span;
  Span product;
  int64_t axis = 0;
};

/// Random numbers that all records of a batch have in common.
struct SharedNoise {
  Span span;
  Span meets;  ///< where each record meets them
  library::Id function = library::Id::None;
  std::string size;   ///< how many records, as the program calls it
  std::string shape;  ///< of the numbers
};

/// Normal noise, and what stands beside it in a product.
struct ScaledNoise {
  Span span;
  uint64_t scale = 0;   ///< `Value::identity` of it, or of what it is the `exp` of
  bool is_exp = false;  ///< the latter
  std::string name;     ///< of what has that identity, "" if it has none
};

/// A mean of a sum over the records of a batch.
struct RecordSum {
  Span span;
  std::string size;  ///< how many records, as the program calls it
  size_t rank = 0;   ///< axes of what is summed
};

/// `opt.clip_norm(x)` of gradients that no `opt.step()` takes.
struct LostClip {
  Span span;
  OwnerId owner = 0;
};

/// Rows of a batch, taken by what says nothing of them.
struct PickedRows {
  enum class By : uint8_t {
    Field,   ///< some, by what a field says
    Places,  ///< some, by places of another axis
    Each,    ///< of each of them what all of them name
    OneRow,  ///< the first, which an index of one row looks at
  };
  Span span;
  std::string size;  ///< how many they are, as the program calls it
  By by = By::Field;
};

/// A loss whose sides are the same value, or stand in each other's place.
struct Sides {
  Span span;
  library::Id loss = library::Id::None;
  std::string same;         ///< which are the same; "" if they are exchanged
  std::string metric = {};  ///< that is given them, in place of a loss
  Span call = {};           ///< of the function that it stands in, where that is given them
};

/// A loss or metric whose sides have their rows in another order.
struct OtherRows {
  Span span;
  std::string taker;
  std::string predicted, wanted;  ///< `S · B`
};

/// `opt.step()` or `opt.clip_norm(x)` where the gradients were thrown away or used up.
struct IdleCall {
  Span span;
  Span cleared;
  OwnerId owner = 0;
  std::string call;
};

/// A `backward` whose gradients of weights of `owner` nobody takes in this step.
struct LeftGradients {
  Span span;
  OwnerId owner = 0;
};

/// `ema_update` of weights of which some are not like those that they follow.
struct UnlikeAverage {
  Span span;
  std::string why;
  bool is_held = false;  ///< some of them are frozen
};

/// `ema_update`, and the weights that the others follow.
struct Followed {
  Span span;
  std::vector<WeightUse> weights;
};

/// Random numbers drawn in evaluation.
struct Draw {
  Span span;
  std::string step;
  bool is_mask = false;
  Span site;  ///< in the step: what draws, calls what draws, or brings the inputs to it
};

struct MetricUse {
  Span span;
  const ir::Function* step = nullptr;
  ObjectId object = 0;
  std::string member;
};

struct SecondOwner {
  WeightUse weight;  ///< as the second optimizer names it
  WeightUse first;   ///< as the first one does
  OwnerId owner = 0;
};

/// What an optimizer is given beside others, and a `freeze` holds: one weight of it.
struct FrozenPart {
  WeightUse weight;
  OwnerId owner = 0;
};

/// A pattern of an `init` or a group, and the weights that it may choose from.
struct Pattern {
  Span span;
  std::string text;
  std::string of;  ///< what the weights belong to, for messages
  std::vector<WeightUse> weights;
  bool is_init = false;
  bool is_place = false;        ///< of a callback: takes what lies below, too
  std::string begins_matrices;  ///< of an `init`: what it calls that gives no value of one dim
  size_t groups_before = 0;  ///< of a group: those of its optimizer that come first, right in front of this in the list
};

/// What a trace met; the rules make diagnostics of it.
struct Findings {
  std::vector<Update> updates;
  std::vector<Doubled> doubled;
  std::vector<Misfit> misfits;
  std::set<Span> class_scores;  ///< made there, `cross_entropy` takes them
  std::vector<MixedSamples> mixed_samples;
  std::vector<TurnedMask> turned_masks;
  std::vector<PickedRows> picked_rows;
  std::vector<ShownScores> shown_scores;
  std::vector<NoSigns> no_signs;
  std::vector<OddAxis> single_axes;
  std::vector<OddAxis> other_axes;
  std::map<uint64_t, Span> classes_first;  ///< by `Value::identity`: `cross_entropy` takes their axis 1 for the classes
  std::vector<UnsummedAxis> unsummed_axes;
  std::vector<SharedNoise> shared_noises;
  std::vector<ScaledNoise> scaled_noises;
  std::map<uint64_t, Span> log_variances;  ///< by `Value::identity`: `1 + x - m ** 2 - exp(x)` of them is there
  std::vector<RecordSum> record_sums;      ///< a loss is a sum with it
  std::vector<LostClip> lost_clips;
  std::vector<Span> mean_divergences;  ///< of `kl_div`, over all numbers
  std::vector<OtherRows> other_rows;
  std::vector<Sides> sides;
  std::vector<UnlikeAverage> averages;
  std::vector<Followed> followed;
  std::vector<IdleCall> idle_calls;
  std::vector<LeftGradients> left_gradients;
  std::vector<Draw> draws;
  std::vector<MetricUse> metrics;
  std::vector<SecondOwner> second_owners;
  std::vector<FrozenPart> frozen_parts;
  std::vector<Span> statistics;  ///< BatchNorm in a train step
  std::vector<Pattern> patterns;
  std::set<Span> cut;      ///< the functions that were not followed to their end
  bool has_error = false;  ///< some code met could not be checked
};

}  // namespace ltr::training_logic
