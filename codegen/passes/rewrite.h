#pragma once

#include <unordered_map>
#include <vector>

#include "codegen/ir/step.h"

namespace ltr::passes {

/// Which value stands for another one now. Chains are followed.
class Replacements {
 public:
  void set(ir::ValueId from, ir::ValueId to) { map_[from] = to; }
  ir::ValueId get(ir::ValueId id) const {
    for (auto known = map_.find(id); known != map_.end(); known = map_.find(id)) id = known->second;
    return id;
  }
  bool empty() const { return map_.empty(); }

 private:
  std::unordered_map<ir::ValueId, ir::ValueId> map_;
};

/// Every operand below `region` is replaced.
inline void apply(const Replacements& replacements, ir::Region& region) {
  if (replacements.empty()) return;
  for (ir::Op& op : region.ops) {
    for (ir::ValueId& operand : op.operands) operand = replacements.get(operand);
    for (ir::Region& inner : op.regions) apply(replacements, inner);
  }
}

inline size_t count_ops(const ir::Region& region) {
  size_t count = region.ops.size();
  for (const ir::Op& op : region.ops) {
    for (const ir::Region& inner : op.regions) count += count_ops(inner);
  }
  return count;
}

}  // namespace ltr::passes
