// Scores that are hidden from soft-max by a number that is filled in.
#include <charconv>

#include "codegen/training_logic/trace.h"

namespace ltr::training_logic {

using library::Draws;
using library::Id;

namespace {

/// Below this one a number that is filled in is meant to hide.
constexpr double kHides = -1e-3;

/// `masked_fill(scores, mask, number)`, or a `where` that does the same.
struct Filling {
  size_t mask = 0;
  size_t scores = 0;
  size_t number = 0;
  bool is_turned = false;  ///< it fills where the mask is false
};

/// The number that it is, or that all of its numbers are.
std::optional<double> number_in(const Value& value) { return value.filled ? value.filled : number_of(value); }

std::optional<Filling> filling_of(Id function, const std::vector<const Value*>& operands) {
  if (operands.size() != 3) return std::nullopt;
  if (function == Id::MaskedFill) return Filling{1, 0, 2, false};
  if (function != Id::Where) return std::nullopt;
  if (number_in(*operands[2]) && !number_in(*operands[1])) return Filling{0, 1, 2, true};
  if (number_in(*operands[1]) && !number_in(*operands[2])) return Filling{0, 2, 1, false};
  return std::nullopt;
}

std::string shown(double number) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  return {text, end};
}

}  // namespace

// `full(…, -1e9)`, `0 * x - 1e9`; and what hides scores that it is added to, `mask.to(float) * -1e9`.
void Trace::take_filled(const ir::Op& op, const Operands& operands, Value& value) const {
  if (op.results.empty() || operands.empty()) return;
  const auto first = number_in(*operands[0]);
  const auto second = operands.size() > 1 ? number_in(*operands[1]) : std::nullopt;
  switch (op.function) {
    case Id::Zeros: value.filled = 0; return;
    case Id::Full: value.filled = second; return;
    case Id::To: value.filled = operands[0]->filled; return;
    case Id::Add:
      if (first && second) value.filled = *first + *second;
      return;
    case Id::Sub:
      if (first && second) value.filled = *first - *second;
      return;
    case Id::Mul:
      for (size_t i = 0; i < 2; ++i) {
        const auto factor = i == 0 ? second : first;
        if (!factor) continue;
        if (*factor == 0) value.filled = 0;
        if (*factor < kHides && operands[i]->is_zero_or_one) value.hidden = operands[i]->places;
      }
      return;
    case Id::Where: {
      const auto other = operands.size() == 3 ? number_in(*operands[2]) : std::nullopt;
      if (second == 0.0 && other && *other < kHides) value.hidden = turned(operands[0]->places);
      if (other == 0.0 && second && *second < kHides) value.hidden = operands[0]->places;
      return;
    }
    default: return;
  }
}

// A mask that is made of the scores themselves may cut some of them off on purpose, and one that is drawn, or the same for all
// places of a row, hides nothing of it.
uint32_t Trace::fill_of(const ir::Op& op, const Operands& operands, const Frame& frame) {
  if (op.function == Id::Add && operands.size() == 2 && !frame.function->is_library) {
    for (size_t i = 0; i < 2; ++i) {
      const Places hidden = operands[i]->hidden;
      if (hidden != Places::Above && hidden != Places::Before && hidden != Places::Own) continue;
      fills_.push_back({.turned = TurnedMask{written_span(op, i, frame), "+", hidden}});
      return uint32_t(fills_.size() - 1);
    }
  }
  const std::optional<Filling> filling = filling_of(op.function, operands);
  if (!filling || frame.function->is_library) return 0;
  const Value& mask = *operands[filling->mask];
  const uint32_t before = operands[filling->scores]->fill;
  const auto number = number_in(*operands[filling->number]);
  if (!number || mask.is_unknown) return before;
  const bool hides_own = mask.places == Places::Above || mask.places == Places::Before,
             hides_filled = mask.places == Places::NotAbove || mask.places == Places::After;
  const std::string taker(library::info(op.function).name);
  Fill fill;
  if (*number < kHides && (filling->is_turned ? hides_filled : hides_own)) {
    fill.turned = TurnedMask{written_span(op, filling->mask, frame), taker, mask.places, !filling->is_turned};
  } else if (*number >= kHides) {
    const std::vector<ir::DimId>& dims = frame.function->values[op.operands[filling->mask]].type.dims;
    const bool is_of_rows = dims.empty() || module_.dims.constant(dims.back()) == 1 ||
                            module_.dims[dims.back()].kind == ir::Dim::Kind::Leading;
    const bool is_given = mask.places != Places::Any || (mask.is_of_input && mask.paths.empty() && mask.cuts.empty());
    if (is_of_rows || !is_given) return before;
    fill.shown = ShownScores{written_span(op, filling->number, frame), "a fill of " + shown(*number)};
    const Places hidden = filling->is_turned ? Places::Own : Places::Filled;
    fill.is_sure = mask.places == hidden;
  } else {
    return before;
  }
  fills_.push_back(std::move(fill));
  return uint32_t(fills_.size() - 1);
}

