#include "runtime/train/repeated_step.h"

#include <algorithm>

#include "runtime/optim/optimizer.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/root_state.h"

namespace ltr {

void check_repeated_step(const RunRequest& request, const StepInfo& step, const Windows& windows) {
  const auto& optimizers = request.root.state().optimizers;
  const auto found = std::ranges::find_if(optimizers, [](const auto& optimizer) { return optimizer->repeats_step(); });
  if (found == optimizers.end()) return;
  const auto refuse = [&](const Location& location, const char* what, const char* help) {
    const Str text = fmt::format("{} repeats step {} (LBFGS), which {}", (*found)->name(), step.name, what);
    throw with_help(error_at(location, err::settings_contradict, text), help);
  };
  if (step.is_manual || !step.updates_always || optimizers.size() > 1)
    refuse(step.location, "needs one `minimize`, that every batch comes to", "another optimizer has no such need");
  const Location& where = request.experiment.location;
  if (!windows.is_constant() || windows.rows(0, 0) != 1)
    refuse(where, "knows one batch", "accumulate = 1, and larger batches: `collate(size)`");
  if (precision().scales)
    refuse(where, "finds no step lengths in losses that are scaled (f16)", "precision = bf16, or f32");
  if (request.division.what != Divides::Nothing && request.ranks.world() > 1)
    refuse(where, "needs all weights on each rank", "strategy = ddp");
}

}  // namespace ltr
