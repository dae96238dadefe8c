#pragma once

// What is known about a value without running the program.

#include <bit>
#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/ir/step.h"
#include "dsl/source/span.h"

namespace ltr::training_logic {

using source::Span;

/// Gradients and updates go by optimizer, so weights are told apart by who owns them: an index into
/// `Heap::owners`. Owner 0 stands for weights without an optimizer.
using OwnerId = uint32_t;
/// Which update the weights of an owner have seen: an index into `Trace::updates`; 0 is the start
/// of the step.
using VersionId = uint32_t;
using WeightId = uint32_t;
using ObjectId = uint32_t;

/// Weights, a bit for each.
class WeightSet {
 public:
  void insert(WeightId weight);
  void insert(const WeightSet& others);
  void clear() { words_.clear(); }
  /// In order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t rest = words_[i]; rest != 0; rest &= rest - 1)
        visit(WeightId(64 * i + size_t(std::countr_zero(rest))));
    }
  }
  bool operator==(const WeightSet&) const = default;

 private:
  std::vector<uint64_t> words_;  ///< the last one is not zero
};

/// The weights of one owner as they were after one update.
struct Snapshot {
  OwnerId owner = 0;
  VersionId version = 0;
  auto operator<=>(const Snapshot&) const = default;
};

/// Gradients reach the weights `to`, and on the way need the values of the weights `through`.
struct Path {
  Snapshot to;
  Snapshot through;
  auto operator<=>(const Path&) const = default;
};

/// Where the way of gradients to some weights ends.
struct Cut {
  Span span;
  std::string by;         ///< "`argmax`", "`stop_grad`", "`no_grad`"
  bool is_meant = false;  ///< what cuts was written to cut
};

struct Activation {
  library::Id function = library::Id::None;
  Span span;
};

/// Where a mask of places is true. Of numbers: where they are above 0.
enum class Places : uint8_t {
  Any,
  Own,       ///< of rows: at those that hold something
  Filled,    ///< at those that are filled up
  Above,     ///< where a field is above 0: as Own, if the field are ids
  NotAbove,  ///< likewise as Filled
  Before,  ///< of each place, the last axis but one: at all places of the last axis that come before it, and maybe more
  After,   ///< at places that come after it or are it, and at no others
};

/// Where what is true at `places` is false.
Places turned(Places places);

/// One number of all samples of a batch, or one of each column of theirs.
struct OfAll {
  library::Id function = library::Id::None;
  Span span;
  std::string size;  ///< how many samples, as the program calls it
  bool is_of_columns = false;
};

/// Two axes that were made one, the first of a value: in their order, as the function calls them that did it.
struct JoinedAxes {
  const ir::Function* function = nullptr;
  ir::DimId outer, inner;
  bool operator==(const JoinedAxes&) const = default;
};

/// A place where blocks and weights are made: `net.body.3` below one model.
struct Scope {
  uint32_t root = 0;
  std::string path;

  Scope below(std::string_view name) const;
  /// Whether `other` is this place or lies below it.
  bool holds(const Scope& other) const;
  /// What people and patterns call the weight at `other`, from this place on.
  std::string name_of(const Scope& other) const;

  bool operator==(const Scope&) const = default;
  struct Hash {
    size_t operator()(const Scope& scope) const { return std::hash<std::string>()(scope.path) ^ scope.root; }
  };
};

/// One of the tensors that a `weights` stands for, and where it was asked for.
struct WeightUse {
  WeightId weight = 0;
  Scope scope;
  Span span;
  bool is_part = false;            ///< of a block that the list, tuple or record holds of which it was asked
  std::optional<int64_t> element;  ///< of a list of unknown length: which one was asked for; nothing: any, or all
};

struct Value;
/// A value that frames, objects and lists share: nobody writes it any more.
using Known = boost::intrusive_ptr<const Value>;

