// Sums over the records of a batch.
#include <algorithm>
#include <cmath>

#include "codegen/training_logic/trace.h"

namespace ltr::training_logic {

using library::Id;

namespace {

/// A number that divides a sum by so much may be that of the records.
constexpr double kFew = 8;

}  // namespace

void Trace::take_total(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) {
  if (operands.empty() || op.results.empty()) return;
  if (!frame.function->is_library) value.total = total_of(op, operands, frame);
  value.is_of_all_records = value.is_of_all_records || joins_records(op, operands, frame);
}

bool Trace::joins_records(const ir::Op& op, const Operands& operands, const Frame& frame) const {
  const ir::Type &from = frame.function->values[op.operands[0]].type, &to = frame.function->values[op.results[0]].type;
  if (!from.is_tensor() || from.dims.empty() || !to.is_tensor()) return false;
  const bool is_share = (op.function == Id::Softmax || op.function == Id::LogSoftmax) && operands.size() > 1 &&
                        number_of(*operands[1]) == 0.0;
  return (is_share || std::ranges::find(to.dims, from.dims[0]) == to.dims.end()) &&
         is_of_records(op.operands[0], frame);
}

// Before the mean it may be moved and scaled by numbers that the program says; what is divided by any other, or by many, may be
// divided by the number of records. Behind the mean it is a term of the loss, with a weight. What was divided by a number of all
// records does not grow with them.
uint32_t Trace::total_of(const ir::Op& op, const Operands& operands, const Frame& frame) {
  const ir::Type& type = frame.function->values[op.operands[0]].type;
  const uint32_t first = operands[0]->total;
  const auto is_number = [&](size_t i) { return !frame.function->values[op.operands[i]].type.is_tensor(); };
  switch (op.function) {
    case Id::Sum: {
      const auto axis = operands.size() > 1 ? number_of(*operands[1]) : std::nullopt;
      const bool is_first = axis && (*axis == 0 || *axis == -double(type.dims.size()));
      if (!is_first || type.dims.size() < 2 || operands[0]->is_of_all_records || !is_of_records(op.operands[0], frame))
        return 0;
      totals_.push_back({{{user_span(op, frame), to_text(type.dims[0], module_.dims), type.dims.size()}}});
      return uint32_t(totals_.size() - 1);
    }
    case Id::Mean: {
      if (first == 0 || totals_[first].is_mean) return 0;
      Total mean = totals_[first];
      mean.is_mean = true;
      totals_.push_back(std::move(mean));
      return uint32_t(totals_.size() - 1);
    }
    case Id::Neg:
    case Id::To: return first;
    case Id::Add:
    case Id::Sub:
    case Id::Mul:
    case Id::Div: break;
    default: return 0;
  }
  if (operands.size() != 2) return 0;
  const bool is_sum = op.function == Id::Add || op.function == Id::Sub;
  if (const uint32_t second = operands[1]->total; is_sum && totals_[first].is_mean && totals_[second].is_mean) {
    Total both = totals_[first];
    both.sums.insert(both.sums.end(), totals_[second].sums.begin(), totals_[second].sums.end());
    totals_.push_back(std::move(both));
    return uint32_t(totals_.size() - 1);
  }
  for (size_t i = 0; i < 2; ++i) {
    const Value& other = *operands[1 - i];
    const uint32_t total = operands[i]->total;
    if (total == 0) continue;
    const auto number = number_of(other);
    const bool is_mean = totals_[total].is_mean;
    if (is_sum && (number || is_mean)) return total;
    if (op.function == Id::Div && i == 0 && number && std::abs(*number) <= kFew) return total;
    if (op.function != Id::Mul) continue;
    if (is_mean ? number || (is_number(1 - i) && !other.may_count) : number && std::abs(*number) >= 1 / kFew)
      return total;
  }
  return 0;
}

}  // namespace ltr::training_logic
