#include "codegen/passes/remove_unused_ops.h"

#include <algorithm>
#include <unordered_set>

namespace ltr::passes {
namespace {

using Used = std::unordered_set<ir::ValueId>;

bool may_go(const ir::Op& op) {
  switch (op.effect()) {
    case ir::Effect::None:
    case ir::Effect::ReadParam:
    case ir::Effect::ReadBuffer: return true;
    case ir::Effect::Region:
      for (const ir::Region& region : op.regions) {
        for (const ir::Op& inner : region.ops) {
          if (inner.kind == ir::OpKind::Yield) continue;
          if (!may_go(inner)) return false;
        }
      }
      // A loop that ends may go; whether a `while` ends is not known.
      return op.kind != ir::OpKind::While;
    case ir::Effect::WriteBuffer:
    case ir::Effect::Rng:
    case ir::Effect::Minimize:
    case ir::Effect::Log:
    case ir::Effect::HostSync:
    case ir::Effect::Io:
    case ir::Effect::Exit: return false;
  }
  return false;
}

void sweep(ir::Region& region, Used& used) {
  std::vector<bool> dead(region.ops.size());
  // A reader stands behind what it reads, so from the back every reader is seen first.
  for (size_t i = region.ops.size(); i-- > 0;) {
    ir::Op& op = region.ops[i];
    const bool is_read =
        std::any_of(op.results.begin(), op.results.end(), [&](ir::ValueId id) { return used.count(id) != 0; });
    dead[i] = !is_read && may_go(op);
    if (dead[i]) continue;
    for (ir::Region& inner : op.regions) sweep(inner, used);
    used.insert(op.operands.begin(), op.operands.end());
  }
  size_t kept = 0;
  for (size_t i = 0; i < region.ops.size(); ++i) {
    if (dead[i]) continue;
    if (kept != i) region.ops[kept] = std::move(region.ops[i]);
    ++kept;
  }
  region.ops.resize(kept);
}

}  // namespace

void remove_unused_ops(ir::Module& module) {
  for (ir::Function& function : module.functions) {
    Used used;
    sweep(function.body, used);
  }
}

}  // namespace ltr::passes
