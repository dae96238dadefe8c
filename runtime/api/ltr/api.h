#pragma once

// What generated code sees of the runtime: an opaque tensor, host values, blocks, streams, steps.
// Includes nothing of LibTorch and no stream headers, so that a generated program compiles in a
// fraction of a second. The tensor functions are in ops.h; the tables that a program hands to
// `ltr::main` are in program.h.

#include <atomic>
#include <functional>
#include <memory>

#include "ltr/arithmetic.h"
#include "ltr/data.h"
#include "ltr/tensor.h"

namespace ltr {

// ---- host values that settings hold

struct Argument;

/// A value of a setting: a number, a text, `200 steps`, a list, or a call such as `cosine(warmup =
/// 20 steps)`.
struct LTR_EXPORT Value {
  enum class Kind : uint8_t {
    None,
    Bool,
    Int,
    Float,
    Str,
    Symbol,
    Series,
    Steps,
    Epochs,
    Seconds,
    Bytes,
    List,
    Tuple,
    Call
  };
  Kind kind = Kind::None;
  int64_t whole = 0;            ///< Bool, Int, Bytes
  double real = 0;              ///< Float, Seconds, and the count of Steps and Epochs
  Str text;                     ///< Str, Symbol, Series (`val.loss`), and the name of a Call
  std::vector<Argument> items;  ///< List, Tuple (names empty), Call (names always given)

  // Constructors stand behind `Argument`, without which no list of them can be taken down.
  Value();
  Value(bool value);         // NOLINT(google-explicit-constructor)
  Value(int value);          // NOLINT(google-explicit-constructor)
  Value(int64_t value);      // NOLINT(google-explicit-constructor)
  Value(double value);       // NOLINT(google-explicit-constructor)
  Value(const char* value);  // NOLINT(google-explicit-constructor)
  Value(Str value);          // NOLINT(google-explicit-constructor)

  static Value symbol(Str name);
  static Value series(Str name);
  static Value steps(double count);
  static Value epochs(double count);
  static Value seconds(double count);
  static Value bytes(int64_t count);
  static Value list(std::vector<Value> values);
  static Value tuple(std::vector<Value> values);
  static Value call(Str name, std::vector<Argument> arguments, Location location = {});

  bool is_none() const { return kind == Kind::None; }
  int64_t as_int() const { return whole; }
  double as_float() const { return kind == Kind::Int ? double(whole) : real; }
  bool as_bool() const { return whole != 0; }
  const Str& as_str() const { return text; }
  /// The argument `name` of a Call, or nothing.
  const Value* find(const char* name) const;
  /// As it would be written in `.ltr`.
  Str to_text() const;

  Location location;  ///< of a Call
};

/// One argument of a call, or element of a list. `type` is the declared type, as text: `int`,
/// `option[float]`, `one_of[auto, min, max]`, …; it tells how a value from the command line is
/// read.
struct Argument {
  const char* name = "";
  Value value;
  const char* type = "";
  Location location;
};

inline Value::Value() = default;
inline Value::Value(bool value) : kind(Kind::Bool), whole(value) {}
inline Value::Value(int value) : kind(Kind::Int), whole(value), real(value) {}
inline Value::Value(int64_t value) : kind(Kind::Int), whole(value), real(double(value)) {}
inline Value::Value(double value) : kind(Kind::Float), real(value) {}
inline Value::Value(const char* value) : kind(Kind::Str), text(value) {}
inline Value::Value(Str value) : kind(Kind::Str), text(std::move(value)) {}

/// Text of a host value for interpolation; `format` is what stands behind the `:`, as in
/// `std::format`.
LTR_EXPORT Str text_of(int64_t value, const char* format = "");
LTR_EXPORT Str text_of(double value, const char* format = "");
LTR_EXPORT Str text_of(bool value, const char* format = "");
LTR_EXPORT Str text_of(const Str& value, const char* format = "");
LTR_EXPORT Str text_of(const Tensor& value, const char* format = "");
/// Text of several parts, in their order. C++ compilers take seconds for long sums of strings.
class Text {
 public:
  LTR_EXPORT Text& add(const char* literal);
  LTR_EXPORT Text& add(int64_t value, const char* format = "");
  LTR_EXPORT Text& add(double value, const char* format = "");
  LTR_EXPORT Text& add(bool value, const char* format = "");
  LTR_EXPORT Text& add(const Str& value, const char* format = "");
  LTR_EXPORT Text& add(const Tensor& value, const char* format = "");
  LTR_EXPORT Str take();

