#pragma once

#include "dsl/check/check.h"

namespace ltr::driver {

/// The header of a file of weights beside the source at `from`, else as given.
check::WeightsFile read_weights(const std::string& path, const std::string& from);

check::LoadPlan plan_weights(const std::vector<check::WantedTensor>& wanted, const std::vector<std::string>& stored,
                             const std::vector<check::WeightRule>& rules);

}  // namespace ltr::driver
