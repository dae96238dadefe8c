#pragma once

// Notes what a step computes while it runs as always: every function of the facade that a program calls, with its arguments.

#include <unordered_map>

#include "runtime/plan/graph.h"

namespace ltr::plan {

/// While it lives, this thread's calls are noted. Gradients need to be on where the step has them: which values hang on a weight is
/// what LibTorch says of them.
class Recorder {
 public:
  Recorder();
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  /// Of this thread; null if nothing is recorded.
  static Recorder* here();

  /// What a graph reads. Other tensors that it meets are constants.
  ValueId input(const Tensor& tensor, const Str& name) { return given(tensor, Value::Kind::Input, name); }
  ValueId weight(const Tensor& tensor, const Str& path) { return given(tensor, Value::Kind::Weight, path); }
  /// What the graph gives: a loss, or what is logged.
  void output(const Tensor& tensor) { graph_.outputs.push_back(id_of(tensor)); }

  /// `results` came of `op`.
  void note(Op op, std::vector<Argument> arguments, const std::vector<const Tensor*>& results, Option<uint64_t> site);
  ValueId id_of(const Tensor& tensor);

  const Graph& graph() const { return graph_; }
  const std::unordered_map<ValueId, Tensor>& constants() const { return constants_; }

 private:
  ValueId given(const Tensor& tensor, Value::Kind kind, const Str& name);
  ValueId add(const Tensor& tensor, Value::Kind kind, const Str& name);

  Graph graph_;
  std::unordered_map<const void*, ValueId> ids_;
  std::vector<Tensor> held_;  ///< all that were met: their addresses stand for them
  std::unordered_map<ValueId, Tensor> constants_;
  Recorder* before_;
};

}  // namespace ltr::plan