 private:
  Str text_;
};

// ---- blocks

/// One trained tensor and its path, `body.3.attn.qkv.weight`.
struct Weight {
  Str path;
  Tensor tensor;
};
using Weights = std::vector<Weight>;
LTR_EXPORT bool operator==(const Weights& left, const Weights& right);
/// The weights of both, in order.
LTR_EXPORT Weights operator+(Weights left, const Weights& right);

/// Programs whose ranks divide weights.
LTR_EXPORT extern std::atomic<int> divided_weights;
LTR_EXPORT Tensor gathered(const Tensor& weight);
/// A weight as a function reads it: whole, where ranks divide it among them.
inline Tensor use(const Tensor& weight) {
  return divided_weights.load(std::memory_order_relaxed) == 0 ? weight : gathered(weight);
}

class Optimizer;
struct ScopeState;
struct RootState;

/// Base of every generated block. Blocks belong to their root and live as long as it.
class LTR_EXPORT Block {
 public:
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  virtual ~Block();
};

/// A group of an optimizer: `group "*norm*" { weight_decay = 0 }`.
struct Group {
  const char* pattern;
  std::vector<Argument> settings;
  Location location;
};

/// A place in the tree of instances while it is being built: the model, or a member of something in
/// it. Cheap to copy; the tree belongs to the `Root`.
class LTR_EXPORT Scope {
 public:
  explicit Scope(ScopeState* state) : state_(state) {}

  /// The place of a member, and of element `index` of a list.
  Scope child(const char* name) const;
  Scope element(int64_t index) const;

  /// Builds a block at `place`. `kind` is its declaration's name, shown by `describe`.
  template <class T, class... Args>
  static T* make(Scope place, const char* kind, const Args&... args) {
    place.enter(kind);
    T* block = new T(place, args...);
    place.own(block);
    return block;
  }

  /// Keys random numbers to the weight `name` here; its initial value is computed next.
  void seed(const char* name) const;
  /// Registers `initial` under `name` and gives it back, as a leaf that is trained. An undefined
  /// tensor stays undefined (no such weight); one that is a registered weight already is shared,
  /// not copied.
  Tensor weight(const char* name, const Tensor& initial, Location location) const;
  /// Likewise, saved but not trained.
  Tensor buffer(const char* name, const Tensor& initial, Location location) const;

  /// Whether this call of the block's `forward` is to be computed again in the backward pass, and is not part of one that is.
  bool is_recomputed() const;

  /// All weights at and below this place, paths from here on.
  Weights weights() const;
  /// The optimizer `name` over `weights`. `rule` is the call `AdamW(lr = …)`; `settings` are
  /// `schedule`, `clip_norm`, `clip_value`. Settings of the run (`--set model.opt.lr=…`) replace
  /// what is given here.
  Optimizer* optimizer(const char* name, Value rule, const Weights& weights, std::vector<Argument> settings,
                       std::vector<Group> groups, Location location) const;
  /// `init "body.*.weight" = normal(std = 0.02)`: `value` makes a tensor of the shape it is given.
  void init(const char* pattern, Tensor (*value)(const void* self, const Ints& shape), const void* self,
            Location location) const;

  ScopeState* state() const { return state_; }

 private:
  void enter(const char* kind) const;
  void own(Block* block) const;
  ScopeState* state_;
};

/// While it lives, the graph of this thread keeps none of the values that it needs for the backward pass: there, `again`
/// computes them once more. `again` calls the `forward` of the block at `place` with copies of its arguments.
class LTR_EXPORT Recomputed {
 public:
  template <class Again>
  Recomputed(const Scope& place, Again again)
      : Recomputed(place, std::make_shared<Again>(std::move(again)),
                   [](void* self) { (*static_cast<Again*>(self))(); }) {}
  ~Recomputed();
  Recomputed(const Recomputed&) = delete;
  Recomputed& operator=(const Recomputed&) = delete;

  struct Call;

 private:
  Recomputed(const Scope& place, std::shared_ptr<void> again, void (*call)(void* again));
  std::unique_ptr<Call> call_;
};

/// The weights of the block or list that was built at `place`.
LTR_EXPORT Weights weights_of(const Scope& place);
LTR_EXPORT Weights clone(const Weights& weights);
LTR_EXPORT int64_t count(const Weights& weights);
/// target = decay * target + (1 - decay) * source, weight by weight in order, without gradient. Other
/// counts or shapes are R1006.
LTR_STEP_BEGIN
LTR_EXPORT void ema_update(const Weights& target, const Weights& source, double decay);
LTR_STEP_END
LTR_EXPORT Tensor norm(const Tensors& tensors);
LTR_EXPORT Tensor norm(const Weights& weights);
LTR_EXPORT Tensors grads_of(const Optimizer& optimizer);
LTR_EXPORT Weights weights_of(const Optimizer& optimizer);
LTR_EXPORT Str optimizer_name(const Optimizer& optimizer);
/// The learning rate of its first group, at the update to come.
LTR_EXPORT double optimizer_lr(const Optimizer& optimizer, int64_t step);
struct Context;
/// The optimizer that a hook is about. R1006 around a `backward` of a manual step, which belongs to none.
LTR_EXPORT Optimizer* optimizer_of(const Context& cx, const Location& location);
/// What a block parameter holds: a function that keeps what it reads. Blocks are built once, so what
/// is kept lives as long as the program.
template <class Result, class... Params>
class Callable {
 public:
  Callable() = default;
  template <class Function>
  explicit Callable(Function function)
      : state_(new Function(std::move(function))), call_([](const void* state, const Params&... params) -> Result {
          return (*static_cast<const Function*>(state))(params...);
        }) {}
  Result operator()(const Params&... params) const { return call_(state_, params...); }

