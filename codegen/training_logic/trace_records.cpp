// What masks, indices and numbers of all samples say of the records of a batch.
#include <algorithm>

#include "codegen/training_logic/trace.h"

namespace ltr::training_logic {

using library::Id;

namespace {

/// `b OP a` for `a OP b`.
Id exchanged(Id comparison) {
  return comparison == Id::Lt   ? Id::Gt
         : comparison == Id::Gt ? Id::Lt
         : comparison == Id::Le ? Id::Ge
         : comparison == Id::Ge ? Id::Le
                                : comparison;
}

/// Where `numbers OP number` is true, of numbers that are above 0 at `places` and 0 elsewhere.
Places where_compared(Id comparison, Places places, double number) {
  const bool is_within = number > 0 && number <= 1;
  if (comparison == Id::Gt && number >= 0 && number < 1) return places;
  if ((comparison == Id::Ge && is_within) || (comparison == Id::Ne && number == 0)) return places;
  if (comparison == Id::Eq && number == 1) return places;
  if (comparison == Id::Le && number >= 0 && number < 1) return turned(places);
  if ((comparison == Id::Lt && is_within) || (comparison == Id::Eq && number == 0)) return turned(places);
  return comparison == Id::Ne && number == 1 ? turned(places) : Places::Any;
}

/// Where `left OP right` is true: `arange(S) < n`, `n > arange(S)`, `ids != 0`.
Places places_of(Id comparison, const Value& left, const Value& right) {
  if (left.constant && !right.constant) return places_of(exchanged(comparison), right, left);
  if (left.is_field && right.constant) {
    if (comparison == Id::Ne || comparison == Id::Eq) return comparison == Id::Ne ? Places::Own : Places::Filled;
    return where_compared(comparison, Places::Above, number_of(right).value_or(-1));
  }
  if (const auto number = number_of(right); number && left.places != Places::Any && left.is_zero_or_one)
    return where_compared(comparison, left.places, *number);
  const bool is_count_first = left.is_counted && right.is_field;
  if (!is_count_first && !(left.is_field && right.is_counted)) return Places::Any;
  const bool is_below = comparison == Id::Lt || comparison == Id::Le,
             is_above = comparison == Id::Gt || comparison == Id::Ge;
  if (!is_below && !is_above) return Places::Any;
  return is_below == is_count_first ? Places::Own : Places::Filled;
}

bool is_arithmetic(Id function) {
  return function == Id::Add || function == Id::Sub || function == Id::Mul || function == Id::Div;
}

/// The axis that alone has more than one place, from the end.
std::optional<size_t> axis_of(const ir::Type& type, const ir::DimStore& dims) {
  std::optional<size_t> axis;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (dims.constant(type.dims[i]) == 1) continue;
    if (axis) return std::nullopt;
    axis = type.dims.size() - 1 - i;
  }
  return axis;
}

/// Whether each place of the last two axes stays where it is.
bool keeps_pairs(Id function, const ir::Type& from, const ir::Type& to) {
  switch (function) {
    case Id::To:
    case Id::StopGrad:
    case Id::Unsqueeze:
    case Id::Squeeze:
    case Id::Reshape:
    case Id::Expand:
      return from.dims.size() > 1 && to.dims.size() > 1 &&
             std::equal(from.dims.end() - 2, from.dims.end(), to.dims.end() - 2);
    default: return false;
  }
}

bool is_of_pairs(Places places) { return places == Places::Before || places == Places::After; }

/// Of `ones(S, S).tril()` and `triu()`: where they are 1.
Places places_of_triangle(Id function, const std::vector<const Value*>& operands) {
  const double diagonal = operands.size() > 1 ? number_of(*operands[1]).value_or(function == Id::Tril ? -2 : -1) : 0;
  if (function == Id::Tril) return diagonal >= -1 ? Places::Before : Places::Any;
  return diagonal >= 0 ? Places::After : Places::Any;
}

/// Of two places, counted along the last axis but one and along the last: whether it is true at those that come before.
Places places_of_pair(Id comparison, bool is_last_first) {
  const Id at = is_last_first ? exchanged(comparison) : comparison;
  if (at == Id::Ge || at == Id::Gt) return Places::Before;
  return at == Id::Le || at == Id::Lt ? Places::After : Places::Any;
}

bool is_one(const Value& value) { return number_of(value) == 1.0; }
bool is_zero_or_one(const Value& value) { return value.is_zero_or_one || is_one(value) || number_of(value) == 0.0; }

}  // namespace

