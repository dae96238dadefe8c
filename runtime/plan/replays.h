#pragma once

// A graph on an accelerator. The host would be the limit there: so what runs node by node the first time is captured in the next run,
// and from then on queued by a call for many nodes.

#include "runtime/plan/cpu/schedule.h"
#include "runtime/plan/reference.h"
#include "runtime/tensor/accelerator.h"

namespace ltr::plan {

class Replays {
 public:
  /// Runs `stretches` of `graph` with the values of `reference`, whose weights and constants are `kept`. `deaths`: what goes behind each node.
  Replays(const Graph& graph, Reference& reference, std::vector<Stretch> stretches,
          const std::unordered_map<ValueId, Tensor>& kept, const std::vector<std::vector<ValueId>>& deaths);

  /// A run of all stretches begins; those of the last run that did not come stay out of it.
  void begin();
  /// Runs a stretch; each at most once a run, in their order.
  void run(size_t stretch);
  /// Whether values lie where the next run writes.
  bool lends_values() const { return phase_ == Phase::Captures || phase_ == Phase::Replays; }
  /// For people: how many calls there are, and what runs by itself.
  Str text() const;

 private:
  enum class Phase : uint8_t { NodeByNode, Captures, Replays, Off };
  /// Nodes in a row: captured, or by themselves.
  struct Segment {
    size_t begin = 0, end = 0;
    std::unique_ptr<Replay> replay;
    std::vector<std::pair<ValueId, at::Tensor>> places;  ///< of what it reads and no replay makes: copied to there
    std::vector<ValueId> last;                           ///< of these, what nobody needs behind it
    std::vector<std::pair<ValueId, Tensor>> results;     ///< that others than replays read
  };

  /// What was captured goes; it is tried again until there were too many refusals.
  void refuse(int more);
  bool has_moved() const;
  /// Runs nodes `begin` to `end` and makes segments of them.
  void divide(std::vector<Segment>& into, size_t begin, size_t end);
  bool has_gradient(size_t node) const;
  size_t least(size_t node) const;
  /// False if the device refuses: then nothing ran, and the node where it did so is by itself from now on.
  bool capture(std::vector<Segment>& into, size_t begin, size_t end);
  void run_alone(std::vector<Segment>& into, size_t begin, size_t end);
  void replay(Segment& segment);
  /// A replay made it: where it lies has to stay.
  void lend(ValueId id);

  const Graph& graph_;
  Reference& reference_;
  std::vector<Stretch> stretches_;
  const std::unordered_map<ValueId, Tensor>& kept_;
  const std::vector<std::vector<ValueId>>& deaths_;
  Phase phase_ = Phase::NodeByNode;
  size_t next_ = 0;                                            ///< stretch of this run
  std::vector<bool> is_alone_;                                 ///< nodes
  std::vector<std::vector<Segment>> segments_;                 ///< of each stretch
  std::vector<Segment*> made_in_;                              ///< of each value, where a replay makes or takes it
  std::vector<std::pair<at::Tensor, const void*>> addresses_;  ///< of what the replays read of `kept`
  int refusals_ = 0;
};

}  // namespace ltr::plan
