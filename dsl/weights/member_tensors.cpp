#include "dsl/weights/member_tensors.h"

namespace ltr::weights {

MemberTensors::MemberTensors(const elaborate::Tree& tree, const std::string& member) {
  const auto lies_below = [&](const std::string& path) { return path != member && elaborate::is_below(path, member); };
  // What lies elsewhere keeps its whole name.
  const auto name_of = [&](const std::string& path) {
    return weight_name(lies_below(path) ? path.substr(member.size() + 1) : path);
  };
  for (const auto& [path, id] : tree.places) {
    if (!lies_below(path)) continue;
    const elaborate::Weight& weight = tree.weights[id];
    wanted_.push_back({name_of(path), weight.path == path ? "" : name_of(weight.path)});
    weights_.emplace(wanted_.back().name, &weight);
  }
  for (const std::string& place : tree.open) is_complete_ = is_complete_ && !elaborate::is_below(place, member);
}

check::Type MemberTensors::type_of(const std::string& name) const {
  const elaborate::Weight& weight = *weights_.at(name);
  return check::Type::tensor(weight.element, weight.terms);
}

}  // namespace ltr::weights
