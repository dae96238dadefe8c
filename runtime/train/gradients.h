#pragma once

// The gradients of a window, by optimizer: of its rows here, and of all ranks together once the last row is there.
//
// An optimizer's gradients cross ranks when its last `minimize` of the window runs, overlapped with that backward pass. All
// ranks must do so in the same order. Where a step may leave some of its updates out, a rank that is done says so and joins
// those of the others with nothing, until all are done.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/train/backward.h"
#include "runtime/train/bucket_trial.h"
#include "runtime/train/late_gate.h"
#include "runtime/train/progress.h"

namespace ltr {

class Gradients {
 public:
  Gradients(ModelRoot& root, const Ranks& ranks, const GradientTravel& travel, const LossScale& scale,
            const LateGate& late, Progress& progress);

  /// What came for an optimizer, of all ranks once they are summed.
  struct Came {
    double share = 0;  ///< of the window's weight
    double rows = 0;
    double bad = 0;  ///< rows whose loss is not finite: they gave nothing
    bool is_bad_here = false;
    at::Tensor
        bad_later;  ///< f32[]: ranks with a loss that is not finite, where the host does not know it yet and there are several
  };

  /// `may_differ`: the ranks may leave different updates out.
  void begin_window(bool may_differ);
  /// Other weights train than before, on all ranks. Between windows.
  void trains_changed();
  /// The row that runs now.
  void set_row(double share, bool is_last) {
    share_ = share;
    is_last_row_ = is_last;
  }
  /// Whether the row that runs now is the whole window.
  bool is_alone() const { return share_ == 1 && is_last_row_; }
  /// One `minimize`: adds the row's gradient. In the last row the ranks' are summed.
  void add(const at::Tensor& loss, const Optimizer& optimizer, bool keep_graph, bool is_finite);
  /// The same without a sum over ranks, for a step that is only looked at.
  void repeat(const at::Tensor& loss, const Optimizer* optimizer, bool keep_graph) {
    backward_.run(loss, share_, optimizer, keep_graph);
  }
  /// What came for `optimizer`, which is forgotten.
  Came take(const Optimizer& optimizer);
  /// An optimizer whose last row did not reach it, or that another rank updates; null when all ranks are done.
  Optimizer* next_open();

  /// A manual step: gradients stay here until `gather`, which sums those that came since the last one.
  void add_manual(const at::Tensor& loss, bool is_finite);
  /// What came for it, of all ranks. Where some of it is bad, its gradients are of no use.
  Came gather(const Optimizer& optimizer);
  /// Its gradients are gone: the next ones are new.
  void forget(const Optimizer& optimizer);

  /// Of all sums since the run began.
  GradientSum::Times times() const;

 private:
  struct OfOptimizer {
    Optimizer* optimizer = nullptr;
    Came came;
    bool is_open = false;             ///< rows came that no update took
    bool is_gathered = false;         ///< of a manual step: the sums are there
    std::vector<at::Tensor> weights;  ///< that are trained
    std::vector<at::Tensor> summed;   ///< of a manual step: gradients that were gathered before others came, by weight
    std::unique_ptr<GradientSum> sum;
    at::Tensor mark;  ///< travels as one more weight, where LateGate looks at losses: its gradient is `bad_loss`
  };
  struct Turn {
    OfOptimizer* one = nullptr;  ///< whose turn it is; null: all ranks are done
    Came all;
    bool is_whole = false;  ///< some rank has a gradient for each of its weights
  };

  void find_trained();
  OfOptimizer& of(const Optimizer& optimizer);
  GradientSum& sum_of(OfOptimizer& one);
  /// One backward pass of `loss`, which may be undefined, and the sum over ranks beside it.
  void run_summed(const at::Tensor& loss, OfOptimizer& one, bool keep_graph, const std::vector<at::Tensor>& unreached);
  /// Tells the others what is open here and what is `updated` now, if something is; `is_whole`: with all gradients.
  std::unique_ptr<PendingSum> begin_vote(const OfOptimizer* updated, bool is_whole) const;
  Turn counted(PendingSum& votes);
  /// Sums over ranks while the gradient of `loss`, nothing if it is undefined, is added.
  void add_summed(const at::Tensor& loss, OfOptimizer& one, bool keep_graph);
  void settle(OfOptimizer& one, const Turn& turn, const std::vector<at::Tensor>& lacking);
  /// Ranks with a bad loss, where that does not come with the gradients.
  at::Tensor count_bad_losses(const OfOptimizer& one) const;
  /// Of a manual step, where ranks divide gradients.
  void gather_parts(OfOptimizer& one, std::span<const double> reached);
  void gather_whole(OfOptimizer& one, std::span<const double> reached);

  /// The windows before took `window_s_`: the next ones may sum in buckets of another size.
  void try_buckets();

  const RootState& root_;
  const Ranks& ranks_;
  GradientTravel travel_;
  const LateGate& late_;
  Backward backward_;
  std::vector<OfOptimizer> all_;  ///< as the model declares them, the same on every rank
  double share_ = 1;
  bool is_last_row_ = true;
  bool may_differ_ = false;
  bool are_held_ = false;  ///< some weights that do not train now: a loss may reach no others
  Progress& progress_;
  Option<BucketTrial> trial_;        ///< while it goes on
  double window_s_ = 0;              ///< of summed backward passes, while sizes are tried
  GradientSum::Times times_before_;  ///< of sums that are gone
};

}  // namespace ltr
