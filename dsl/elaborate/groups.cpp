#include "dsl/elaborate/groups.h"

#include <algorithm>

namespace ltr::elaborate {

namespace {

/// The declaration of the block that the weight at `path` is a member of.
std::string kind_of(const std::string& path, const Tree& tree) {
  const size_t dot = path.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : path.substr(0, dot);
  const auto owner = std::find_if(tree.objects.begin(), tree.objects.end(),
                                  [&](const Object& object) { return object.path == parent; });
  return owner == tree.objects.end() ? "" : owner->type;
}

std::vector<WeightPlace> places_of(const GivenWeight& weight, const Tree& tree) {
  std::vector<WeightPlace> places;
  for (const auto& [path, id] : tree.places) {
    if (id != weight.id) continue;
    const bool lies_within = is_below(path, weight.of) && path != weight.of;
    const size_t begin = weight.of.empty() ? 0 : weight.of.size() + 1;
    places.push_back({weight_name(path), lies_within ? weight_name(path.substr(begin)) : "", kind_of(path, tree)});
  }
  return places;
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
  for (const GivenWeight& weight : made.items[0].weights) {
    const std::vector<WeightPlace> places = places_of(weight, tree);
    const size_t rank = tree.weights[weight.id].dims.size();
    const auto first =
        std::find_if(optimizer.groups.begin(), optimizer.groups.end(),
                     [&](const check::GroupSettings& group) { return group_takes(group.pattern, rank, places); });
    parts[size_t(first - optimizer.groups.begin())].weights.push_back(weight.id);
  }
  std::erase_if(parts, [](const Plan::Optimizer& part) { return part.weights.empty(); });
  return parts;
}

}  // namespace ltr::elaborate
