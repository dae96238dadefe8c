#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/ir/tables.h"

namespace ltr::driver {

/// A file, folder or pattern, as the program names it.
struct ReadPlace {
  std::optional<std::string> path;  ///< none: only the run knows it
  std::string source;               ///< the function, or `from`
  std::optional<bool> is_train;     ///< of named data
  bool is_weights = false;
  ir::Loc loc;
};

/// What building the data and the model of one experiment reads, with its hparams.
std::vector<ReadPlace> read_places(const ir::Module& module, const ir::ExperimentInfo& experiment);

}  // namespace ltr::driver
