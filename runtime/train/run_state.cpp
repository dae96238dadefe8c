#include "runtime/train/run_state.h"

#include <algorithm>

#include "runtime/train/finite_gate.h"
#include "runtime/train/left_out_records.h"
#include "runtime/train/loss_scale.h"
#include "runtime/train/metric_inputs.h"
#include "runtime/train/root_state.h"

namespace ltr {

void Position::visit(Archive& archive) {
  archive.value("epoch", epoch);
  archive.value("batch", batch);
  // Older checkpoints are of one process, and whoever goes on with another batch size begins its epoch elsewhere.
  if (archive.has("begun")) archive.value("begun", begun);
  if (archive.has("batch_size")) archive.value("batch_size", batch_size);
  archive.value("step", global_step);
  archive.value("batch_counter", batch_counter);
  archive.value("samples", samples);
  archive.value("round_step", round_step);
  archive.value("round_time_s", round_time_s);
  archive.value("train_s", train_s);
  archive.value("round_is_due", round_is_due);
  archive.value("ends_epoch", ends_epoch);
}

void RunState::visit(Archive& archive) {
  at.visit(archive);
  outcome.visit(archive);
  threads.visit(archive);
  planned_forms.visit(archive);
  rows.visit(archive);
  gate.visit(archive);
  scale.visit(archive);
  metric_inputs.visit(archive);
  left_out.visit(archive);
  logs.visit(archive, train_stream);
  listeners.visit(archive);
  const Archive::Part optimizers(archive, "optimizers");
  for (const Str& name : archive.names()) {
    const bool is_known = std::any_of(root.optimizers.begin(), root.optimizers.end(),
                                      [&](const auto& one) { return one->name() == name; });
    if (!is_known) archive.note(fmt::format("the program has no optimizer {} any more; what it kept is dropped", name));
  }
  for (const auto& optimizer : root.optimizers) {
    if (!archive.has(optimizer->name())) {
      archive.note(fmt::format("the checkpoint has no optimizer {}; it begins anew", optimizer->name()));
      continue;
    }
    const Archive::Part own(archive, optimizer->name());
    optimizer->visit(archive, is_alone);
  }
}

}  // namespace ltr
