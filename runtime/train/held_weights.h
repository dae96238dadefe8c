#pragma once

// Weights that callbacks keep from training until an epoch: `FreezeUntil` and the stages of `Unfreeze` (runtime.md 3.3).

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/train/root_state.h"

namespace ltr {

struct RunRequest;

class HeldWeights {
 public:
  /// Everything trains until `apply`. R2006 for a pattern that takes no weight, for a weight that two of them hold, and where
  /// nothing would train.
  explicit HeldWeights(const RunRequest& request);
  ~HeldWeights();
  HeldWeights(const HeldWeights&) = delete;
  HeldWeights& operator=(const HeldWeights&) = delete;

  bool is_empty() const { return stages_.empty(); }
  /// What is held, and the epoch from which on it trains.
  std::vector<std::pair<Str, int64_t>> ends() const;
  /// As `epoch`, counted from 0, has it: what is held needs no gradient, the others move by their share of the rate. Gives whether other
  /// weights train than before.
  bool apply(int64_t epoch);
  /// What begins to train in `epoch`, in words; "" if nothing does.
  Str released_in(int64_t epoch) const;

 private:
  struct Stage {
    Str what;
    Str except;
    int64_t epoch;
    double lr_ratio;
    double growth;
    bool train_norm;
    Location location;
    std::vector<std::pair<Optimizer*, Weight>> weights;
    std::vector<const void*> norms;  ///< running values of norms that rest with them

    bool holds(int64_t now) const { return now < epoch; }
    double share(int64_t now) const;
  };

  void add(const Value& call);
  void find_weights(Stage& stage, const char* callback);
  void find_norms(Stage& stage) const;
  /// Leaves out what an earlier stage of the same callback holds, of which the first is `first`; R2006 for what another callback does.
  void leave_to_earlier(Stage& stage, size_t first) const;
  void refuse_standstill() const;

  RootState& root_;
  std::vector<Stage> stages_;
};

}  // namespace ltr
