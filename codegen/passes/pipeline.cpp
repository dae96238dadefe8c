#include "codegen/passes/pipeline.h"

#include <algorithm>
#include <chrono>

#include "codegen/ir/internal_error.h"
#include "codegen/ir/text.h"
#include "codegen/passes/common_subexpressions.h"
#include "codegen/passes/fold_constants.h"
#include "codegen/passes/inline_calls.h"
#include "codegen/passes/remove_unused_functions.h"
#include "codegen/passes/remove_unused_ops.h"

namespace ltr::passes {

// The table of contents. Library layers are one or two ops, so inlining comes first and shows all others the whole step;
// functions that nobody calls any more are then not worth a look.
const std::vector<Pass>& pipeline() {
  static const std::vector<Pass> kPasses = {
      {"inline_calls", inline_calls, "puts small functions in place of their calls"},
      {"remove_unused_functions", remove_unused_functions, "drops functions that nothing reaches"},
      {"fold_constants", fold_constants, "computes host values that are known"},
      {"common_subexpressions", common_subexpressions, "computes equal pure values once"},
      {"remove_unused_ops", remove_unused_ops, "drops pure ops that nobody reads"},
  };
  return kPasses;
}

const Pass* find_pass(const std::string& name) {
  for (const Pass& pass : pipeline()) {
    if (name == pass.name) return &pass;
  }
  return nullptr;
}

namespace {

void verify_after(const char* pass, const ir::Module& module) {
  const std::vector<std::string> mistakes = ir::verify(module);
  LTR_INVARIANT(mistakes.empty(), std::string("after ") + pass + ": " + mistakes.front(), ir::Loc{});
}

}  // namespace

PipelineResult run_passes(ir::Module& module, const PipelineOptions& options) {
  PipelineResult result;
  if (options.verify) verify_after("lower", module);
  if (options.dump_after == "lower") result.dump = ir::print(module);
  for (const Pass& pass : pipeline()) {
    if (std::find(options.off.begin(), options.off.end(), pass.name) != options.off.end()) continue;
    const auto start = std::chrono::steady_clock::now();
    pass.run(module);
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
    result.times.push_back({pass.name, wall.count()});
    if (options.verify) verify_after(pass.name, module);
    if (options.dump_after == pass.name) result.dump = ir::print(module);
  }
  return result;
}

}  // namespace ltr::passes
