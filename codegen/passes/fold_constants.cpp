#include "codegen/passes/fold_constants.h"

#include <cmath>

#include "codegen/passes/rewrite.h"

namespace ltr::passes {
namespace {

using ir::Constant;
using Result = std::optional<Constant>;

Result fold_int(const std::string& name, int64_t a, int64_t b) {
  int64_t out = 0;
  if (name == "+") return __builtin_add_overflow(a, b, &out) ? Result() : Result(out);
  if (name == "-") return __builtin_sub_overflow(a, b, &out) ? Result() : Result(out);
  if (name == "*") return __builtin_mul_overflow(a, b, &out) ? Result() : Result(out);
  if (name == "<") return Constant(a < b);
  if (name == "<=") return Constant(a <= b);
  if (name == ">") return Constant(a > b);
  if (name == ">=") return Constant(a >= b);
  if (name == "==") return Constant(a == b);
  if (name == "!=") return Constant(a != b);
  if (name == "min") return Constant(a < b ? a : b);
  if (name == "max") return Constant(a < b ? b : a);
  // Division overflows where b is -1, too.
  if (b <= 0) return {};
  if (name == "/") return a % b == 0 ? Result(a / b) : Result();
  const int64_t remainder = ((a % b) + b) % b;
  if (name == "//") return Constant((a - remainder) / b);
  if (name == "%") return Constant(remainder);
  if (name == "ceil") return Constant((a - remainder) / b + (remainder != 0 ? 1 : 0));
  return {};
}

Result fold_float(const std::string& name, double a, double b) {
  if (name == "+") return Constant(a + b);
  if (name == "-") return Constant(a - b);
  if (name == "*") return Constant(a * b);
  if (name == "/") return Constant(a / b);
  if (name == "<") return Constant(a < b);
  if (name == "<=") return Constant(a <= b);
  if (name == ">") return Constant(a > b);
  if (name == ">=") return Constant(a >= b);
  if (name == "==") return Constant(a == b);
  if (name == "!=") return Constant(a != b);
  return {};
}

/// `sqrt` is exact on every machine; `exp` and `log` are left to the run.
Result fold_unary(const std::string& name, const Constant& value) {
  if (name == "not" && std::holds_alternative<bool>(value)) return Constant(!std::get<bool>(value));
  if (const auto* real = std::get_if<double>(&value)) {
    if (name == "neg") return Constant(-*real);
    if (name == "abs") return Constant(std::fabs(*real));
    if (name == "sqrt") return Constant(std::sqrt(*real));
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    if (name == "neg" && *whole != INT64_MIN) return Constant(-*whole);
    if (name == "abs" && *whole != INT64_MIN) return Constant(*whole < 0 ? -*whole : *whole);
  }
  return {};
}

class FoldingPass {
 public:
  explicit FoldingPass(ir::Function& function) : function_(function) {}
  void run() {
    region(function_.body);
    apply(replacements_, function_.body);
  }

 private:
  const std::optional<Constant>& constant(ir::ValueId id) const {
    return function_.values[replacements_.get(id)].constant;
  }

  Result fold(const ir::Op& op) const {
    if (op.results.size() != 1) return {};
    const ir::Type& type = function_.values[op.results[0]].type;
    for (const ir::ValueId operand : op.operands) {
      if (!constant(operand)) return {};
    }
    if (op.kind == ir::OpKind::Convert && type.is(ir::TypeKind::Float)) {
      const auto* whole = std::get_if<int64_t>(&*constant(op.operands[0]));
      return whole != nullptr ? Result(double(*whole)) : Result();
    }
    if (op.kind != ir::OpKind::HostOp) return {};
    if (op.operands.size() == 1) return fold_unary(op.name, *constant(op.operands[0]));
    if (op.operands.size() != 2) return {};
    return fold_pair(op.name, *constant(op.operands[0]), *constant(op.operands[1]));
  }

  static Result fold_pair(const std::string& name, const Constant& left, const Constant& right) {
    if (const auto *a = std::get_if<int64_t>(&left), *b = std::get_if<int64_t>(&right); a && b) return fold_int(name, *a, *b);
    if (const auto *a = std::get_if<bool>(&left), *b = std::get_if<bool>(&right); a && b) {
      if (name == "and") return Constant(*a && *b);
      if (name == "or") return Constant(*a || *b);
      return {};
    }
    const auto real = [](const Constant& value) -> std::optional<double> {
      if (const auto* whole = std::get_if<int64_t>(&value)) return double(*whole);
      if (const auto* number = std::get_if<double>(&value)) return *number;
      return std::nullopt;
    };
    const auto a = real(left);
    const auto b = real(right);
    return a && b ? fold_float(name, *a, *b) : Result();
  }

  /// The region that an `if` with a known condition takes; null if it is not known, or leaves the function.
  ir::Region* taken(ir::Op& op) {
    if (op.kind != ir::OpKind::If || !constant(op.operands[0])) return nullptr;
    ir::Region& region = op.regions[std::get<bool>(*constant(op.operands[0])) ? 0 : 1];
    return region.ops.back().kind == ir::OpKind::Yield ? &region : nullptr;
  }

  void region(ir::Region& region) {
    std::vector<ir::Op> kept;
    kept.reserve(region.ops.size());
    for (ir::Op& op : region.ops) {
      if (ir::Region* branch = taken(op)) {
        this->region(*branch);
        const std::vector<ir::ValueId> yields = branch->ops.back().operands;
        for (size_t i = 0; i < op.results.size(); ++i) replacements_.set(op.results[i], yields[i]);
        branch->ops.pop_back();
        for (ir::Op& inner : branch->ops) kept.push_back(std::move(inner));
        continue;
      }
      for (ir::Region& inner : op.regions) this->region(inner);
      if (Result value = fold(op)) {
        const ir::Type type = function_.values[op.results[0]].type;
        function_.values.push_back({type, std::move(*value), ""});
        replacements_.set(op.results[0], ir::ValueId(function_.values.size() - 1));
        continue;
      }
      kept.push_back(std::move(op));
    }
    region.ops = std::move(kept);
  }

  ir::Function& function_;
  Replacements replacements_;
};

}  // namespace

void fold_constants(ir::Module& module) {
  for (ir::Function& function : module.functions) FoldingPass(function).run();
}

}  // namespace ltr::passes