void Trace::take_places(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) const {
  const library::Function& function = library::info(op.function);
  value.is_counted = op.function == Id::Arange;
  value.is_ones = op.function == Id::Ones;
  if (op.function == Id::OneHot) value.is_zero_or_one = true;
  value.names_others = names_others(op, operands, frame);
  if (operands.empty() || op.results.empty()) return;
  const Value& first = *operands[0];
  const bool keeps_order = op.function == Id::Softmax || op.function == Id::LogSoftmax || op.function == Id::Sigmoid;
  if (keeps_order || op.function == Id::Argmax) value.order_of = first.order_of != 0 ? first.order_of : first.identity;
  const auto type_of = [&](size_t i) -> const ir::Type& { return frame.function->values[op.operands[i]].type; };
  // What is true or false is no number.
  const bool gives_bool = frame.function->values[op.results[0]].type.element == ir::Element::Bool;
  if (function.rearranges && op.function != Id::Cat && op.function != Id::Stack) {
    value.is_field = first.is_field;
    value.is_counted = first.is_counted && op.function != Id::Flip;
    value.names_others = first.names_others;
    value.is_zero_or_one =
        !gives_bool && (first.is_zero_or_one || (op.function == Id::To && type_of(0).element == ir::Element::Bool));
    const bool is_kept =
        !is_of_pairs(first.places) || keeps_pairs(op.function, type_of(0), frame.function->values[op.results[0]].type);
    if (is_kept) value.places = first.places;
  }
  if ((op.function == Id::Tril || op.function == Id::Triu) && first.is_ones) {
    value.is_zero_or_one = !gives_bool;
    value.places = places_of_triangle(op.function, operands);
  }
  if (op.function == Id::LogicalNot) value.places = turned(first.places);
  if (op.function == Id::Where && operands.size() == 3) {
    value.is_field = operands[1]->is_field && operands[2]->constant;
    value.is_zero_or_one = is_zero_or_one(*operands[1]) && is_zero_or_one(*operands[2]);
  }
  if (operands.size() != 2 || value.places != Places::Any) return;
  const Value& second = *operands[1];
  // What holds where both do holds nowhere else; where one of two does, it holds wherever each does.
  const bool is_both = op.function == Id::LogicalAnd, is_either = op.function == Id::LogicalOr;
  if (is_both && (first.places == Places::After || second.places == Places::After)) value.places = Places::After;
  if (is_either && (first.places == Places::Before || second.places == Places::Before)) value.places = Places::Before;
  if (op.function == Id::Sub && is_one(first) && second.is_zero_or_one) {
    value.is_zero_or_one = true;
    value.places = turned(second.places);
  }
  if (op.function == Id::Mul) value.is_zero_or_one = first.is_zero_or_one && second.is_zero_or_one;
  value.places = value.places == Places::Any ? places_of(op.function, first, second) : value.places;
  if (!first.is_counted || !second.is_counted) return;
  const auto left = axis_of(type_of(0), module_.dims), right = axis_of(type_of(1), module_.dims);
  if (left && right && *left + *right == 1) value.places = places_of_pair(op.function, *left == 0);
}

// What goes along the rows leaves them where they are.
void Trace::take_rows(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) const {
  if (operands.empty() || op.results.empty()) return;
  const ir::Type &from = frame.function->values[op.operands[0]].type, &to = frame.function->values[op.results[0]].type;
  if (!from.is_tensor() || !to.is_tensor() || from.dims.empty() || to.dims.empty()) return;
  const auto is_name = [&](ir::DimId dim) { return module_.dims[dim].kind == ir::Dim::Kind::Name; };
  const bool joins =
      (op.function == Id::Flatten || op.function == Id::Reshape) && from.dims.size() == to.dims.size() + 1;
  if (joins && std::equal(from.dims.begin() + 2, from.dims.end(), to.dims.begin() + 1, to.dims.end())) {
    if (is_name(from.dims[0]) && is_name(from.dims[1]))
      value.rows = JoinedAxes{frame.function, from.dims[0], from.dims[1]};
    return;
  }
  const library::Function& function = library::info(op.function);
  const bool moves = op.function == Id::Flip || op.function == Id::IndexSelect;
  const bool is_along = function.gives_scores || function.gives_probs || (function.rearranges && !moves);
  if (is_along && from.dims[0] == to.dims[0]) value.rows = operands[0]->rows;
}

