// Gradients of recurrent layers, each by one op: what happens between moments is the kernel's.

#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

/// By `op`, which takes the gradients of the `results`, then what the layer took, and gives those of its `tensors`.
void layer(Step& s, Op op, size_t results, size_t tensors) {
  std::vector<Argument> arguments;
  DType element = DType::F32;
  for (size_t i = 0; i < results; ++i) {
    const Term gradient = s.gradient(i);
    if (gradient.is_defined()) element = gradient.dtype();
    arguments.emplace_back(ValueRef{gradient.id()});
  }
  const std::vector<Argument>& taken = s.node().arguments;
  arguments.insert(arguments.end(), taken.begin(), taken.end());
  const std::vector<ValueId> found = s.builder().call(op, element, tensors, std::move(arguments));
  for (size_t i = 0; i < tensors; ++i) s.give(i, {s.builder(), found[i]});
}

void lstm(Step& s) { layer(s, Op::lstm_backward, 3, 7); }
void gru(Step& s) { layer(s, Op::gru_backward, 2, 6); }
void rnn(Step& s) { layer(s, Op::rnn_backward, 2, 6); }

constexpr RuleRow kRecurrentRules[] = {{Op::lstm, lstm}, {Op::gru, gru}, {Op::rnn, rnn}};

}  // namespace

std::span<const RuleRow> recurrent_rules() { return kRecurrentRules; }

}  // namespace ltr::plan
