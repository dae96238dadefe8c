#pragma once

#include <string>
#include <vector>

#include "dsl/elaborate/elaborate.h"

namespace ltr::driver {

/// A topology as far as a plan needs it.
struct Machinery {
  std::string topology;
  std::string kind = "auto";  ///< of device: auto, cpu, cuda
  int64_t devices = 1;        ///< over all nodes
  std::string precision = "f32";
  std::string strategy;
  int64_t weight_shards = 1;  ///< over so many devices are weights spread
  int64_t gradient_shards = 1;
  int64_t state_shards = 1;
};

/// Bytes on each device.
struct Memory {
  double weights = 0;
  double buffers = 0;
  double gradients = 0;
  double state = 0;        ///< of the optimizers
  double activations = 0;  ///< results kept for the backward pass
  std::vector<std::string> unknown;

  double sum() const { return weights + buffers + gradients + state + activations; }
};

/// The topology `name` of the program; `{ devices = auto }` if there is none.
Machinery read_topology(const check::Program& program, const std::string& name);
Memory count_memory(const elaborate::Plan& plan, const Machinery& machinery);

struct Flops {
  double forward = 0;
  double backward = 0;
  double products = 0;  ///< of both, the part of matrix products and convolutions
};
/// For one batch on one device.
Flops count_flops(const elaborate::Plan& plan);

}  // namespace ltr::driver
