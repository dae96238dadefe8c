// Random numbers that a program draws itself: for whom, and what they are scaled by.
#include <algorithm>
#include <cmath>

#include "codegen/training_logic/trace.h"

namespace ltr::training_logic {

using ir::OpKind;
using library::Id;

namespace {

/// Numbers of a distribution, of any shape.
bool draws_noise(Id function) {
  switch (function) {
    case Id::Randn:
    case Id::Rand:
    case Id::Normal:
    case Id::Uniform:
    case Id::Bernoulli: return true;
    default: return false;
  }
}

/// The divergence of a normal distribution of one axis has so many.
constexpr size_t kMostTerms = 4;

}  // namespace

bool Trace::is_of_records(ir::ValueId operand, const Frame& frame) const {
  const ir::Type& type = frame.function->values[operand].type;
  return type.is_tensor() && !type.dims.empty() && is_batch(type.dims[0], frame);
}

// A product with records has a direction in common on purpose, as a random projection, unless it is added to records; noise that
// meets weights is theirs, and an axis of size 1 is written for all.
void Trace::take_noise(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) {
  if (frame.function->is_library || op.results.empty()) return;
  const auto type_of = [&](ir::ValueId id) -> const ir::Type& { return frame.function->values[id].type; };
  if (draws_noise(op.function)) {
    std::string shape;
    for (const ir::DimId dim : type_of(op.results[0]).dims)
      shape += (shape.empty() ? "" : ", ") + to_text(dim, module_.dims);
    value.draw = uint32_t(draws_.size());
    draws_.push_back({user_span(op, frame), {}, op.function, "", shape});
    return;
  }
  const bool is_product = op.function == Id::Mul, is_sum = op.function == Id::Add || op.function == Id::Sub;
  if ((!is_product && !is_sum && op.function != Id::Div) || operands.size() != 2) return;
  for (size_t i = 0; i < 2; ++i) {
    if (operands[i]->draw == 0) continue;
    const bool is_scaled = is_product || (op.function == Id::Div && i == 0);
    if (!type_of(op.operands[1 - i]).is_tensor()) {
      if (is_scaled) value.draw = operands[i]->draw;
      continue;
    }
    if (is_product) note_scale(op, 1 - i, frame);
    SharedNoise noise = draws_[operands[i]->draw];
    if (noise.size.empty() && !is_shared(op.operands[i], op.operands[1 - i], frame)) continue;
    const std::vector<ir::DimId>& dims = type_of(op.operands[1 - i]).dims;
    if (noise.size.empty()) noise.size = to_text(dims[0], module_.dims);
    noise.meets = user_span(op, frame);
    if (is_sum && is_of_records(op.operands[1 - i], frame)) {
      if (is_train_step()) findings.shared_noises.push_back(std::move(noise));
    } else if (is_product && draws_[operands[i]->draw].size.empty()) {
      value.draw = uint32_t(draws_.size());
      draws_.push_back(std::move(noise));
    }
  }
}

bool Trace::is_shared(ir::ValueId noise, ir::ValueId records, const Frame& frame) const {
  const std::vector<ir::DimId>&own = frame.function->values[noise].type.dims,
        &dims = frame.function->values[records].type.dims;
  // Another number of them for each record is meant, as several samples of a distribution.
  const bool fits =
      !own.empty() && own.size() < dims.size() && std::equal(own.begin(), own.end(), dims.end() - long(own.size()));
  const auto is_one = [&](ir::DimId dim) { return module_.dims.constant(dim) == 1; };
  return fits && std::ranges::none_of(own, is_one) && std::ranges::find(own, dims[0]) == own.end() &&
         is_of_records(records, frame);
}

void Trace::note_scale(const ir::Op& op, size_t operand, const Frame& frame) {
  const Value& scale = use(op.operands[operand], frame);
  const Id drawn = draws_[use(op.operands[1 - operand], frame).draw].function;
  if (scale.identity == 0 || (drawn != Id::Randn && drawn != Id::Normal)) return;
  const Span span = written_span(op, operand, frame);
  if (const auto of = logarithms_.find(scale.identity); of != logarithms_.end())
    findings.scaled_noises.push_back({span, of->second.value, true, of->second.name});
  else
    findings.scaled_noises.push_back({span, scale.identity, false, frame.function->values[op.operands[operand]].name});
}

std::vector<Trace::Term> Trace::terms_of(const Value& value) const {
  const auto sum = value.constant ? sums_.end() : sums_.find(value.identity);
  if (sum != sums_.end()) return sum->second;
  return {{value.constant ? 0 : value.identity, number_of(value), false}};
}

void Trace::note_terms(const ir::Op& op, uint64_t identity, const Frame& frame) {
  if (op.kind != OpKind::CallOp) return;
  if (op.function == Id::Exp) {
    const Value& of = use(op.operands[0], frame);
    logarithms_.try_emplace(identity, Logarithm{of.identity, frame.function->values[op.operands[0]].name});
    return;
  }
  const bool is_minus = op.function == Id::Sub || op.function == Id::Neg;
  if (op.function != Id::Add && !is_minus) return;
  // Findings may have been thrown away since it was met first.
  if (const auto known = sums_.find(identity); known != sums_.end()) {
    if (known->second.size() == kMostTerms) look_at_divergence(known->second, user_span(op, frame));
    return;
  }
  std::vector<Term> terms;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    for (Term term : terms_of(use(op.operands[i], frame))) {
      const bool is_turned = is_minus && i + 1 == op.operands.size();
      term.is_minus = term.is_minus != is_turned;
      terms.push_back(term);
    }
  }
  if (terms.size() > kMostTerms) return;
  if (terms.size() == kMostTerms) look_at_divergence(terms, user_span(op, frame));
  sums_.emplace(identity, std::move(terms));
}

// `1 + x - m ** 2 - exp(x)`, in any order, or turned round.
void Trace::look_at_divergence(const std::vector<Term>& terms, Span span) {
  const auto is_one = [](const Term& term) { return term.number && std::abs(*term.number) == 1; };
  const auto one = std::ranges::find_if(terms, is_one);
  if (one == terms.end()) return;
  const bool is_turned = one->is_minus != (*one->number < 0);
  size_t turned = 0;
  for (const Term& term : terms) turned += &term != &*one && term.is_minus != is_turned ? 1 : 0;
  if (turned != 2) return;
  for (const Term& term : terms) {
    const auto of = logarithms_.find(term.value);
    if (of == logarithms_.end() || term.is_minus == is_turned) continue;
    const auto is_it = [&](const Term& other) {
      return other.value == of->second.value && other.value != 0 && other.is_minus == is_turned;
    };
    if (std::ranges::any_of(terms, is_it)) findings.log_variances.try_emplace(of->second.value, span);
  }
}

}  // namespace ltr::training_logic
