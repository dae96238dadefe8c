#pragma once

#include <map>

#include "dsl/elaborate/instance.h"
#include "dsl/weights/files.h"

namespace ltr::weights {

/// The weights and buffers below one member, at its path in a tree, by the names that files give them, from the member on:
/// `body.3.norm.weight`.
class MemberTensors {
 public:
  MemberTensors(const elaborate::Tree& tree, const std::string& member);

  const std::vector<WantedTensor>& wanted() const { return wanted_; }
  /// Dims in terms of what the tree was built from.
  check::Type type_of(const std::string& name) const;
  /// Whether these are all. A list whose length only run time knows, or a condition on what it does not know, leaves some
  /// unknown.
  bool is_complete() const { return is_complete_; }

 private:
  std::vector<WantedTensor> wanted_;
  std::map<std::string, const elaborate::Weight*> weights_;
  bool is_complete_ = true;
};

}  // namespace ltr::weights
