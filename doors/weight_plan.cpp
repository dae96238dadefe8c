#include "doors/weight_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/tables/weight_pattern.h"

namespace ltr::doors {

namespace {

/// `name` under the first rename that fits it.
std::string renamed(const std::string& name, const std::vector<LoadRule>& rules, std::vector<bool>& used) {
  for (size_t i = 0; i < rules.size(); ++i) {
    const LoadRule& rule = rules[i];
    if (rule.kind != LoadRule::Kind::Rename || !matches(rule.pattern, name)) continue;
    used[i] = true;
    const size_t star = rule.pattern.find('*'), target = rule.replacement.find('*');
    if (star == std::string::npos || target == std::string::npos) return rule.replacement;
    const std::string taken = name.substr(star, name.size() - (rule.pattern.size() - 1));
    return rule.replacement.substr(0, target) + taken + rule.replacement.substr(target + 1);
  }
  return name;
}

/// Notes the rules of `kind` that fit `name`; whether there is one.
bool any_fits(LoadRule::Kind kind, const std::string& name, const std::vector<LoadRule>& rules,
              std::vector<bool>& used) {
  bool any = false;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].kind != kind || !matches(rules[i].pattern, name)) continue;
    used[i] = true;
    any = true;
  }
  return any;
}

/// "", "a.", "a.b." of the names that at least four fifths of `names` begin with.
std::vector<std::string> common_prefixes(const std::vector<std::string>& names) {
  std::vector<std::string> prefixes = {""};
  if (names.empty()) return prefixes;
  // What most begin with, the middle one of the sorted names begins with too.
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const std::string& middle = sorted[sorted.size() / 2];
  for (size_t dot = middle.find('.'); dot != std::string::npos; dot = middle.find('.', dot + 1)) {
    const std::string prefix = middle.substr(0, dot + 1);
    const auto count =
        std::count_if(names.begin(), names.end(), [&](const std::string& name) { return name.starts_with(prefix); });
    if (size_t(count) * 5 < names.size() * 4) break;
    prefixes.push_back(prefix);
  }
  return prefixes;
}

void propose_rename(const std::vector<Wanted>& wanted, const std::vector<std::string>& stored, LoadPlan& plan) {
  std::vector<std::string> names;
  for (const Wanted& one : wanted) names.push_back(one.name);
  const std::set<std::string> known(names.begin(), names.end());
  size_t best = 0;
  for (const std::string& from : common_prefixes(stored)) {
    for (const std::string& to : common_prefixes(names)) {
      if (from == to) continue;
      const auto fits = [&](const std::string& name) {
        return name.starts_with(from) && known.count(to + name.substr(from.size())) != 0;
      };
      const auto count = size_t(std::count_if(stored.begin(), stored.end(), fits));
      if (count <= best || count * 5 < names.size() * 4) continue;
      best = count;
      plan.rename_from = from + "*";
      plan.rename_to = to + "*";
    }
  }
}

}  // namespace

LoadPlan plan_load(const std::vector<Wanted>& wanted, const std::vector<std::string>& stored,
                   const std::vector<LoadRule>& rules) {
  LoadPlan plan;
  std::vector<bool> used(rules.size(), false);
  std::map<std::string, std::string> by_name;  // As renamed: as stored.
  std::vector<std::string> doubled;
  for (const std::string& name : stored) {
    const std::string here = renamed(name, rules, used);
    const bool is_skipped =
        any_fits(LoadRule::Kind::Skip, name, rules, used) || any_fits(LoadRule::Kind::Skip, here, rules, used);
    if (!is_skipped && !by_name.emplace(here, name).second) doubled.push_back(name);
  }
  std::set<std::string> names;
  std::set<std::string> there;  // Names of stored tensors, and of those that they are shared with.
  for (const Wanted& one : wanted) {
    names.insert(one.name);
    if (by_name.count(one.name) == 0) continue;
    there.insert(one.name);
    if (!one.shared_with.empty()) there.insert(one.shared_with);
  }
  for (const Wanted& one : wanted) {
    if (any_fits(LoadRule::Kind::Freeze, one.name, rules, used)) plan.frozen.push_back(one.name);
    if (any_fits(LoadRule::Kind::Skip, one.name, rules, used)) continue;
    const auto found = by_name.find(one.name);
    if (found != by_name.end()) {
      plan.loads.emplace_back(one.name, found->second);
      continue;
    }
    // The other name of the same tensor does as well.
    const bool has_other =
        there.count(one.name) != 0 || (!one.shared_with.empty() && there.count(one.shared_with) != 0);
    if (!has_other) plan.missing.push_back(one.name);
  }
  for (const auto& [here, name] : by_name) {
    if (names.count(here) == 0) plan.unexpected.push_back(name);
  }
  plan.unexpected.insert(plan.unexpected.end(), doubled.begin(), doubled.end());
  std::sort(plan.unexpected.begin(), plan.unexpected.end());
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!used[i]) plan.idle_rules.push_back(i);
  }
  const auto is_rename = [](const LoadRule& rule) { return rule.kind == LoadRule::Kind::Rename; };
  if (!plan.missing.empty() && std::none_of(rules.begin(), rules.end(), is_rename))
    propose_rename(wanted, stored, plan);
  return plan;
}

}  // namespace ltr::doors
