#pragma once

#include <string>
#include <vector>

#include "dsl/elaborate/elaborate.h"

namespace ltr::driver {

/// What stands below one block: its weights, and what its code computes.
struct LayerRow {
  std::string path, type;
  const std::vector<elaborate::Size>* output = nullptr;  ///< null where the train step does not call it
  int64_t weights = 0;
  double flops = 0;
  bool is_counted = true;  ///< no size in it was unknown
};
std::vector<LayerRow> layer_rows(const elaborate::Plan& plan);

/// `[64, 10]`, with `batch` for a first size that is that of the batch; `?` is not known.
std::string shape_text(const std::vector<elaborate::Size>& dims, const std::string& batch, elaborate::Size batch_size);

/// An hparam's value as a command line says it.
std::string setting_text(const elaborate::Value& value);

/// Different characters of a text file, looked for as the program at the path `program` will.
elaborate::Size count_characters(const std::string& path, const std::string& program);

}  // namespace ltr::driver
