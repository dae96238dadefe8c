#include "codegen/passes/fold_constants.h"

#include <algorithm>

#include "codegen/passes/rewrite.h"
#include "dsl/host/math.h"

namespace ltr::passes {
namespace {

using ir::Constant;
using Result = std::optional<Constant>;

std::optional<host::Number> number_of(const Constant& constant) {
  if (const auto* flag = std::get_if<bool>(&constant)) return *flag;
  if (const auto* whole = std::get_if<int64_t>(&constant)) return *whole;
  if (const auto* real = std::get_if<double>(&constant)) return *real;
  return std::nullopt;
}

Result constant_of(const std::optional<host::Number>& number) {
  if (!number) return {};
  return std::visit([](const auto& value) { return Constant(value); }, *number);
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
    if (op.operands.empty() || op.operands.size() > 2) return {};
    std::vector<host::Number> numbers;
    for (const ir::ValueId operand : op.operands) {
      const auto number = number_of(*constant(operand));
      if (!number) return {};
      numbers.push_back(*number);
    }
    const bool has_float =
        std::any_of(numbers.begin(), numbers.end(), [](const host::Number& one) { return one.index() == 2; });
    const bool gives_float = has_float || type.is(ir::TypeKind::Float);
    if (gives_float && host::info(op.host).is_rounded) return {};
    return constant_of(numbers.size() == 1 ? host::fold(op.host, numbers[0])
                                           : host::fold(op.host, numbers[0], numbers[1]));
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
