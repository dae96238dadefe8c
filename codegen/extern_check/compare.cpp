#include "codegen/extern_check/compare.h"

namespace ltr::extern_check {

namespace {

Finding at(const char* kind, const std::string& name, const Place& place, const std::vector<std::string>& rest) {
  Finding finding = {
      kind, name, place.file, std::to_string(place.line), std::to_string(place.column), std::to_string(place.length)};
  finding.insert(finding.end(), rest.begin(), rest.end());
  return finding;
}

/// How many leading parameters are right; the definition that agrees most is the one that is meant.
size_t agreement(const Signature& found, const Signature& wanted) {
  size_t same = found.params.size() == wanted.params.size() ? 1'000 : 0;
  for (size_t i = 0; i < found.params.size() && i < wanted.params.size(); ++i) {
    same += found.params[i].canonical == wanted.params[i].canonical ? 1 : 0;
  }
  return same;
}

void compare_with(const Signature& found, const Signature& wanted, std::vector<Finding>& findings) {
  if (found.params.size() != wanted.params.size()) {
    findings.push_back(at("count", wanted.name, found.place,
                          {std::to_string(found.params.size()), std::to_string(wanted.params.size())}));
    return;
  }
  for (size_t i = 0; i < found.params.size(); ++i) {
    const Param& param = found.params[i];
    if (param.canonical == wanted.params[i].canonical) continue;
    findings.push_back(
        at("param", wanted.name, param.place, {std::to_string(i), param.name, param.type, wanted.params[i].type}));
  }
  if (found.result.canonical != wanted.result.canonical) {
    findings.push_back(at("result", wanted.name, found.result.place, {found.result.type, wanted.result.type}));
  }
}

void compare_one(const Signature& wanted, const std::vector<Signature>& defined, std::vector<Finding>& findings) {
  const Signature* best = nullptr;
  const Signature* hidden = nullptr;
  for (const Signature& found : defined) {
    if (found.name != wanted.name) continue;
    if (found.is_local || !found.scope.empty()) {
      hidden = &found;
    } else if (best == nullptr || agreement(found, wanted) > agreement(*best, wanted)) {
      best = &found;
    }
  }
  if (best != nullptr) return compare_with(*best, wanted, findings);
  if (hidden != nullptr) {
    const std::string where =
        hidden->is_local ? "is seen in this file only" : "stands in the name space " + hidden->scope;
    findings.push_back(at("hidden", wanted.name, hidden->place, {where}));
    return;
  }
  Finding missing = {"missing", wanted.name};
  for (const Signature& found : defined) {
    if (!found.is_local && found.scope.empty()) missing.push_back(found.name);
  }
  findings.push_back(std::move(missing));
}

}  // namespace

std::vector<Finding> compare(const Reading& reading) {
  std::vector<Finding> findings;
  for (const Signature& wanted : reading.expected) compare_one(wanted, reading.defined, findings);
  return findings;
}

}  // namespace ltr::extern_check
