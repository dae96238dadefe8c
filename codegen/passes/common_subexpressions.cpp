#include "codegen/passes/common_subexpressions.h"

#include <map>
#include <string>

#include "codegen/passes/rewrite.h"

namespace ltr::passes {
namespace {

std::string constant_key(const ir::Constant& constant) {
  struct Visitor {
    std::string operator()(ir::NoneConstant) const { return "none"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    // The bits: -0.0 and 0.0 differ.
    std::string operator()(double value) const {
      uint64_t bits = 0;
      static_assert(sizeof bits == sizeof value);
      __builtin_memcpy(&bits, &value, sizeof bits);
      return "f" + std::to_string(bits);
    }
    std::string operator()(const std::string& value) const { return "\"" + value + "\""; }
  };
  return std::visit(Visitor{}, constant);
}

class SubexpressionPass {
 public:
  SubexpressionPass(ir::Function& function, const ir::DimStore& dims) : function_(function), dims_(dims) {}
  void run() {
    region(function_.body);
    apply(replacements_, function_.body);
  }

 private:
  std::string key(const ir::Op& op) const {
    std::string text = std::string(op.info().name) + "@" + std::string(op.target()) + "(";
    for (const ir::ValueId operand : op.operands) {
      const ir::ValueId id = replacements_.get(operand);
      const ir::Value& value = function_.values[id];
      text += (value.constant ? constant_key(*value.constant) : "%" + std::to_string(id)) + ",";
    }
    for (const ir::Attr& attr : op.attrs) {
      text += ";" + attr.key + "=";
      if (const auto* number = std::get_if<int64_t>(&attr.value)) text += std::to_string(*number);
      if (const auto* word = std::get_if<std::string>(&attr.value)) text += "\"" + *word + "\"";
      if (const auto* words = std::get_if<ir::Texts>(&attr.value)) {
        for (const std::string& one : *words) text += "\"" + one + "\",";
      }
      if (const auto* rules = std::get_if<ir::NameRules>(&attr.value)) {
        for (const NameRule& rule : *rules)
          text += std::string(word_of(rule.kind)) + "\"" + rule.pattern + "\"" + rule.replacement + "\",";
      }
    }
    if (op.info().has(ir::Placed)) {
      for (const int64_t part : {int64_t(op.loc.file), int64_t(op.loc.line), int64_t(op.loc.column)})
        text += "#" + std::to_string(part);
    }
    for (const ir::ValueId result : op.results) text += ":" + to_text(function_.values[result].type, dims_);
    return text;
  }

  bool makes_weights(const ir::Op& op) const {
    return function_.role == ir::Role::Constructor && function_.values[op.results[0]].type.is_tensor();
  }

  void region(ir::Region& region) {
    const std::map<std::string, std::vector<ir::ValueId>> outer = known_;
    std::vector<ir::Op> kept;
    kept.reserve(region.ops.size());
    for (ir::Op& op : region.ops) {
      for (ir::Region& inner : op.regions) this->region(inner);
      if (op.effect() == ir::Effect::None && !op.results.empty() && !makes_weights(op)) {
        const auto [known, is_new] = known_.emplace(key(op), op.results);
        if (!is_new) {
          for (size_t i = 0; i < op.results.size(); ++i) replacements_.set(op.results[i], known->second[i]);
          continue;
        }
      }
      kept.push_back(std::move(op));
    }
    region.ops = std::move(kept);
    known_ = outer;
  }

  ir::Function& function_;
  const ir::DimStore& dims_;
  Replacements replacements_;
  std::map<std::string, std::vector<ir::ValueId>> known_;
};

}  // namespace

void common_subexpressions(ir::Module& module) {
  for (ir::Function& function : module.functions) SubexpressionPass(function, module.dims).run();
}

}  // namespace ltr::passes
