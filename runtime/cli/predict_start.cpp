#include "runtime/cli/predict_start.h"

#include "runtime/train/model_root.h"

namespace ltr::cli {

PredictStart start_predict(Start& start) {
  start.resolve();
  start.set_up_device();
  const StepInfo* step = find_step(*start.experiment, Role::Predict);
  if (step == nullptr) {
    throw error_at(start.experiment->location, err::settings_contradict,
                   fmt::format("the model {} has no step predict", start.experiment->model));
  }
  PredictStart made{.step = *step};
  made.weights = find_weights(start, start.line.get("weights"), made.run);
  start.settings.set_run(made.run.empty() ? start.out_dir() : made.run, start.run_name());
  start.list_callbacks();
  start.know_from(made.weights);
  start.build();
  if (!made.weights.empty()) load_weights(*start.root, made.weights, !start.line.has("raw"));
  return made;
}

}  // namespace ltr::cli
