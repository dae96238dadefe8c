#pragma once

// A graph on an accelerator, where the host would be the limit: after a run node by node it is captured, and from then on queued by a call
// for many nodes.

#include "runtime/plan/cpu/schedule.h"
#include "runtime/plan/reference.h"
#include "runtime/tensor/accelerator.h"

namespace ltr::plan {

class Replays {
 public:
  /// Runs `stretches` of `graph` with the values of `reference`, whose weights and constants are `kept`. `deaths`: what goes behind each node.
  Replays(const Graph& graph, Reference& reference, std::vector<Stretch> stretches,
          const std::unordered_map<ValueId, Tensor>& kept, const std::vector<std::vector<ValueId>>& deaths);

  /// Whether the next run has to be captured first: it ran once, which set up the libraries of the device, or a weight lies elsewhere now.
  bool is_due();
  /// Computes all stretches with the inputs that `reference` has, and keeps how. It computes them itself: what the step does between them is not
  /// there, so a device that refuses costs nothing but time.
  void capture();
  void run(size_t stretch);
  /// Whether values lie where the next run writes.
  bool lends_values() const { return phase_ == Phase::Replays; }
  /// For people: how many calls there are, what runs by itself, and what the device said.
  Str text() const;

 private:
  enum class Phase : uint8_t { NodeByNode, Replays, Off };
  /// Nodes in a row: captured, or by themselves.
  struct Segment {
    size_t begin = 0, end = 0;
    std::unique_ptr<Replay> replay;
    std::vector<std::pair<ValueId, at::Tensor>> places;  ///< of what it reads and no replay makes: copied to there
    std::vector<ValueId> last;                           ///< of these, what nobody needs behind it
    std::vector<std::pair<ValueId, Tensor>> results;     ///< that others than replays read
  };

  bool has_moved() const;
  /// Makes segments of nodes `begin` to `end`; false if the graph cannot be captured.
  bool divide(std::vector<Segment>& into, size_t begin, size_t end);
  /// False if the device refuses: then nothing ran, and the node where it did so is by itself from now on.
  bool capture(std::vector<Segment>& into, size_t begin, size_t end);
  bool has_gradient(size_t node) const;
  void run_alone(std::vector<Segment>& into, size_t begin, size_t end);
  void replay(Segment& segment);
  /// If a replay makes it, it has to stay where it lies.
  void lend(ValueId id);

  const Graph& graph_;
  Reference& reference_;
  std::vector<Stretch> stretches_;
  const std::unordered_map<ValueId, Tensor>& kept_;
  const std::vector<std::vector<ValueId>>& deaths_;
  Phase phase_ = Phase::NodeByNode;
  bool has_run_ = false;
  std::vector<bool> is_alone_;                                 ///< nodes
  std::vector<std::vector<Segment>> segments_;                 ///< of each stretch
  std::vector<Segment*> made_in_;                              ///< of each value that a replay makes or takes
  std::vector<std::pair<at::Tensor, const void*>> addresses_;  ///< of `kept`
  int refusals_ = 0;
  Str refusal_;  ///< the first
};

}  // namespace ltr::plan
