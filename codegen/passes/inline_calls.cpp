#include "codegen/passes/inline_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "codegen/passes/rewrite.h"

namespace ltr::passes {
namespace {

constexpr size_t kMaxOps = 24;

bool returns_inside(const ir::Region& region, bool is_body) {
  for (size_t i = 0; i < region.ops.size(); ++i) {
    const ir::Op& op = region.ops[i];
    if (op.kind == ir::OpKind::Return && !is_body) return true;
    for (const ir::Region& inner : op.regions) {
      if (returns_inside(inner, false)) return true;
    }
  }
  return false;
}

bool is_profitable(const ir::Function& callee) {
  return (callee.role == ir::Role::Free || callee.role == ir::Role::Method) && !callee.is_recomputed &&
         count_ops(callee.body) <= kMaxOps && !returns_inside(callee.body, true);
}

/// A copy of a callee's body with values of the caller.
class Copy {
 public:
  Copy(const ir::Function& callee, ir::Function& caller, const ir::Op& call)
      : callee_(callee), caller_(caller), loc_(call.loc), take_loc_(callee.is_library || call.loc.line == 0) {
    for (size_t i = 0; i < call.operands.size(); ++i) values_[callee.body.params[i]] = call.operands[i];
  }

  ir::Region region(const ir::Region& from) {
    ir::Region to;
    for (const ir::ValueId param : from.params) to.params.push_back(fresh(param));
    for (const ir::Op& op : from.ops) to.ops.push_back(copy(op));
    return to;
  }

  ir::Op copy(const ir::Op& from) {
    ir::Op to = from;
    // What has no place of its own goes wrong at the call.
    if (take_loc_ || to.loc.line == 0) to.loc = loc_;
    for (ir::ValueId& operand : to.operands) operand = use(operand);
    for (ir::ValueId& result : to.results) result = fresh(result);
    to.regions.clear();
    for (const ir::Region& inner : from.regions) to.regions.push_back(region(inner));
    return to;
  }

  ir::ValueId use(ir::ValueId id) {
    const auto known = values_.find(id);
    return known != values_.end() ? known->second : fresh(id);  // A constant is met here first.
  }

 private:
  ir::ValueId fresh(ir::ValueId id) {
    caller_.values.push_back(callee_.values[id]);
    const auto copy = ir::ValueId(caller_.values.size() - 1);
    values_[id] = copy;
    return copy;
  }

  const ir::Function& callee_;
  ir::Function& caller_;
  ir::Loc loc_;
  bool take_loc_;
  std::map<ir::ValueId, ir::ValueId> values_;
};

class InliningPass {
 public:
  explicit InliningPass(ir::Module& module) : module_(module) {
    for (size_t i = 0; i < module.functions.size(); ++i) by_name_[module.functions[i].name] = i;
  }

  void run() {
    for (size_t i = 0; i < module_.functions.size(); ++i) process(i);
  }

 private:
  // Recursion is an error of the language, so callees first ends.
  void process(size_t index) {
    if (!done_.insert(index).second) return;
    ir::Function& function = module_.functions[index];
    Replacements replacements;
    region(function, function.body, replacements);
    apply(replacements, function.body);
    std::map<ir::ValueId, ir::Op> members;
    join_paths(function.body, members);
  }

  const ir::Function* callee_of(const ir::Op& op) {
    if (op.kind != ir::OpKind::CallFn && op.kind != ir::OpKind::CallMethod) return nullptr;
    const auto known = by_name_.find(op.name);
    if (known == by_name_.end()) return nullptr;
    process(known->second);
    const ir::Function& callee = module_.functions[known->second];
    return is_profitable(callee) ? &callee : nullptr;
  }

  void region(ir::Function& function, ir::Region& region, Replacements& replacements) {
    std::vector<ir::Op> kept;
    kept.reserve(region.ops.size());
    for (ir::Op& op : region.ops) {
      const ir::Function* callee = callee_of(op);
      if (callee == nullptr) {
        for (ir::Region& inner : op.regions) this->region(function, inner, replacements);
        kept.push_back(std::move(op));
        continue;
      }
      Copy copy(*callee, function, op);
      for (const ir::Op& inner : callee->body.ops) {
        if (inner.kind == ir::OpKind::Return) {
          for (size_t i = 0; i < op.results.size(); ++i) {
            const ir::ValueId value = copy.use(inner.operands[i]);
            ir::Value& known = function.values[value];
            if (known.name.empty()) known.name = function.values[op.results[i]].name;
            replacements.set(op.results[i], value);
          }
        } else {
          kept.push_back(copy.copy(inner));
        }
      }
    }
    region.ops = std::move(kept);
  }

  static bool has_path(ir::OpKind kind) {
    return kind == ir::OpKind::Member || kind == ir::OpKind::ReadParam || kind == ir::OpKind::ReadBuffer ||
           kind == ir::OpKind::WriteBuffer || kind == ir::OpKind::CallMetric;
  }

  static void join_paths(ir::Region& region, std::map<ir::ValueId, ir::Op>& members) {
    for (ir::Op& op : region.ops) {
      if (has_path(op.kind)) {
        const auto base = members.find(op.operands[0]);
        if (base != members.end()) {
          op.name = base->second.name + "." + op.name;
          op.operands[0] = base->second.operands[0];
        }
      }
      if (op.kind == ir::OpKind::Member) members[op.results[0]] = op;
      for (ir::Region& inner : op.regions) join_paths(inner, members);
    }
  }

  ir::Module& module_;
  std::map<std::string, size_t> by_name_;
  std::set<size_t> done_;
};

}  // namespace

void inline_calls(ir::Module& module) { InliningPass(module).run(); }

}  // namespace ltr::passes