void Trace::look_at_rows_of_sides(const Value& predicted, const Value& wanted, Span span, const std::string& taker) {
  const auto &left = predicted.rows, &right = wanted.rows;
  if (!left || !right || left->function != right->function) return;
  if (left->outer != right->inner || left->inner != right->outer || left->outer == left->inner) return;
  const std::string outer = to_text(left->outer, module_.dims), inner = to_text(left->inner, module_.dims);
  findings.other_rows.push_back({span, taker, outer + " · " + inner, inner + " · " + outer});
}

void Trace::take_records(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) {
  look_at_masks(op, operands, frame);
  look_at_rows(op, operands, frame);
  take_places(op, operands, value, frame);
  take_rows(op, operands, value, frame);
  if (operands.empty()) return;
  value.fill = take_fill(op, operands, frame);
  take_of_all(op, operands, value, frame);
}

// Numbers of all samples that meet each of them, in a block: what it gives for one hangs on the others. One that keeps what it
// saw in buffers measures batches on purpose.
void Trace::take_of_all(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) {
  const ir::ObjectInfo* owner = frame.function->owner.empty() ? nullptr : find_object(frame.function->owner);
  const bool is_in_block = owner != nullptr && owner->kind == ir::TypeKind::Block && !frame.function->is_library;
  if (!is_in_block || op.results.empty() || !frame.function->values[op.results[0]].type.is_tensor()) return;
  const auto dims_of = [&](ir::ValueId id) -> const std::vector<ir::DimId>& {
    return frame.function->values[id].type.dims;
  };
  const auto has_samples = [&](ir::ValueId id) { return !dims_of(id).empty() && is_batch(dims_of(id)[0], frame); };
  const bool has_buffers = std::ranges::any_of(
      owner->members, [](const ir::ObjectMember& one) { return one.kind == ir::ObjectMember::Kind::Buffer; });
  const bool is_total =
      op.function == Id::Sum || op.function == Id::Mean || op.function == Id::Std || op.function == Id::Var;
  const bool is_columns = !dims_of(op.results[0]).empty();
  const bool is_along_samples = operands.size() > 1 && operands[1]->constant == ir::Constant(int64_t(0));
  if (is_total && dims_of(op.operands[0]).size() > 1 && has_samples(op.operands[0]) && !has_samples(op.results[0])) {
    if (is_columns && (!is_along_samples || has_buffers)) return;
    value.of_all =
        OfAll{op.function, user_span(op, frame), to_text(dims_of(op.operands[0])[0], module_.dims), is_columns};
  } else if (is_arithmetic(op.function) && operands.size() == 2) {
    for (size_t i = 0; i < 2; ++i) {
      if (!operands[i]->of_all) continue;
      const OfAll& all = *operands[i]->of_all;
      if (!has_samples(op.results[0])) value.of_all = all;
      // What is scaled by a share that all have in common may be a loss; what is moved to a mean of all is normalized.
      const bool normalizes = op.function == Id::Sub || (op.function == Id::Div && i == 1);
      if (!has_samples(op.operands[1 - i]) || (all.is_of_columns && !normalizes)) continue;
      // The mean and the deviation of one block are one mistake.
      if (all.is_of_columns && normalized_.try_emplace(frame.function, all.span).first->second != all.span) continue;
      findings.mixed_samples.push_back({all.span, all.function, all.size,
                                        all.is_of_columns ? MixedSamples::Of::Columns : MixedSamples::Of::OneNumber});
    }
  } else if (op.function == Id::Sqrt) {
    value.of_all = operands[0]->of_all;
  }
}

// Scores are hidden by a number below 0; what is set to 0 may be either.
void Trace::look_at_masks(const ir::Op& op, const Operands& operands, const Frame& frame) {
  if (frame.function->is_library) return;
  const bool hides_own = op.function == Id::MaskedFill && operands.size() == 3 && operands[1]->places == Places::Own &&
                         number_of(*operands[2]).value_or(0) < 0;
  if (hides_own) findings.turned_masks.push_back({written_span(op, 1, frame), "masked_fill", Places::Own});
  constexpr size_t kMask = 3;  // of `attention(q, k, v, mask, …)`
  if (op.function == Id::Attention && operands.size() > kMask) look_at_mask("mask", op, kMask, *operands[kMask], frame);
}

