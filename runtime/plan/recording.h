#pragma once

// What is known of a step once it has run under a recorder: its graph, what of it the host decided, and what it did beside
// computing.

#include <functional>
#include <unordered_map>

#include "runtime/plan/graph.h"

namespace ltr::plan {

/// Why a step cannot be planned, and where.
struct Refusal {
  Str reason;
  Location location;
};

/// What the host was asked, and what it said. A plan holds while it says the same.
struct CountRead {
  int64_t Context::* field;
  int64_t value;
  bool operator==(const CountRead&) const = default;
};
struct PeriodRead {
  ltr::Value period;
  bool is_end;
  bool is_due;
  bool operator==(const PeriodRead& other) const {
    return period.to_text() == other.period.to_text() && is_end == other.is_end && is_due == other.is_due;
  }
};
struct TruthRead {
  int64_t number;
  const void* of;
  Location at;
  std::function<bool(const Context&)> holds;
  bool value;
  bool operator==(const TruthRead& other) const {
    return number == other.number && of == other.of && value == other.value;
  }
};
using Guard = std::variant<CountRead, PeriodRead, TruthRead>;
/// Whether the host of `cx` would say it now.
bool holds(const Guard& guard, const Context& cx);
/// For people: `global_step = 3`, `every 2 steps is due`, `the condition of x.ltr:14:8 holds`.
Str to_text(const Guard& guard);

// What a step does beside computing, in its order: calls of its context, and writes into what outlives it.
struct Minimized {
  ValueId loss;
  Optimizer* optimizer;
  bool is_last;
  std::vector<ValueId> by;     ///< the weights that it trains
  std::vector<ValueId> rests;  ///< those of them of which nothing moves without a gradient
  bool operator==(const Minimized&) const = default;
};
struct BackwardOf {
  ValueId loss;
  std::vector<ValueId> by;
  bool operator==(const BackwardOf&) const = default;
};
struct GradientsZeroed {
  Optimizer* optimizer;
  bool operator==(const GradientsZeroed&) const = default;
};
struct OptimizerStepped {
  Optimizer* optimizer;
  std::vector<ValueId> by;  ///< the weights that it moves
  bool operator==(const OptimizerStepped&) const = default;
};
struct NormClipped {
  Optimizer* optimizer;
  double limit;
  bool operator==(const NormClipped&) const = default;
};
struct ValueClipped {
  Optimizer* optimizer;
  double limit;
  bool operator==(const ValueClipped&) const = default;
};
struct RateSet {
  Optimizer* optimizer;
  double rate;
  bool operator==(const RateSet&) const = default;
};
struct TensorLogged {
  int slot;
  ValueId value;
  bool operator==(const TensorLogged&) const = default;
};
struct NumberLogged {
  int slot;
  double value;
  bool operator==(const NumberLogged&) const = default;
};
/// A state of a metric, and its value.
struct StateValue {
  Tensor* state;
  ValueId value;
  bool operator==(const StateValue&) const = default;
};
struct MetricLogged {
  int slot;
  Metric* metric;
  bool is_image;
  std::vector<StateValue> states;
  bool operator==(const MetricLogged&) const = default;
};
struct ImageLogged {
  int slot;
  ValueId value;
  bool operator==(const ImageLogged&) const = default;
};
struct HistogramLogged {
  int slot;
  ValueId value;
  bool operator==(const HistogramLogged&) const = default;
};
struct TextLogged {
  int slot;
  Str text;
  bool operator==(const TextLogged&) const = default;
};
struct Printed {
  Str text;
  bool operator==(const Printed&) const = default;
};
struct Stopped {
  Str reason;
  bool operator==(const Stopped&) const = default;
};
struct EpochEnded {
  Str reason;
  bool operator==(const EpochEnded&) const = default;
};
struct Saved {
  Str name;
  bool operator==(const Saved&) const = default;
};
struct MetricFed {
  const char* metric;
  ValueId value;
  bool operator==(const MetricFed&) const = default;
};
struct OutputValue {
  const char* name;
  ValueId value;
  bool is_texts;
  bool operator==(const OutputValue&) const = default;
};
struct OutputGiven {
  std::vector<OutputValue> values;
  bool operator==(const OutputGiven&) const = default;
};
struct BufferAssigned {
  ValueId buffer;
  ValueId value;
  bool operator==(const BufferAssigned&) const = default;
};
struct BufferFilled {
  ValueId buffer;
  double real;
  int64_t whole;
  bool is_int;
  bool operator==(const BufferFilled&) const = default;
};
struct AveragesMoved {
  std::vector<ValueId> target, source;
  double decay;
  bool operator==(const AveragesMoved&) const = default;
};
using Effect =
    std::variant<Minimized, BackwardOf, GradientsZeroed, OptimizerStepped, NormClipped, ValueClipped, RateSet,
                 TensorLogged, NumberLogged, MetricLogged, ImageLogged, HistogramLogged, TextLogged, Printed, Stopped,
                 EpochEnded, Saved, MetricFed, OutputGiven, BufferAssigned, BufferFilled, AveragesMoved>;
/// An effect behind the first `end` nodes.
struct Mark {
  size_t end;
  Effect effect;
  Location location;
};
/// The values that `effect` reads.
std::vector<ValueId> read_by(const Effect& effect);
/// What `effect` writes: buffers, or weights.
std::vector<ValueId> written_by(const Effect& effect);
/// Does `effect` again, with what `value` gives. A loss is one that has its gradient.
void apply(const Mark& mark, Context& cx, const std::function<Tensor(ValueId)>& value);

/// A field of the batch, or a state of a metric: other tensors in each run.
struct GivenField {
  ValueId value;
  size_t field;
};
struct GivenState {
  Tensor* state;
  ValueId before;
  ValueId after;
};

struct Recording {
  Graph graph;
  std::unordered_map<ValueId, Tensor> kept;  ///< weights and constants: the same tensors in each run
  std::vector<uint64_t> sites;               ///< of the next draw, behind each node
  std::vector<GivenField> fields;
  std::vector<GivenState> states;
  std::vector<Mark> marks;
  std::vector<Guard> guards;
  Option<Refusal> refusal;
};
/// What tells that the runs behind `first` and `second`, of two batches, did not compute the same; nothing if they did.
Option<Refusal> difference(const Recording& first, const Recording& second);

}  // namespace ltr::plan
