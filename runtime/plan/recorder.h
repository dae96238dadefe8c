#pragma once

// Notes what a step computes while it runs once: every function of the facade that a program calls, with its arguments, what it
// asks the host, and what it would do beside.

#include <c10/core/TensorImpl.h>

#include "runtime/plan/recording.h"
#include "runtime/tensor/step_watch.h"

namespace ltr::plan {

/// While it lives, this thread's calls are noted. Gradients need to be on where the step has them: which values hang on a weight is
/// what LibTorch says of them.
class Recorder : public StepWatch {
 public:
  /// `known`: of an earlier run. A call that is the same there gives zeros of the sizes that it gave, and computes nothing: for what looks
  /// only for what the host decides. Where the host reads values, it refuses, as ever.
  explicit Recorder(const Recording* known = nullptr);
  ~Recorder() override;
  /// Of this thread; null if nothing is recorded.
  static Recorder* here();

  /// What a graph reads. Other tensors that it meets are constants.
  ValueId input(const Tensor& tensor, const Str& name) { return given(tensor, Value::Kind::Input, name); }
  ValueId weight(const Tensor& tensor, const Str& path);
  /// Field `at` of the batch.
  void field(const Tensor& tensor, size_t at, const Str& name) {
    recorded_.fields.push_back({input(tensor, name), at});
  }
  /// What stands at `state` is read now, and kept for the next batch once the step is over.
  void state(Tensor& state, const Str& name) { recorded_.states.push_back({&state, input(state, name), kNone}); }
  /// What the graph gives: a loss, or what is logged.
  void output(const Tensor& tensor) { recorded_.graph.outputs.push_back(id_of(tensor)); }

  /// What stands for what `op` would give, as if it had drawn what it draws; nothing where it has to be computed.
  Option<std::vector<Tensor>> stand_ins(Op op, const std::vector<Argument>& arguments) const;
  /// `results` came of `op`.
  void note(Op op, std::vector<Argument> arguments, const std::vector<const Tensor*>& results, Option<uint64_t> site);
  void note(Effect effect) {
    recorded_.marks.push_back({recorded_.graph.nodes.size(), std::move(effect), current_location()});
  }
  void note(Guard guard) { recorded_.guards.push_back(std::move(guard)); }
  /// The step cannot be planned; the first reason is kept, with the statement that runs now.
  void refuse(const char* reason) override;
  void begin_again() override;
  void end_again() override;
  ValueId id_of(const Tensor& tensor);
  std::vector<ValueId> ids_of(const Weights& weights);

  const Graph& graph() const { return recorded_.graph; }
  const std::unordered_map<ValueId, Tensor>& constants() const { return constants_; }
  /// All of it, once the step is over.
  Recording take();

 private:
  ValueId given(const Tensor& tensor, Value::Kind kind, const Str& name);
  ValueId add(const Tensor& tensor, Value::Kind kind, const Str& name);
  ValueId constant(const Tensor& tensor);

  Recording recorded_;
  const Recording* known_;
  std::unordered_map<const void*, ValueId> ids_;
  std::unordered_map<const void*, ValueId> frozen_;  ///< weights as they are read where nothing of them is trained
  /// All that were met: their addresses stand for them, and go to no other one; their memory does.
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> held_;
  std::unordered_map<ValueId, Tensor> constants_;
  uint32_t block_ = 0, blocks_ = 0;  ///< that is computed again: the call under way, and all so far
  StepWatch* before_;
};

/// Notes an effect, which `make` says of the recorder, if one listens. A step that is recorded only rehearses: the effect itself
/// is left out.
template <class Make>
bool is_rehearsed(const Make& make) {
  Recorder* const recorder = Recorder::here();
  if (recorder == nullptr) [[likely]]
    return false;
  recorder->note(Effect(make(*recorder)));
  return true;
}

}  // namespace ltr::plan
