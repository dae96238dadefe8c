#pragma once

#include <unordered_map>

#include "dsl/check/types/requirement.h"

namespace ltr::check {

/// What sizes are known to keep: the `where` of hparams and, while its body is read, that of a function. It is asked at each
/// requirement, so a fact is found by the sizes that it mentions.
class Facts {
 public:
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  const Requirement& operator[](size_t index) const { return all_[index]; }
  void add(Requirement fact);
  /// Takes back those of the numbers [begin, end); later ones stay.
  void erase(size_t begin, size_t end);
  /// Numbers of those that mention one of `atoms`, on either side: the first added is the first.
  std::vector<size_t> about(const std::vector<AtomId>& atoms) const;

 private:
  void note(size_t index);

  std::vector<Requirement> all_;
  std::unordered_map<AtomId, std::vector<size_t>> of_atom_;
};

}  // namespace ltr::check
