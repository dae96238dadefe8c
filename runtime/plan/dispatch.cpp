// The functions that programs call: those of the runtime, with whoever records listening.

#include "ltr/api.h"
#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/plan/recorder.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/mode.h"

namespace ltr {

namespace plan {

namespace {

Argument noted(Recorder& recorder, const Tensor& tensor) { return ValueRef{recorder.id_of(tensor)}; }
Argument noted(Recorder& recorder, const Tensors& tensors) {
  std::vector<ValueRef> values;
  for (const Tensor& tensor : tensors) values.push_back({recorder.id_of(tensor)});
  return values;
}
Argument noted(Recorder&, Scalar number) { return number.is_int ? Argument(number.whole) : Argument(number.real); }
Argument noted(Recorder&, DType dtype) { return Str(to_text(dtype)); }
Argument noted(Recorder&, const Option<int64_t>& number) { return number ? Argument(*number) : std::monostate(); }
Argument noted(Recorder&, const Option<double>& number) { return number ? Argument(*number) : std::monostate(); }
template <class Host>
Argument noted(Recorder&, const Host& value) {
  return value;
}

std::vector<const Tensor*> listed(const Tensor& result) { return {&result}; }
std::vector<const Tensor*> listed(const Tensors& results) {
  std::vector<const Tensor*> list;
  for (const Tensor& result : results) list.push_back(&result);
  return list;
}
template <class... Parts>
std::vector<const Tensor*> listed(const std::tuple<Parts...>& results) {
  return std::apply([](const auto&... parts) { return std::vector<const Tensor*>{&parts...}; }, results);
}

void put(std::vector<Tensor>&& list, Tensor& result) { result = std::move(list.front()); }
void put(std::vector<Tensor>&& list, Tensors& results) { results = std::move(list); }
template <class... Parts>
void put(std::vector<Tensor>&& list, std::tuple<Parts...>& results) {
  size_t at = 0;
  std::apply([&](auto&... parts) { ((parts = std::move(list[at++])), ...); }, results);
}

/// The mode of a norm whose running values rest, while it lives; else nothing changes.
class NormMode {
 public:
  template <class... Args>
  explicit NormMode(Op op, const Args&... args) {
    if (op != Op::batch_norm) return;
    const auto look = [this](const auto&, const auto&, const auto&, const Tensor& mean, const auto&...) {
      if (mean.defined() && rests(mean.impl())) before_ = set_training(false);
    };
    if constexpr (std::is_invocable_v<decltype(look), const Args&...>) look(args...);
  }
  ~NormMode() {
    if (before_) set_training(*before_);
  }
  NormMode(const NormMode&) = delete;
  NormMode& operator=(const NormMode&) = delete;

 private:
  Option<bool> before_;
};

template <class Result, class... Params, class... Args>
Result dispatched(Op op, Result (*function)(Params...), const Args&... args) {
  const NormMode mode(op, args...);
  Recorder* recorder = Recorder::here();
  if (recorder == nullptr) [[likely]]
    return function(args...);
  const uint64_t site = DrawScope::here().site;
  // Arguments first: what they are is said before what comes of them.
  std::vector<Argument> arguments;
  (arguments.push_back(noted(*recorder, args)), ...);
  Result result;
  if (Option<std::vector<Tensor>> known = recorder->stand_ins(op, arguments)) {
    put(std::move(*known), result);
  } else {
    result = function(args...);
  }
  const bool draws = DrawScope::here().site != site;
  recorder->note(op, std::move(arguments), listed(result), draws ? Option<uint64_t>(site) : std::nullopt);
  return result;
}

}  // namespace

}  // namespace plan

namespace step {

#define LTR_UNPACK(...) __VA_ARGS__
#define LTR_FACADE(op, name, args, params, ...)                                                             \
  LTR_EXPORT __VA_ARGS__ name params {                                                                      \
    return plan::dispatched(plan::Op::op, static_cast<__VA_ARGS__(*) params>(&ltr::name), LTR_UNPACK args); \
  }
#include "runtime/tensor/facade.def"
#include "runtime/tensor/operators.def"

LTR_EXPORT void assign(const Tensor& buffer, const Tensor& value) {
  if (plan::is_rehearsed([&](plan::Recorder& recorder) {
        return plan::BufferAssigned{recorder.id_of(buffer), recorder.id_of(value)};
      }))
    return;
  ltr::assign(buffer, value);
}

LTR_EXPORT void assign(const Tensor& buffer, Scalar value) {
  if (plan::is_rehearsed([&](plan::Recorder& recorder) {
        return plan::BufferFilled{recorder.id_of(buffer), value.real, value.whole, value.is_int};
      }))
    return;
  ltr::assign(buffer, value);
}

LTR_EXPORT void ema_update(const Weights& target, const Weights& source, double decay) {
  if (plan::is_rehearsed([&](plan::Recorder& recorder) {
        return plan::AveragesMoved{recorder.ids_of(target), recorder.ids_of(source), decay};
      }))
    return;
  ltr::ema_update(target, source, decay);
}

LTR_EXPORT bool due(const Context& cx, const Value& period, bool is_end) {
  const bool is_due = ltr::due(cx, period, is_end);
  if (plan::Recorder* recorder = plan::Recorder::here(); recorder != nullptr)
    recorder->note(plan::Guard(plan::PeriodRead{period, is_end, is_due}));
  return is_due;
}

}  // namespace step

/// In operations, which a plan sees.
Tensor norm(const Weights& weights) {
  Tensors norms;
  for (const Weight& weight : weights) norms.push_back(step::norm(gathered(weight.tensor), 2, std::nullopt, false));
  return norms.empty() ? step::zeros({}) : step::norm(step::stack(norms, 0), 2, std::nullopt, false);
}

int64_t read_count(const Context& cx, int64_t Context::* field) {
  if (plan::Recorder* recorder = plan::Recorder::here(); recorder != nullptr)
    recorder->note(plan::Guard(plan::CountRead{field, cx.*field}));
  return cx.*field;
}

bool read_truth(const Context& cx, int64_t number, const Location& at, const void* of,
                const std::function<bool(const Context&)>& holds) {
  const bool value = holds(cx);
  if (plan::Recorder* recorder = plan::Recorder::here(); recorder != nullptr)
    recorder->note(plan::Guard(plan::TruthRead{number, of, at, holds, value}));
  return value;
}

}  // namespace ltr
