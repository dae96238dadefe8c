#include "dsl/check/settle.h"

#include <set>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/library/library_call.h"

namespace ltr::check {

Program settle(Program checked) {
  for (Experiment& experiment : checked.experiments) {
    if (const auto batch = find_train_batch(checked, experiment)) {
      experiment.train_batch = batch->records;
      experiment.train_batch_span = batch->size.given;
    }
  }
  KnownDraws known;
  for (FnId fn = 0; fn < checked.fns.size(); ++fn) checked.fns[fn].draws_random = draws_random(checked, fn, known);
  return checked;
}

}  // namespace ltr::check