// What soft-max gives is what the values of attention are weighed with, by a product of matrices.
uint32_t Trace::take_fill(const ir::Op& op, const Operands& operands, const Frame& frame) {
  if (const uint32_t fill = fill_of(op, operands, frame)) return fill;
  const Value& first = *operands[0];
  const auto type_of = [&](size_t i) -> const ir::Type& { return frame.function->values[op.operands[i]].type; };
  switch (op.function) {
    case Id::Softmax: return share_out(op, operands, frame);
    case Id::Matmul:
    case Id::Bmm:
      if (fills_[first.fill].is_shared_out) report_fill(fills_[first.fill]);
      if (const auto& unsummed = fills_[first.fill].unsummed;
          unsummed && !library::info(operands[1]->activation.function).gives_probs) {
        findings.unsummed_axes.push_back(*unsummed);
        findings.unsummed_axes.back().product = user_span(op, frame);
      }
      return 0;
    case Id::Einsum:
      for (const Value* operand : operands) {
        if (fills_[operand->fill].is_shared_out) report_fill(fills_[operand->fill]);
        for (const Known& part : operand->parts) {
          if (fills_[part->fill].is_shared_out) report_fill(fills_[part->fill]);
        }
      }
      return 0;
    case Id::To: return first.fill;
    case Id::Add:
    case Id::Div:
    case Id::Sub: return fills_[first.fill].unsummed ? 0 : first.fill;
    case Id::Mul:
      if (fills_[first.fill].unsummed) return 0;
      return operands.size() > 1 && type_of(0).is_host_number() ? operands[1]->fill : first.fill;
    default: return library::info(op.function).draws == Draws::InTraining ? first.fill : 0;
  }
}

uint32_t Trace::share_out(const ir::Op& op, const Operands& operands, const Frame& frame) {
  const Value& first = *operands[0];
  if (operands.size() < 2) return 0;
  if (const uint32_t across = share_out_across(op, first, frame)) return across;
  if (first.fill == 0) return 0;
  const auto axis = number_of(*operands[1]);
  const size_t rank = frame.function->values[op.operands[0]].type.dims.size();
  if (axis != -1.0 && axis != double(rank) - 1) return 0;
  Fill fill = fills_[first.fill];
  if (fill.is_sure) {
    report_fill(fill);
    return 0;
  }
  fill.is_shared_out = true;
  fills_.push_back(std::move(fill));
  return uint32_t(fills_.size() - 1);
}

// Where rows and columns are places of different things the first ones may share the last ones among them, as slots and capsules
// do.
uint32_t Trace::share_out_across(const ir::Op& op, const Value& scores, const Frame& frame) {
  const std::vector<ir::DimId>& dims = frame.function->values[op.operands[0]].type.dims;
  const auto& constant = use(op.operands[1], frame).constant;
  const auto* axis = constant ? std::get_if<int64_t>(&*constant) : nullptr;
  const size_t rank = dims.size();
  if (axis == nullptr || rank < 3 || frame.function->is_library || !scores.is_of_input) return 0;
  if (*axis >= 0 && module_.dims[dims[0]].kind == ir::Dim::Kind::Leading) return 0;
  const int64_t at = *axis < 0 ? *axis + int64_t(rank) : *axis;
  if (at >= int64_t(rank) - 1 || (at == int64_t(rank) - 2 && dims[rank - 1] != dims[rank - 2])) return 0;
  Fill fill = fills_[scores.fill];
  fill.unsummed = UnsummedAxis{written_span(op, 1, frame), {}, *axis};
  fill.is_shared_out = false;
  fills_.push_back(std::move(fill));
  return uint32_t(fills_.size() - 1);
}

void Trace::report_fill(const Fill& fill) {
  if (fill.turned) findings.turned_masks.push_back(*fill.turned);
  if (fill.shown) findings.shown_scores.push_back(*fill.shown);
}

}  // namespace ltr::training_logic
