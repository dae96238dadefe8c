#include "dsl/check/scope/facts.h"

#include <algorithm>

namespace ltr::check {

namespace {

/// Each once.
std::vector<AtomId> mentioned(const Requirement& fact) {
  std::vector<AtomId> atoms = fact.left.atoms();
  for (const AtomId atom : fact.right.atoms()) {
    if (std::ranges::find(atoms, atom) == atoms.end()) atoms.push_back(atom);
  }
  return atoms;
}

}  // namespace

void Facts::note(size_t index) {
  for (const AtomId atom : mentioned(all_[index])) of_atom_[atom].push_back(index);
}

void Facts::add(Requirement fact) {
  all_.push_back(std::move(fact));
  note(all_.size() - 1);
}

void Facts::erase(size_t begin, size_t end) {
  if (begin == end) return;
  for (size_t i = begin; i < all_.size(); ++i) {
    for (const AtomId atom : mentioned(all_[i]))
      std::erase_if(of_atom_[atom], [&](size_t index) { return index >= begin; });
  }
  all_.erase(all_.begin() + long(begin), all_.begin() + long(end));
  for (size_t i = begin; i < all_.size(); ++i) note(i);
}

std::vector<size_t> Facts::about(const std::vector<AtomId>& atoms) const {
  std::vector<size_t> found;
  for (const AtomId atom : atoms) {
    const auto same = of_atom_.find(atom);
    if (same != of_atom_.end()) found.insert(found.end(), same->second.begin(), same->second.end());
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

}  // namespace ltr::check
