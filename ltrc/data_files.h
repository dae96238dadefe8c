#pragma once

#include "dsl/check/check.h"

namespace ltr::driver {

/// Files are meant from the working directory, else from the folder of the source that names them.
class DataFilesHere : public check::DataFiles {
 public:
  std::optional<check::StoredFields> fields_of(std::string_view source, const std::vector<std::string>& arguments,
                                               const std::string& from) const override;
};

}  // namespace ltr::driver
