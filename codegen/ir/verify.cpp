#include <set>

#include "codegen/ir/text.h"

namespace ltr::ir {
namespace {

bool fits(char wanted, const Value& value) {
  const Type& type = value.type;
  const bool is_none = type.is(TypeKind::None);
  const bool is_tensor =
      type.is_tensor() || (type.is(TypeKind::Option) && !type.fields.empty() && type.fields[0].type.is_tensor());
  switch (wanted) {
    case 't': return is_tensor;
    case 'n': return is_tensor || type.is_host_number();
    case 'i': return type.is(TypeKind::Int);
    case 'f': return type.is(TypeKind::Float);
    case 'h': return type.is_host_number();
    case 'b': return type.is(TypeKind::Bool);
    case 's': return type.is(TypeKind::Str);
    case 'l': return type.is(TypeKind::List) || type.is(TypeKind::Tuple) || is_tensor;
    case 'o': return type.is_object();
    case 'c': return type.is(TypeKind::Scope);
    case 'w': return type.is(TypeKind::Weights);
    case 'p': return type.is(TypeKind::Optimizer);
    default: return is_none || !type.is(TypeKind::Error);
  }
}

class Verifier {
 public:
  Verifier(const Module& module, const Function& function, std::vector<std::string>& mistakes)
      : module_(module), function_(function), mistakes_(mistakes) {}

  void run() {
    region(function_.body, nullptr);
    if (function_.body.ops.empty() || function_.body.ops.back().kind != OpKind::Return) {
      report(function_.loc, "the body does not end with return");
    }
  }

 private:
  void report(Loc loc, const std::string& message) {
    mistakes_.push_back(function_.name + ":" + std::to_string(loc.line) + ": " + message);
  }

  void define(ValueId id, Loc loc) {
    if (id >= function_.values.size()) return report(loc, "a value that the function lacks is defined");
    if (!defined_.insert(id).second) report(loc, "a value is defined twice");
  }

  void region(const Region& region, const Op* parent) {
    std::vector<ValueId> here = region.params;
    for (const ValueId param : region.params) define(param, function_.loc);
    for (size_t i = 0; i < region.ops.size(); ++i) {
      const Op& op = region.ops[i];
      check(op, parent);
      const bool is_last = i + 1 == region.ops.size();
      if ((op.effect() == Effect::Exit) != is_last)
        report(op.loc, "a region ends with yield or return, and only there");
      for (const ValueId result : op.results) {
        define(result, op.loc);
        here.push_back(result);
      }
    }
    // What a region defines is not visible behind it.
    for (const ValueId id : here) visible_end_.insert(id);
    for (const ValueId id : here) defined_.erase(id);
  }

  void check(const Op& op, const Op* parent) {
    for (const ValueId id : op.operands) {
      if (id >= function_.values.size()) {
        report(op.loc, std::string(op.info().name) + " reads a value that the function lacks");
      } else if (!function_.values[id].constant && defined_.count(id) == 0) {
        report(op.loc, std::string(op.info().name) + " reads a value that is not defined before it");
      }
    }
    for (const ValueId id : op.results) {
      if (visible_end_.count(id) != 0) report(op.loc, "a value is defined twice");
    }
    check_operands(op);
    check_callee(op);
    if (op.kind == OpKind::Yield) check_yield(op, parent);
    check_regions(op);
    for (const Region& inner : op.regions) region(inner, &op);
  }

  void check_operands(const Op& op) {
    const std::string_view wanted = op.info().operands;
    size_t operand = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] == ' ') continue;
      if (wanted[i] == '.') return;
      const bool optional = i + 1 < wanted.size() && wanted[i + 1] == '?';
      if (operand >= op.operands.size()) {
        if (!optional) report(op.loc, std::string(op.info().name) + " lacks an operand");
        return;
      }
      const ValueId id = op.operands[operand++];
      if (id >= function_.values.size()) return;
      const Value& value = function_.values[id];
      if (!(optional && value.type.is(TypeKind::None)) && !fits(wanted[i], value)) {
        report(op.loc, "operand " + std::to_string(operand) + " of " + std::string(op.info().name) + " is " +
                           to_text(value.type, module_.dims));
      }
      if (optional) ++i;
    }
    if (operand < op.operands.size()) report(op.loc, std::string(op.info().name) + " has too many operands");
  }

  void check_callee(const Op& op) {
    if (op.kind != OpKind::CallFn && op.kind != OpKind::CallMethod) return;
    const Function* callee = module_.find(op.name);
    if (callee == nullptr) return report(op.loc, "no function @" + op.name);
    if (callee->body.params.size() != op.operands.size())
      report(op.loc, "@" + op.name + " takes another number of operands");
  }

  void check_yield(const Op& op, const Op* parent) {
    if (parent == nullptr) return report(op.loc, "yield stands in no region");
    const bool is_free = parent->kind == OpKind::While || parent->kind == OpKind::Comprehension;
    if (is_free) return;
    if (op.operands.size() != parent->results.size()) report(op.loc, "yield gives another number of values");
  }

  void check_regions(const Op& op) {
    const bool has_regions = op.effect() == Effect::Region;
    if (has_regions == op.regions.empty()) report(op.loc, std::string(op.info().name) + " and its regions do not fit");
    const size_t wanted = op.kind == OpKind::If || op.kind == OpKind::While ? 2 : 1;
    if (has_regions && op.regions.size() != wanted) report(op.loc, "wrong number of regions");
  }

  const Module& module_;
  const Function& function_;
  std::vector<std::string>& mistakes_;
  std::set<ValueId> defined_;
  std::set<ValueId> visible_end_;
};

}  // namespace

std::vector<std::string> verify(const Module& module) {
  std::vector<std::string> mistakes;
  std::set<std::string> names;
  for (const Function& function : module.functions) {
    if (!names.insert(function.name).second) mistakes.push_back(function.name + ": two functions of this name");
    Verifier(module, function, mistakes).run();
  }
  return mistakes;
}

}  // namespace ltr::ir