// Of blocks of the library, whose own code turns them once more.
void Trace::look_at_masks_given(const ir::Op& op, const ir::Function& function, const std::vector<Known>& given,
                                const Frame& frame) {
  if (frame.function->is_library || given.size() != function.body.params.size()) return;
  for (size_t i = 0; i < given.size(); ++i)
    look_at_mask(function.values[function.body.params[i]].name, op, i, *given[i], frame);
}

void Trace::look_at_mask(const std::string& name, const ir::Op& op, size_t operand, const Value& mask,
                         const Frame& frame) {
  const Places places = mask.places;
  const bool is_looked_at = name == "mask" || name == "memory_mask";
  const ir::Type& given = frame.function->values[op.operands[operand]].type;
  const ir::Type& type = given.is(ir::TypeKind::Option) ? given.fields[0].type : given;
  if (is_looked_at && mask.is_zero_or_one && type.is_tensor() && ir::is_floating(type.element)) {
    findings.shown_scores.push_back({written_span(op, operand, frame), "a mask of the numbers 0 and 1", true});
    return;
  }
  const bool is_turned =
      (name.ends_with("key_padding_mask") && (places == Places::Own || places == Places::Above)) ||
      (is_looked_at && (places == Places::Filled || places == Places::NotAbove || places == Places::After));
  if (is_turned) findings.turned_masks.push_back({written_span(op, operand, frame), name, places});
}

// `scores.argmax(1)` names a class of each record, and no record.
bool Trace::names_others(const ir::Op& op, const Operands& operands, const Frame& frame) const {
  if ((op.function != Id::Argmax && op.function != Id::Argmin) || operands.size() < 2 || !operands[1]->constant)
    return false;
  const std::vector<ir::DimId>& dims = frame.function->values[op.operands[0]].type.dims;
  const int64_t* axis = std::get_if<int64_t>(&*operands[1]->constant);
  const int64_t at = axis == nullptr ? -1 : *axis < 0 ? *axis + int64_t(dims.size()) : *axis;
  if (at < 1 || at >= int64_t(dims.size())) return false;
  const ir::Dim::Kind kind = module_.dims[dims[size_t(at)]].kind;
  const bool is_known = kind != ir::Dim::Kind::Leading && kind != ir::Dim::Kind::Unknown;
  return is_known && !is_made_of(dims[size_t(at)], dims[0], module_.dims) && is_batch(dims[0], frame);
}

// A field is made for one record, and knows nothing of those that come into its batch.
void Trace::look_at_rows(const ir::Op& op, const Operands& operands, const Frame& frame) {
  const bool picks = op.function == Id::Gather || op.function == Id::IndexSelect || op.function == Id::IndexTensor;
  if (!picks || operands.size() < 3 || frame.function->is_library) return;
  const std::vector<ir::DimId>& dims = frame.function->values[op.operands[0]].type.dims;
  const int64_t* axis = operands[1]->constant ? std::get_if<int64_t>(&*operands[1]->constant) : nullptr;
  // `scores[:, label]`: the columns that all labels name, of every row.
  const std::vector<ir::DimId>& places = frame.function->values[op.operands[2]].type.dims;
  if (op.function == Id::IndexTensor && axis != nullptr && *axis > 0 && !dims.empty() && places.size() == 1 &&
      places[0] == dims[0] && is_batch(dims[0], frame)) {
    findings.picked_rows.push_back({user_span(op, frame), to_text(dims[0], module_.dims), PickedRows::By::Each});
    return;
  }
  // PyTorch's rule: the index may be smaller than what it looks at, and then it looks at the first places alone.
  if (op.function == Id::Gather && axis != nullptr && *axis > 0 && dims.size() > 1 && places.size() == dims.size() &&
      module_.dims.constant(places[0]) == 1 && is_batch(dims[0], frame)) {
    findings.picked_rows.push_back({user_span(op, frame), to_text(dims[0], module_.dims), PickedRows::By::OneRow});
    return;
  }
  if (!operands[2]->is_field && !operands[2]->names_others) return;
  const bool is_first = axis != nullptr && (*axis == 0 || *axis == -int64_t(dims.size()));
  if (!is_first || dims.empty() || !is_batch(dims[0], frame)) return;
  const PickedRows::By by = operands[2]->is_field ? PickedRows::By::Field : PickedRows::By::Places;
  findings.picked_rows.push_back({user_span(op, frame), to_text(dims[0], module_.dims), by});
}

}  // namespace ltr::training_logic