struct Value : boost::intrusive_ref_counter<Value, boost::thread_unsafe_counter> {
  bool is_unknown = false;  ///< hangs on code that could not be checked: anything may be true of it
  bool varies = false;      ///< hangs on data, buffers, weights or random numbers
  bool is_none = false;
  bool may_be_none = false;        ///< hangs on what only a run knows
  std::optional<int64_t> element;  ///< likewise of blocks that stand for all of a list
  bool is_of_input = false;        ///< hangs on what the step was given
  std::optional<Span> noise;       ///< drawn here by the step itself; neither a weight nor an input has met it yet
  bool is_uniform_draw = false;    ///< uniform random numbers, what a mask is made of
  bool is_field = false;           ///< integers of the batch as they came
  bool is_counted = false;         ///< 0, 1, 2, …
  bool names_others = false;       ///< whole numbers, places of an axis that is not that of the records
  bool is_ones = false;
  Places places = Places::Any;
  bool is_zero_or_one = false;   ///< numbers that say what is true
  std::optional<double> filled;  ///< all of its numbers are this one
  Places hidden = Places::Any;   ///< added to scores it hides those at these places
  uint32_t fill = 0;             ///< what some of its numbers were filled with: an index into `Trace::fills`
  uint32_t draw = 0;             ///< random numbers, or a product with them: an index into `Trace::draws_`
  uint32_t total = 0;  ///< a sum over the records of a batch, moved and scaled: an index into `Trace::totals_`
  bool is_of_all_records = false;  ///< hangs on numbers of all records of a batch
  bool may_count = false;          ///< a number of the host, and maybe one by that of the records
  uint64_t order_of = 0;           ///< of which these have the order, or are the choice: the `identity` of those
  uint64_t identity = 0;           ///< values that have the same one are the same in each run; 0: nobody knows
  std::optional<ir::Constant> constant;
  std::optional<std::pair<int64_t, int64_t>> range;  ///< each whole number from the first to below the second, in turn
  boost::container::flat_map<Path, Span> paths;      ///< with the place where the weights were read
  boost::container::flat_map<OwnerId, Cut> cuts;     ///< owners on whose weights it hangs, but no gradient reaches them
  boost::container::flat_set<Snapshot> leaves;       ///< it is a weight, or a view of one
  WeightSet reached;                                 ///< by gradients
  std::optional<Cut> lost_term;                      ///< a term of this sum has no gradient
  bool is_share = false;                             ///< a number times something, as terms of a loss are weighted
  library::Id loss = library::Id::None;  ///< it is this loss of the library, or a share of it, or a sum with it
  bool is_of_target = false;             ///< that compares with something of the batch
  bool is_of_given = false;              ///< and with nothing that hangs on weights
  bool is_each = false;                  ///< the numbers of that loss, of which none is summed up yet
  std::optional<Span> negated;           ///< where that is taken with a minus
  std::string negated_name;              ///< and what the program calls what stands behind the minus
  Activation activation;                 ///< what was applied last: an activation, or a layer that gives scores
  std::optional<JoinedAxes> rows;        ///< what its first axis is made of
  std::optional<OfAll> of_all;           ///< it is that, or computed of that and numbers
  std::vector<WeightUse> weights;        ///< of type weights; or the one weight it is
  std::vector<WeightUse> frozen;         ///< of type weights: of each place whose weights all stay as they are, one
  std::vector<uint32_t> closures;        ///< the function it may be: indices into `Trace::closures`
  std::vector<ObjectId> objects;         ///< the block, model … it may be
  std::optional<OwnerId> optimizer;
  const ir::Op* group = nullptr;  ///< of an optimizer: where it is made
  std::optional<Span>
      maximize;  ///< of a setting that is `true`, or of an optimizer's rule that has it: where it is given
  std::optional<Scope> scope;
  std::vector<Known> parts;  ///< of a tuple, record or list
  bool is_uniform = false;   ///< a list whose elements are all like parts[0]

  Value() = default;
  static Value unknown() {
    Value value;
    value.is_unknown = true;
    return value;
  }
  static Value varying() {
    Value value;
    value.varies = true;
    return value;
  }
  static Value object(ObjectId id) {
    Value value;
    value.objects = {id};
    return value;
  }
  static Value of(ir::Constant constant) {
    Value value;
    value.constant = std::move(constant);
    return value;
  }

  /// Itself or a part of it.
  bool holds_input() const;
  std::optional<Span> held_noise() const;
  /// Equal as far as analysis is concerned; places do not count.
  bool same_as(const Value& other) const;
};

/// The number that it is known to be.
std::optional<double> number_of(const Value& value);
/// What holds of a value that is one or the other.
Value join(const Value& left, const Value& right);
/// Adds what `from` hangs on to `into`, its parts too; not what it is.
void depend(Value& into, const Value& from);
/// The value without gradients.
Value severed(Value value, const Cut& cut);
/// The value where weights of version `from` have version `to` now.
Value renamed(Value value, Snapshot from, VersionId to);

}  // namespace ltr::training_logic
