// Which values are surely the same, although they are computed twice.
#include <algorithm>
#include <bit>

#include "codegen/training_logic/trace.h"

namespace ltr::training_logic {

using ir::OpKind;
using library::Draws;

namespace {

/// A hash over all that makes a value what it is. By 64 bits two different values of one program do not meet; since nothing is
/// compared behind it, it mixes more than the hashes of tables do.
class Identity {
 public:
  Identity& add(uint64_t part) {
    // The finalizer of SplitMix64, Steele et al. 2014.
    state_ = (state_ ^ part) + 0x9e3779b97f4a7c15;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111eb;
    state_ ^= state_ >> 31;
    return *this;
  }
  Identity& add_text(std::string_view text) {
    for (const char one : text) add(uint64_t(uint8_t(one)));
    return add(text.size());
  }
  Identity& add(const ir::Constant& constant) {
    add(constant.index());
    if (const auto* is_true = std::get_if<bool>(&constant)) add(uint64_t(*is_true));
    if (const auto* whole = std::get_if<int64_t>(&constant)) add(uint64_t(*whole));
    if (const auto* real = std::get_if<double>(&constant)) add(std::bit_cast<uint64_t>(*real));
    if (const auto* text = std::get_if<std::string>(&constant)) add_text(*text);
    return *this;
  }
  /// Never 0.
  uint64_t value() const { return state_ == 0 ? 1 : state_; }

 private:
  uint64_t state_ = 0;
};

constexpr uint64_t kOfOp = 1, kOfWeight = 2, kOfConstant = 3, kOfBranch = 4, kNew = 5;

uint64_t identity_of(const Value& value) {
  if (value.is_unknown) return 0;
  if (value.constant) return Identity().add(kOfConstant).add(*value.constant).value();
  if (value.is_none) return Identity().add(kOfConstant).value();
  return value.identity;
}

bool is_of_operands_alone(OpKind kind) {
  switch (kind) {
    case OpKind::CallOp:
    case OpKind::HostOp:
    case OpKind::Convert:
    case OpKind::ListOf:
    case OpKind::TupleOf:
    case OpKind::RecordOf:
    case OpKind::ListGet:
    case OpKind::TupleGet:
    case OpKind::RecordGet:
    case OpKind::Equal:
    case OpKind::ShapeOf:
    case OpKind::SizeOf: return true;
    default: return false;
  }
}

}  // namespace

uint64_t Trace::new_identity() const { return Identity().add(kNew).add(++identities_).value(); }

uint64_t Trace::identity_of(WeightId weight) const {
  const Weight& one = heap_.weights[weight];
  if (one.owner == 0 || one.places[0].path.find('*') != std::string::npos) return 0;
  return Identity().add(kOfWeight).add(weight).add(version_of(one.owner)).value();
}

uint64_t Trace::identity_of(const Value& condition, const Value& first, const Value& second) {
  Identity identity;
  identity.add(kOfBranch);
  for (const Value* part : {&condition, &first, &second}) {
    const uint64_t one = training_logic::identity_of(*part);
    if (one == 0) return 0;
    identity.add(one);
  }
  return identity.value();
}

uint64_t Trace::identity_of(const ir::Op& op, const Frame& frame) const {
  if (!is_of_operands_alone(op.kind) || op.operands.empty() || op.results.size() != 1) return 0;
  const library::Function& function = library::info(op.function);
  if (function.always_draws()) return 0;
  if (function.draws == Draws::InTraining) {
    const bool has_rate = function.rate_at != 0 && function.rate_at < op.operands.size();
    const auto& rate = use(op.operands[has_rate ? function.rate_at : 0], frame).constant;
    if (!has_rate || !rate || *rate != ir::Constant(0.0)) return 0;
  }
  Identity identity;
  identity.add(kOfOp).add(uint64_t(op.kind)).add(uint64_t(op.function)).add(uint64_t(op.host)).add_text(op.name);
  for (const ir::Attr& attr : op.attrs) {
    identity.add_text(attr.key);
    if (const auto* number = std::get_if<int64_t>(&attr.value)) identity.add(uint64_t(*number));
    if (const auto* text = std::get_if<std::string>(&attr.value)) identity.add_text(*text);
  }
  // What `to` makes of a value stands in its type.
  const ir::Type& type = frame.function->values[op.results[0]].type;
  identity.add(uint64_t(type.kind)).add(uint64_t(type.element));
  for (const ir::ValueId operand : op.operands) {
    const Value& value = use(operand, frame);
    const uint64_t one = training_logic::identity_of(value);
    // In training the running statistics are written, and change nothing of the result.
    const bool is_state = value.varies && !value.is_unknown && !value.is_of_input && value.weights.empty();
    if (one == 0 && function.is_of_batch && is_state && is_train_step()) continue;
    if (one == 0) return 0;
    identity.add(one);
  }
  return identity.value();
}

}  // namespace ltr::training_logic
