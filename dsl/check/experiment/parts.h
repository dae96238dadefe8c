#pragma once

#include <set>

#include "dsl/check/scope/scope.h"

namespace ltr::check {

/// What an experiment names, as it is written: hooks ask for it before experiments are checked.
struct ExperimentParts {
  const ObjectInfo* model = nullptr;
  const ObjectInfo* data = nullptr;
  std::set<const ObjectInfo*> callbacks;  ///< of the program
};

/// Of all experiments of the program that can be read.
std::vector<ExperimentParts> parts_of_experiments(Scope& scope);

}  // namespace ltr::check
