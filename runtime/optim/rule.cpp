#include "runtime/optim/rule.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "runtime/api/error.h"
#include "runtime/api/value_range.h"

namespace ltr::optim {

const Value* Arguments::take(const char* name) {
  const Value* given = find(name);
  if (given == nullptr) return nullptr;
  if (const Option<Str> rule = broken_range(Str("optimizer.") + name, *given)) {
    throw error_at(location(), err::out_of_range, fmt::format("{}.{}", value().text, name), given->to_text(), *rule);
  }
  return given;
}

double Arguments::number(const char* name, double initial) {
  const Value* value = take(name);
  return value != nullptr ? value->as_float() : initial;
}

bool Arguments::flag(const char* name, bool initial) {
  const Value* value = take(name);
  return value != nullptr ? value->as_bool() : initial;
}

Str Arguments::word(const char* name, const char* initial) {
  const Value* value = take(name);
  return value != nullptr ? value->text : initial;
}

std::pair<std::optional<double>, double> Arguments::option_pair(const char* name, std::optional<double> first,
                                                                double second) {
  const Value* value = take(name);
  if (value == nullptr) return {first, second};
  if (value->items.size() != 2) {
    throw error_at(location(), err::wrong_type, name, value->to_text(), "a pair of numbers, the first may be none");
  }
  const Value& given = value->items[0].value;
  return {given.is_none() ? std::nullopt : std::optional<double>(given.as_float()), value->items[1].value.as_float()};
}

std::pair<double, double> Arguments::pair(const char* name, double first, double second) {
  const Value* value = take(name);
  if (value == nullptr) return {first, second};
  if (value->items.size() != 2) {
    throw error_at(location(), err::wrong_type, name, value->to_text(), "a pair of numbers");
  }
  return {value->items[0].value.as_float(), value->items[1].value.as_float()};
}

at::Tensor Rule::initial_state(const char*, const at::Tensor& weight) const { return at::zeros_like(weight); }

bool Rule::search(const TensorVec&, const Evaluation&, double, const Evaluate&) {
  throw error_here(err::settings_contradict, "an optimizer of this kind moves by the gradient alone");
}

double Rule::state_bytes(const at::Tensor& weight) const {
  double bytes = 0;
  for (const char* name : state_names()) bytes += double(initial_state(name, weight).nbytes());
  return bytes;
}

namespace {

struct Maker {
  const char* name;
  std::unique_ptr<Rule> (*make)(Arguments&);
  double lr;
  double weight_decay;
  Moves moves;
};

constexpr Maker kMakers[] = {
#define LTR_RULE(name, maker, lr, weight_decay, states, more, moves) {#name, maker, lr, weight_decay, Moves::moves},
#include "runtime/tables/rules.def"
#undef LTR_RULE
};

}  // namespace

std::unique_ptr<Rule> make_rule(const Value& call, Location location) {
  for (const Maker& maker : kMakers) {
    if (call.text != maker.name) continue;
    Arguments arguments(call, location);
    const double lr = arguments.number("lr", maker.lr);
    const double weight_decay = arguments.number("weight_decay", maker.weight_decay);
    std::unique_ptr<Rule> rule = maker.make(arguments);
    rule->lr = lr;
    rule->weight_decay = weight_decay;
    rule->moves = maker.moves;
    arguments.check_all_used();
    return rule;
  }
  Str known;
  for (const Maker& maker : kMakers) known += fmt::format("{}{}", known.empty() ? "" : ", ", maker.name);
  throw with_help(error_at(location, err::unknown_setting, fmt::format("optimizer {} in this version", call.text)),
                  "there are " + known);
}

at::Tensor Rule::decayed(const at::Tensor& grad, const at::Tensor& weight, bool maximize) const {
  const at::Tensor down = maximize ? at::neg(grad) : grad;
  return weight_decay != 0 ? at::add(down, weight, weight_decay) : down;
}

at::Tensor wide_norm(const at::Tensor& tensor) { return at::linalg_vector_norm(tensor).to(at::kDouble); }

}  // namespace ltr::optim
