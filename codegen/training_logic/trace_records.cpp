// What masks, indices and numbers of all samples say of the records of a batch.
#include <algorithm>

#include "codegen/training_logic/trace.h"

namespace ltr::training_logic {

using library::Id;

namespace {

Places turned(Places places) {
  return places == Places::Own ? Places::Filled : places == Places::Filled ? Places::Own : Places::Any;
}

/// Where `left OP right` is true: `arange(S) < n`, `n > arange(S)`, `ids != 0`.
Places places_of(Id function, const Value& left, const Value& right) {
  if (left.is_field && right.constant) {
    return function == Id::Ne ? Places::Own : function == Id::Eq ? Places::Filled : Places::Any;
  }
  const bool is_count_first = left.is_counted && right.is_field;
  if (!is_count_first && !(left.is_field && right.is_counted)) return Places::Any;
  const bool is_below = function == Id::Lt || function == Id::Le, is_above = function == Id::Gt || function == Id::Ge;
  if (!is_below && !is_above) return Places::Any;
  return is_below == is_count_first ? Places::Own : Places::Filled;
}

bool is_below_zero_at(const Value& value) {
  if (!value.constant) return false;
  if (const auto* whole = std::get_if<int64_t>(&*value.constant)) return *whole < 0;
  const auto* real = std::get_if<double>(&*value.constant);
  return real != nullptr && *real < 0;
}

bool is_arithmetic(Id function) {
  return function == Id::Add || function == Id::Sub || function == Id::Mul || function == Id::Div;
}

}  // namespace

void Trace::take_records(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) {
  look_at_masks(op, operands, frame);
  look_at_rows(op, operands, frame);
  const library::Function& function = library::info(op.function);
  value.is_counted = op.function == Id::Arange;
  if (operands.empty()) return;
  const Value& first = *operands[0];
  if (function.rearranges && op.function != Id::Cat && op.function != Id::Stack) {
    value.is_field = first.is_field;
    value.is_counted = first.is_counted;
    value.places = first.places;
  }
  if (op.function == Id::LogicalNot) value.places = turned(first.places);
  if (op.function == Id::Where && operands.size() == 3) value.is_field = operands[1]->is_field && operands[2]->constant;
  if (operands.size() == 2 && value.places == Places::Any) value.places = places_of(op.function, first, *operands[1]);

  // One number of all samples that meets each of them, in a block: what it gives for one hangs on the others.
  const ir::ObjectInfo* owner = frame.function->owner.empty() ? nullptr : find_object(frame.function->owner);
  const bool is_in_block = owner != nullptr && owner->kind == ir::TypeKind::Block && !frame.function->is_library;
  if (!is_in_block || op.results.empty()) return;
  const auto dims_of = [&](ir::ValueId id) -> const std::vector<ir::DimId>& {
    return frame.function->values[id].type.dims;
  };
  const bool is_one = frame.function->values[op.results[0]].type.is_tensor() && dims_of(op.results[0]).empty();
  const bool is_total =
      op.function == Id::Sum || op.function == Id::Mean || op.function == Id::Std || op.function == Id::Var;
  if (is_total && is_one && dims_of(op.operands[0]).size() > 1 && is_batch(dims_of(op.operands[0])[0], frame)) {
    value.of_all = OfAll{op.function, user_span(op, frame), to_text(dims_of(op.operands[0])[0], module_.dims)};
  } else if (is_arithmetic(op.function) && operands.size() == 2) {
    for (size_t i = 0; i < 2; ++i) {
      if (!operands[i]->of_all) continue;
      const std::vector<ir::DimId>& dims = dims_of(op.operands[1 - i]);
      if (is_one) value.of_all = operands[i]->of_all;
      if (is_one || dims.empty() || !is_batch(dims[0], frame)) continue;
      const OfAll& all = *operands[i]->of_all;
      findings.mixed_samples.push_back({all.span, all.function, all.size, true});
    }
  } else if (op.function == Id::Sqrt) {
    value.of_all = first.of_all;
  }
}

// Scores are hidden by a number below 0; what is set to 0 may be either.
void Trace::look_at_masks(const ir::Op& op, const Operands& operands, const Frame& frame) {
  if (frame.function->is_library) return;
  const bool hides_own = op.function == Id::MaskedFill && operands.size() == 3 && operands[1]->places == Places::Own &&
                         is_below_zero_at(*operands[2]);
  if (hides_own) findings.turned_masks.push_back({written_span(op, 1, frame), "masked_fill"});
  constexpr size_t kMask = 3;  // of `attention(q, k, v, mask, …)`
  if (op.function == Id::Attention && operands.size() > kMask && operands[kMask]->places == Places::Filled)
    findings.turned_masks.push_back({written_span(op, kMask, frame), "mask"});
}

// Of blocks of the library, whose own code turns them once more.
void Trace::look_at_masks_given(const ir::Op& op, const ir::Function& function, const std::vector<Known>& given,
                                const Frame& frame) {
  if (frame.function->is_library || given.size() != function.body.params.size()) return;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string& name = function.values[function.body.params[i]].name;
    const bool is_turned = (name == "key_padding_mask" && given[i]->places == Places::Own) ||
                           (name == "mask" && given[i]->places == Places::Filled);
    if (is_turned) findings.turned_masks.push_back({written_span(op, i, frame), name});
  }
}

// A field is made for one record, and knows nothing of those that come into its batch.
void Trace::look_at_rows(const ir::Op& op, const Operands& operands, const Frame& frame) {
  const bool picks = op.function == Id::Gather || op.function == Id::IndexSelect || op.function == Id::IndexTensor;
  if (!picks || operands.size() < 3 || frame.function->is_library || !operands[2]->is_field) return;
  const std::vector<ir::DimId>& dims = frame.function->values[op.operands[0]].type.dims;
  const int64_t* axis = operands[1]->constant ? std::get_if<int64_t>(&*operands[1]->constant) : nullptr;
  const bool is_first = axis != nullptr && (*axis == 0 || *axis == -int64_t(dims.size()));
  if (!is_first || dims.empty() || !is_batch(dims[0], frame)) return;
  findings.picked_rows.push_back({user_span(op, frame), to_text(dims[0], module_.dims)});
}

}  // namespace ltr::training_logic