 private:
  const void* state_ = nullptr;
  Result (*call_)(const void*, const Params&...) = nullptr;
};

/// Everything below runs with the weights of `weights` needing no gradient, in evaluation mode,
/// while it lives.
class LTR_EXPORT Frozen {
 public:
  explicit Frozen(const Weights& weights);
  ~Frozen();
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  Weights weights_;
  bool was_training_;
};
/// No gradients are recorded while it lives.
class LTR_EXPORT NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool was_enabled_;
};

/// `x as i64[B, S + n]`: the tensor itself if its dims are `dims` (-1: any), else R1006 with the
/// `.ltr` text.
LTR_EXPORT const Tensor& check_shape(const Tensor& tensor, std::initializer_list<int64_t> dims, const char* type,
                                     const Location& location);
/// R1006 unless `holds`: a shape obligation that rests on run-time values. `rule` is its text.
LTR_EXPORT void check_holds(bool holds, const char* rule, const Location& location);
/// `assert` failed: R1005.
[[noreturn]] LTR_EXPORT void fail_assert(const Str& message, const Location& location);

/// R1006: a list of `size` elements has none at `index`.
[[noreturn]] LTR_EXPORT void fail_index(int64_t index, int64_t size, const Location& location);
/// The element at `index`, from the end where that is negative.
template <class T>
typename std::vector<T>::const_reference element(const std::vector<T>& list, int64_t index, const Location& location) {
  const auto size = int64_t(list.size());
  const int64_t place = index < 0 ? index + size : index;
  if (place < 0 || place >= size) fail_index(index, size, location);
  return list[size_t(place)];
}

/// R1006: a list of `size` elements has none from `first` up to `end`.
[[noreturn]] LTR_EXPORT void fail_slice(int64_t first, int64_t end, int64_t size, const Location& location);
/// The elements from `first` up to `end`, both from the end where they are negative, or the front and the end where they
/// are not given.
template <class T>
std::vector<T> slice_list(const std::vector<T>& list, Option<int64_t> first, Option<int64_t> end,
                          const Location& location) {
  const auto size = int64_t(list.size());
  const auto place = [&](int64_t at) { return at < 0 ? at + size : at; };
  const int64_t from = place(first.value_or(0)), to = place(end.value_or(size));
  if (from < 0 || to < from || to > size) fail_slice(first.value_or(0), end.value_or(size), size, location);
  return {list.begin() + from, list.begin() + to};
}

// ---- metrics

enum class Reduce : uint8_t { Mean, Sum, Min, Max, Cat, Merge };

/// Base of the generated object of a `metric`: its states of one stream of one role.
class LTR_EXPORT Metric {
 public:
  struct State {
    const char* name;
    Tensor* tensor;
    Reduce reduce;
  };
  Metric() = default;
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;
  virtual ~Metric();
  virtual void reset() = 0;
  virtual std::vector<State> states() = 0;
  /// The value of what was seen, on the host in f64: a 0-d tensor, or a matrix or vector.
  virtual Tensor compute() = 0;
  /// How many numbers `compute` gives if it is a vector of a known length, else -1. No state has this name.
  virtual int64_t ltr_length() { return -1; }
  /// The states of two parts of the data as those of both, in the order of `states()`; neither part is empty, and
  /// `first` came before. Nothing where each state has a rule of its own: all or none of them say `Reduce::Merge`.
  virtual std::vector<Tensor> merge(const std::vector<Tensor>& first, const std::vector<Tensor>& second);
};

// ---- steps and hooks

/// One result of `step predict`: its name, "prediction" where it has none of its own, and the values, records first.
struct Output {
  const char* name;
  Tensor value;
  bool is_texts = false;  ///< `u8[B, W]` of texts, as a batch has them
};
using Outputs = std::vector<Output>;

/// What a step, test or hook may do besides computing; the trainer's side of it.
class LTR_EXPORT Context {
 public:
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  virtual ~Context();

