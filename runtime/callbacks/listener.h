#pragma once

// A callback as the trainer sees it: the built-in ones, those of the program, and the schedules that wait for a value
// are all listeners in one list. Whatever a listener does not ask for in `interests` costs nothing.

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "ltr/program.h"
#include "runtime/callbacks/hook.h"
#include "runtime/checkpoint/archive.h"
#include "runtime/loggers/logger.h"
#include "runtime/optim/optimizer.h"

namespace ltr {

using Named = loggers::NamedValues;

/// What a listener may ask for beside hooks.
enum Interest : uint32_t {
  kBeforeClip = 1,   ///< gradients of a recorded window, before they are clipped
  kAfterWindow = 2,  ///< weights have moved
  kRecorded = 4,     ///< a recorded step is over
  kFresh = 8,        ///< the values of an epoch or round are new
  kBorder = 16,      ///< the state is whole, and may be saved
  kEpochEnd = 32,    ///< a training epoch is over, with its round and its values
  kEvaluating = 64,  ///< a round begins or ends
};

class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  virtual uint32_t interests() const { return 0; }
  /// The hooks it hears, each once.
  virtual std::vector<Hook> hooks() const { return {}; }

  virtual void hear(Hook, Context&) {}
  /// Names of everything that it records, `grad_norm/opt`.
  virtual void columns(std::vector<Str>&) const {}
  virtual void before_clip(const Optimizer&, Named&) {}
  virtual void after_window() {}
  virtual void recorded(Named&) {}
  virtual void fresh(Role) {}
  virtual void border(bool) {}
  virtual void epoch_end() {}
  virtual void evaluating(bool) {}

  /// The state that a checkpoint keeps.
  virtual void visit(Archive&) {}
  /// Whether there is any: a checkpoint that lacks it is spoken of.
  virtual bool has_state() const { return false; }
};

/// The order at one moment (runtime.md 3.1).
enum class Turn : uint8_t { Weights, Listed, Plateau, EarlyStop, Checkpoint };

/// All listeners of a run, in their order.
class Listeners {
 public:
  /// `key` names its state in checkpoints: `EarlyStop#0`.
  void add(Turn turn, Str key, std::unique_ptr<Listener> listener);
  /// After the last `add`.
  void finish();

  bool has(Hook hook) const { return !by_hook_[size_t(hook)].empty(); }
  bool has_any(std::initializer_list<Hook> hooks) const {
    return std::any_of(hooks.begin(), hooks.end(), [this](Hook hook) { return has(hook); });
  }
  void run(Hook hook, Context& cx) const {
    for (Listener* listener : by_hook_[size_t(hook)]) listener->hear(hook, cx);
  }
  /// Calls `tell` with each listener that asked for `interest`.
  template <class Tell>
  void each(Interest interest, const Tell& tell) const {
    for (Listener* listener : by_interest_[index_of(interest)]) tell(*listener);
  }
  bool any(Interest interest) const { return !by_interest_[index_of(interest)].empty(); }

  std::vector<Str> columns() const;
  /// The part `callbacks`. Reading: what is missing keeps its initial state, what is unknown is dropped; both are noted.
  void visit(Archive& archive);

 private:
  static constexpr size_t kInterests = 7;
  static size_t index_of(Interest interest) { return size_t(__builtin_ctz(interest)); }

  struct Row {
    Turn turn;
    Str key;
    std::unique_ptr<Listener> listener;
  };
  std::vector<Row> rows_;
  std::array<std::vector<Listener*>, kHookCount> by_hook_;
  std::array<std::vector<Listener*>, kInterests> by_interest_;
};

/// A round: listeners that put other weights in place do so while `body` runs. Where it throws they put them back, too.
void while_evaluating(const Listeners& listeners, const std::function<void()>& body);

}  // namespace ltr
