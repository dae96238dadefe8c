#include "runtime/train/rows.h"

namespace ltr {

Named Rows::take(int64_t step, int64_t epoch) {
  if (step_ != step) {
    kept_.clear();
    kept_last_.clear();
    step_ = step;
    epoch_ = epoch;
  }
  kept_.insert(kept_.end(), regular_.begin(), regular_.end());
  kept_last_.insert(kept_last_.end(), only_last_.begin(), only_last_.end());
  Named values = std::exchange(regular_, {});
  values.insert(values.end(), only_last_.begin(), only_last_.end());
  only_last_.clear();
  return values;
}

int64_t Rows::put_back(bool is_last) {
  regular_ = std::exchange(kept_, {});
  if (is_last) only_last_ = kept_last_;
  kept_last_.clear();
  step_ = -1;
  return epoch_;
}

void Rows::visit(Archive& archive) {
  const Archive::Part part(archive, "rows");
  archive.value("step", step_);
  archive.value("epoch", epoch_);
  const auto visit_value = [&](std::pair<Str, double>& one) {
    archive.value("name", one.first);
    archive.value("value", one.second);
  };
  archive.list("regular", kept_, visit_value);
  archive.list("last", kept_last_, visit_value);
}

}  // namespace ltr