  int64_t epoch = 0;
  int64_t global_step = 0;
  int64_t batch_index = 0;
  int64_t batch_size = 0;
  int64_t rank = 0;
  int64_t world = 1;
  const Data* data = nullptr;  ///< the wired data
  int64_t stream = 0;          ///< index of the running stream in `Data::streams`; picks the metric's state
  Str run_dir;
  Str run_name;
  // What single hooks see.
  Str verb;
  Tensor loss;                     ///< the last one that was minimized
  Optimizer* optimizer = nullptr;  ///< whose gradients or weights are worked on
  double grad_norm = 0;            ///< before clipping; nan where it is not computed
  Str path;                        ///< of the checkpoint
  Str code;                        ///< of the failure
  Str reason;
  Str stream_name;                 ///< `val.clean`
  const Batch* batch = nullptr;    ///< the one under way, in the hooks around its step
  const Schema* schema = nullptr;  ///< of its fields

  /// One update of `optimizer`: runtime.md 2.4. `last` tells that no later `minimize` needs the
  /// graph.
  virtual void minimize(const Tensor& loss, Optimizer& optimizer, bool last, const Location& location) = 0;
  /// `backward loss` in a manual step.
  virtual void backward(const Tensor& loss, const Location& location) = 0;
  /// `log`: `slot` indexes the program's `LogInfo` table.
  virtual void log(int slot, const Tensor& value) = 0;
  virtual void log(int slot, double value) = 0;
  virtual void log(int slot, Metric& metric) = 0;
  virtual void log_image(int slot, const Tensor& image) = 0;
  virtual void log_image(int slot, Metric& metric) = 0;
  virtual void log_histogram(int slot, const Tensor& values) = 0;
  virtual void log_text(int slot, const Str& text) = 0;
  virtual void print(const Str& text) = 0;
  virtual void stop(const Str& reason) = 0;
  virtual void end_epoch(const Str& reason) = 0;
  virtual void save(const Str& name) = 0;
  /// `input` as it is, on its way into the metric `name`, where nan would become an ordinary number.
  virtual const Tensor& into_metric(const char* name, const Tensor& input) = 0;
  /// The newest value of a series, nan before its first.
  virtual double metric(const char* series) = 0;
  /// The learning rate and other facts of an optimizer live behind these.
  virtual void zero_grad(Optimizer& optimizer) = 0;
  virtual void step(Optimizer& optimizer) = 0;
  virtual void clip_norm(Optimizer& optimizer, double limit) = 0;
  virtual void clip_value(Optimizer& optimizer, double limit) = 0;
  virtual void set_lr(Optimizer& optimizer, double rate) = 0;
  /// What `step predict` returns for this batch.
  virtual void output(Outputs values) = 0;
  /// The same, in the hook behind the step.
  virtual const Outputs& outputs() const = 0;
};

/// A count of the run, as `epoch` in a step reads it.
LTR_EXPORT int64_t read_count(const Context& cx, int64_t Context::* field);
/// Whether a condition on counts of the run holds, such as `global_step % 10 == 0`. In a step it is what a plan hangs on, and not the
/// counts themselves. `number` is the condition's own in the program; `of` is the object that it reads, if it does.
LTR_EXPORT bool read_truth(const Context& cx, int64_t number, const Location& at, const void* of,
                           const std::function<bool(const Context&)>& holds);
/// `batch.NAME` and `output.NAME` in the hooks of a batch; R1006 where this batch has none.
LTR_EXPORT Tensor batch_field(const Context& cx, const char* name);
LTR_EXPORT Tensor output_field(const Context& cx, const char* name);

/// The metric states of one member, one per stream, made when first used.
template <class T>
class MetricOf {
 public:
  template <class... Args>
  explicit MetricOf(void (*make)(std::vector<T*>& states, const void* self), const void* self)
      : make_(make), self_(self) {}
  MetricOf() = default;
  MetricOf(const MetricOf&) = delete;
  MetricOf& operator=(const MetricOf&) = delete;
  ~MetricOf() {
    for (T* state : states_) delete state;
  }
  void set(void (*make)(std::vector<T*>& states, const void* self), const void* self) {
    make_ = make;
    self_ = self;
  }
  /// The state of stream `stream`.
  T& of(int64_t stream) {
    while (int64_t(states_.size()) <= stream) make_(states_, self_);
    return *states_[size_t(stream)];
  }

 private:
  void (*make_)(std::vector<T*>& states, const void* self) = nullptr;
  const void* self_ = nullptr;
  std::vector<T*> states_;
};

/// Base of the generated object of a user's `callback`.
class LTR_EXPORT Callback {
 public:
  struct State {
    const char* name;
    void* address;     ///< of an int64_t, double, bool or Str member, as `type` says
    const char* type;  ///< "int" "float" "bool" "str"
  };
  Callback() = default;
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  virtual ~Callback();
  /// Runs the hook `hook` (index in `CallbackInfo::hooks`).
  virtual void run(int hook, Context& cx) = 0;
  virtual std::vector<State> states() = 0;
};

}  // namespace ltr
