#pragma once

#include <string>
#include <vector>

#include "codegen/ir/step.h"

namespace ltr::passes {

/// A pass rewrites a module in place and keeps it sound. A second run changes nothing.
struct Pass {
  const char* name;
  void (*run)(ir::Module& module);
  const char* summary;
};

/// All passes, in the order in which they run.
const std::vector<Pass>& pipeline();
const Pass* find_pass(const std::string& name);

struct PipelineOptions {
  std::vector<std::string> off;  ///< passes to leave out
  std::string dump_after;        ///< "lower", or a pass: its text goes to `dump`
  bool verify = false;           ///< after every pass; a mistake is an `ir::InternalError`
};

struct PassTime {
  const char* name;
  double wall_ms;
};

struct PipelineResult {
  std::string dump;
  std::vector<PassTime> times;
};

PipelineResult run_passes(ir::Module& module, const PipelineOptions& options);

}  // namespace ltr::passes
