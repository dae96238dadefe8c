#include "runtime/train/batch_weight.h"

#include <ATen/ATen.h>

#include "runtime/api/error.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"

namespace ltr {

BatchWeight::BatchWeight(const RunRequest& request) {
  const Value& weigh = request.trainer.weigh;
  const Location& where = request.experiment.location;
  if (weigh.text == "samples") return;
  per_batch_ = weigh.text == "batches";
  if (per_batch_) return;
  if (weigh.text != "count" || weigh.items.empty()) {
    throw error_at(where, err::wrong_type, "trainer.weigh", weigh.to_text(), "samples, batches or count(…)");
  }
  const Str& name = weigh.items[0].value.as_str();
  for (size_t i = 0; i < request.data.batch.size(); i++) {
    if (name == request.data.batch[i].name) field_ = int(i);
  }
  if (field_ < 0) throw error_at(where, err::unknown_setting, fmt::format("trainer.weigh: field {}", name));
  if (const Value* ignore = weigh.find("ignore")) ignore_ = ignore->as_int();
}

double BatchWeight::of(const Batch& batch) const {
  if (field_ >= 0 && batch.fields[size_t(field_)].defined()) {
    const In field(batch.fields[size_t(field_)]);
    // Batches come from the loader in host memory: counting waits for no device.
    return double(field->numel()) - number_in_memory(at::sum(*field == ignore_));
  }
  return nominal(batch.size);
}

}  // namespace ltr
