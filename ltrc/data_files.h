#pragma once

#include "dsl/check/check.h"

namespace ltr::driver {

/// Files are meant from the working directory, else from the folder of the source that names them.
class DataFilesHere : public check::DataFiles {
 public:
  std::optional<std::string> first_line(const std::string& path, const std::string& from) const override;
  std::optional<check::FirstRow> first_row(const std::string& pattern, const std::string& from) const override;
};

}  // namespace ltr::driver
