#include "runtime/cli/step_params.h"

#include <algorithm>

#include "runtime/cli/tensor_param.h"
#include "runtime/settings/value_text.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/feed.h"

namespace ltr::cli {

GivenParams read_step_params(const Start& start, const StepInfo& step) {
  GivenParams out;
  std::vector<Error> faults;
  for (const StepParam& param : step.params) {
    const Str type = param.type;
    const bool is_given = start.line.has(param.name);
    const Str text = is_given ? start.line.get(param.name) : Str(param.initial);
    if (!is_given && text.empty() && type != "str") {
      faults.push_back(with_help(error_at(param.location, err::wrong_type, Str("--") + param.name, "not given", type),
                                 Str("step ") + step.name + " needs it"));
      continue;
    }
    Value value;
    if (is_tensor_type(type)) {
      out.params.tensors.push_back(give(tensor_param(param, text, *start.data, out.is_text)));
    } else {
      Str wanted;
      const Option<Value> parsed = parse_value(text, type, wanted);
      if (!parsed)
        faults.push_back(error_at(param.location, err::wrong_type, Str("--") + param.name, '"' + text + '"', wanted));
      value = parsed.value_or(Value());
    }
    out.params.values.push_back(std::move(value));
  }
  if (!faults.empty()) throw Faults{faults};
  return out;
}

void give_predict_params(const Start& start, RunRequest& request) {
  const StepInfo* step = find_step(*start.experiment, Role::Predict);
  if (step == nullptr) return;
  if (streams_of(*start.data, Role::Predict).empty()) return;  // its inputs would come from the command line
  const bool is_shown = std::ranges::any_of(request.callbacks, [](const Value& call) {
    return call.text == "SamplePredictions" || call.text == "ImageGrid";
  });
  if (request.flags.fast_dev_run > 0 || is_shown)
    request.step_params[size_t(Role::Predict)] = read_step_params(start, *step).params;
}

}  // namespace ltr::cli
