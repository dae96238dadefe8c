#include "dsl/elaborate/groups.h"

#include <algorithm>
#include <string_view>

namespace ltr::elaborate {

namespace {

/// The declaration of the block that the weight is a member of.
std::string kind_of(const std::string& path, const Tree& tree) {
  const size_t dot = path.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : path.substr(0, dot);
  const auto owner = std::find_if(tree.objects.begin(), tree.objects.end(), [&](const Object& object) {
    return object.kind == check::Kind::Block && object.path == parent;
  });
  return owner == tree.objects.end() ? "" : owner->type;
}

/// A path is meant whole, or from what was given to the optimizer on: any begin of it may be left out.
bool takes(const std::string& pattern, const Weight& weight, const Tree& tree) {
  const std::string path = weight.name();
  const std::string name = path.substr(path.rfind('.') + 1);
  if (pattern == "@1d") return weight.dims.size() < 2;
  if (pattern == "@bias") return name == "bias" || name.starts_with("bias_");
  if (pattern == "@norm") return kind_of(weight.path, tree).find("Norm") != std::string::npos;
  if (pattern == "@embedding") return kind_of(weight.path, tree) == "Embedding";
  if (matches(pattern, path)) return true;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    if (matches(pattern, std::string_view(path).substr(dot + 1))) return true;
  }
  return false;
}

/// The rule of a group: its own, or the optimizer's, with the arguments that the group sets.
Value rule_of(const check::GroupSettings& group, const Value& of_optimizer, Machine& machine, Frame& frame) {
  Value rule = group.rule ? machine.eval(*group.rule, frame) : of_optimizer;
  for (const auto& [name, expr] : group.settings) {
    for (size_t i = 0; i < rule.names.size() && i < rule.items.size(); ++i) {
      if (rule.names[i] == name) rule.items[i] = machine.eval(expr, frame);
    }
  }
  return rule;
}

}  // namespace

std::vector<Plan::Optimizer> parts_of(const check::Member& optimizer, const Value& made, Machine& machine, Frame& frame,
                                      const Tree& tree) {
  std::vector<Plan::Optimizer> parts;
  for (const check::GroupSettings& group : optimizer.groups)
    parts.push_back({optimizer.name, rule_of(group, made, machine, frame), {}});
  parts.push_back({optimizer.name, made, {}});
  for (const WeightId id : made.items[0].weights) {
    size_t part = 0;
    while (part < optimizer.groups.size() && !takes(optimizer.groups[part].pattern, tree.weights[id], tree)) ++part;
    parts[part].weights.push_back(id);
  }
  std::erase_if(parts, [](const Plan::Optimizer& part) { return part.weights.empty(); });
  return parts;
}

}  // namespace ltr::elaborate
