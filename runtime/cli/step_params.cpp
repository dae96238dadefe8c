#include "runtime/cli/step_params.h"

#include <algorithm>

#include "runtime/cli/tensor_param.h"
#include "runtime/settings/value_text.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/feed.h"

namespace ltr::cli {

namespace {

bool has_stream(const Data& data, Role role) {
  return std::any_of(data.streams.begin(), data.streams.end(),
                     [&](const Data::RoleStream& one) { return one.role == role; });
}

}  // namespace

GivenParams read_step_params(const Start& start, const StepInfo& step) {
  GivenParams out;
  std::vector<Error> faults;
  for (const StepParam& param : step.params) {
    const Str type = param.type;
    const bool is_given = start.line.has(param.name);
    const Str text = is_given ? start.line.get(param.name) : Str(param.initial);
    if (!is_given && text.empty() && type != "str") {
      // Fields of the data come from its stream, if there is one.
      const bool is_lost_field =
          step.role == Role::Predict && is_tensor_type(type) && !has_stream(*start.data, step.role);
      faults.push_back(with_help(
          error_at(param.location, err::wrong_type, Str("--") + param.name, "not given", type),
          fmt::format("step {} needs it{}", step.name,
                      is_lost_field
                          ? fmt::format("; the data {} has no stream `predict` to take it from", start.experiment->data)
                          : "")));
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
