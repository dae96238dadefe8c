#include "runtime/train/whole_units.h"

#include <ATen/ATen.h>

namespace ltr {

const at::Tensor& WholeUnits::row(size_t unit) {
  DividedUnit& one = *units_[unit];
  if (unit == now_ && one.whole.defined()) return one.whole;
  if (unit != now_) {
    next_[{before_, now_}] = unit;
    before_ = std::exchange(now_, unit);
  }
  if (!one.whole.defined()) {
    if (!coming_[unit].pending) begin(unit);
    coming_[unit].pending->wait();
    one.whole = std::exchange(coming_[unit], {}).row;
  }
  const size_t to_come = next();
  if (before_ != kNone && before_ != to_come) release(before_);
  if (to_come != kNone && !units_[to_come]->whole.defined() && !coming_[to_come].pending) begin(to_come);
  return one.whole;
}

size_t WholeUnits::next() const {
  const auto found = next_.find({before_, now_});
  return found == next_.end() ? kNone : found->second;
}

void WholeUnits::begin(size_t unit) {
  const DividedUnit& one = *units_[unit];
  at::Tensor row = at::empty({one.unit.size()}, one.unit.options());
  coming_[unit] = {row, holders_.begin_gather(row, one.chunk)};
}

void WholeUnits::release(size_t unit) { units_[unit]->whole = at::Tensor(); }

void WholeUnits::forget() {
  for (size_t i = 0; i < units_.size(); i++) {
    if (coming_[i].pending) coming_[i].pending->wait();
    coming_[i] = {};
    release(i);
  }
  before_ = now_ = kNone;
}

size_t WholeUnits::find(const at::Tensor& tensor) const {
  if (!tensor.has_storage()) return units_.size();
  const auto is_its = [&](const at::Tensor& row) {
    return row.defined() && row.storage().is_alias_of(tensor.storage());
  };
  // Others are seldom whole.
  if (now_ != kNone && is_its(units_[now_]->whole)) return now_;
  for (size_t i = 0; i < units_.size(); i++) {
    if (is_its(units_[i]->whole)) return i;
  }
  return units_.size();
}

}  // namespace ltr
