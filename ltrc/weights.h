#pragma once

#include "dsl/weights/files.h"

namespace ltr::driver {

/// Files of weights beside the source that names them, else as given.
class WeightFilesHere : public weights::Files {
 public:
  weights::WeightsFile open(const std::string& path, const std::string& from) const override;
  weights::LoadPlan plan(const std::vector<weights::WantedTensor>& wanted, const std::vector<std::string>& stored,
                         const std::vector<check::WeightRule>& rules) const override;
};

}  // namespace ltr::driver
