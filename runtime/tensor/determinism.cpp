#include "runtime/tensor/determinism.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <mutex>
#include <set>

namespace ltr {

namespace {

/// Tells of each op once, and hands on whatever else LibTorch warns of, in each step perhaps, once.
class ToldOnce final : public c10::WarningHandler {
 public:
  explicit ToldOnce(std::function<void(const Str&)> tell) : tell_(std::move(tell)) {}
  void process(const c10::Warning& warning) override {
    // cuDNN wants all weights of a recurrent layer behind each other. Here each is a tensor of its own, which checkpoints and
    // optimizers see; to put them together takes a copy of a few of them.
    if (warning.msg().find("RNN module weights are not part of single contiguous chunk") != Str::npos) return;
    const Str op = without_deterministic_form(warning.msg());
    const std::scoped_lock lock(mutex_);
    if (!told_.insert(op.empty() ? warning.msg() : op).second) return;
    if (op.empty())
      c10::WarningHandler::process(warning);
    else
      tell_(op);
  }

 private:
  std::function<void(const Str&)> tell_;
  std::mutex mutex_;
  std::set<Str> told_;
};

}  // namespace

Str without_deterministic_form(const Str& text) {
  const size_t place = text.find(" does not have a deterministic implementation");
  return place == Str::npos ? "" : text.substr(0, place);
}

void set_determinism(const Str& mode, const std::function<void(const Str&)>& tell) {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(mode != "false", mode == "warn");
  // Or every tensor that is made empty would be filled.
  context.setDeterministicFillUninitializedMemory(false);
  // cuBLAS reads it at its first call: with one workspace of fixed size its products are summed in one order.
  if (mode != "false") ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  static ToldOnce handler(tell);
  c10::WarningUtils::set_warning_handler(&handler);
}

}  // namespace ltr
