#include "runtime/optim/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/api/value_range.h"
#include "runtime/optim/elements.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/sparse.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

/// The call's arguments with those of the group over them.
Value merged(const Value& call, const std::vector<Argument>& over) {
  Value result = call;
  for (const Argument& argument : over) {
    bool found = false;
    for (Argument& item : result.items) {
      if (std::strcmp(item.name, argument.name) != 0) continue;
      item.value = argument.value;
      found = true;
    }
    if (!found) result.items.push_back(argument);
  }
  return result;
}

at::Tensor norm_later(const optim::TensorVec& list) {
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(list, 2)));
}

double norm_of(const optim::TensorVec& list) {
  if (const Option<double> norm = optim::norm_by_kernel(list)) return *norm;
  const at::Tensor norm = norm_later(list);
  return comes_later(norm) ? read_number(norm) : number_in_memory(norm);
}

/// The tensor without its memory.
at::Tensor shape_of(const at::Tensor& tensor) { return at::empty_like(tensor, tensor.options().device(at::kMeta)); }

}  // namespace

Optimizer::Optimizer(Str name, Value rule, Weights weights, std::vector<Argument> settings, std::vector<Group> groups,
                     Location location, RootState& root)
    : name_(std::move(name)),
      rule_(std::move(rule)),
      weights_(std::move(weights)),
      settings_(std::move(settings)),
      given_groups_(std::move(groups)),
      location_(location),
      root_(root) {}

Optimizer::~Optimizer() = default;

void Optimizer::prepare() {
  if (is_prepared_) return;
  is_prepared_ = true;
  const auto override_of = [&](const Argument& argument) {
    if (!root_.overrides) return argument.value;
    const Str path = fmt::format("model.{}.{}", name_, argument.name);
    return root_.overrides(path.c_str(), argument.type, argument.value, argument.location);
  };
  for (Argument& argument : rule_.items) argument.value = override_of(argument);
  for (Argument& argument : settings_) {
    argument.value = override_of(argument);
    if (argument.value.is_none()) continue;
    if (const Option<Str> rule = broken_range(Str("optimizer.") + argument.name, argument.value)) {
      throw error_at(argument.location, err::out_of_range, fmt::format("model.{}.{}", name_, argument.name),
                     argument.value.to_text(), *rule);
    }
    if (std::strcmp(argument.name, "schedule") == 0) {
      schedule_call_ = argument.value;
    } else if (std::strcmp(argument.name, "clip_norm") == 0) {
      clip_norm_ = argument.value.as_float();
    } else if (std::strcmp(argument.name, "clip_value") == 0) {
      clip_value_ = argument.value.as_float();
    } else {
      throw with_help(error_at(location_, err::unknown_setting, fmt::format("{}.{}", name_, argument.name)),
                      "an optimizer has schedule, clip_norm, clip_value and groups");
    }
  }
  make_groups();
  if (repeats_step()) check_search();
}

bool Optimizer::repeats_step() const {
  return std::ranges::any_of(groups_, [](const GroupState& group) { return group.rule && group.rule->repeats_step(); });
}

void Optimizer::check_search() const {
  const auto refuse = [&](const char* what, const char* help) {
    throw with_help(error_at(location_, err::settings_contradict, fmt::format("{}: LBFGS {}", name_, what)), help);
  };
  if (!given_groups_.empty())
    refuse("moves all weights as one, without groups", "take the groups away, or another optimizer: AdamW");
  if (clip_norm_ >= 0 || clip_value_ >= 0)
    refuse("goes by whole gradients, which nothing clips", "line_search = strong_wolfe keeps its steps short enough");
}

std::vector<WeightPlace> Optimizer::places_of(const Weight& weight) const {
  std::vector<WeightPlace> places = root_.places_of(weight.tensor);
  if (places.empty()) places.push_back({weight.path, "", ""});
  places[0].within = weight.path;
  return places;
}

size_t Optimizer::group_of(const Weight& weight) const {
  if (given_groups_.empty()) return 0;
  const std::vector<WeightPlace> places = places_of(weight);
  const auto first = std::find_if(given_groups_.begin(), given_groups_.end(), [&](const Group& group) {
    return group_takes(group.pattern, size_t(In(weight.tensor)->dim()), places);
  });
  return size_t(first - given_groups_.begin());
}

Str Optimizer::path_of(const Weight& weight) const {
  const Str* known = root_.path_of(weight.tensor);
  return known != nullptr ? *known : weight.path;
}

void Optimizer::make_groups() {
  groups_.resize(given_groups_.size() + 1);
  for (const Weight& weight : weights_) {
    const Str whole = path_of(weight);
    GroupState& group = groups_[group_of(weight)];
    group.paths.push_back(whole);
    group.weights.push_back(aten(weight.tensor));
  }
  for (size_t i = 0; i < groups_.size(); i++) {
    GroupState& group = groups_[i];
    Value call = rule_;
    if (i < given_groups_.size()) {
      const Group& given = given_groups_[i];
      if (group.weights.empty()) {
        throw error_at(given.location, err::settings_contradict,
                       fmt::format("group \"{}\" of {} takes no weight", given.pattern, name_));
      }
      group.pattern = given.pattern;
      std::vector<Argument> over;
      for (const Argument& argument : given.settings) {
        group.settings.emplace_back(argument.name, argument.value);
        if (std::strcmp(argument.name, "schedule") == 0) {
          group.schedule_call = argument.value;
        } else if (std::strcmp(argument.name, "rule") == 0) {
          call = argument.value;
          group.has_own_rule = true;
        } else {
          over.push_back(argument);
        }
      }
      call = merged(call, over);
    }
    group.rule_text = call.text;
    if (!group.weights.empty() || i == given_groups_.size()) group.rule = optim::make_rule(call, location_);
    group.has_moved.assign(group.weights.size(), 0);
    group.shares.assign(group.weights.size(), 1);
  }
}

void Optimizer::schedule(const optim::Length& planned) {
  prepare();
  optim::Length length = planned;
  // What a flag gave stands in no file: then its setting is named.
  if (schedule_call_.location.file[0] == '\0' && planned.warn)
    length.warn = [&](const Str& text) { planned.warn(fmt::format("model.{}.schedule: {}", name_, text)); };
  // A word is a call without arguments: `--set model.opt.schedule=warm`.
  const auto is_given = [](const Value& call) {
    return call.kind == Value::Kind::Call || call.kind == Value::Kind::Symbol;
  };
  if (is_given(schedule_call_)) schedule_ = optim::make_schedule(schedule_call_, length);
  for (GroupState& group : groups_) {
    if (is_given(group.schedule_call)) {
      group.own_schedule = optim::make_schedule(group.schedule_call, length);
    }
  }
}

OptimizerEntry Optimizer::describe() const {
  OptimizerEntry entry{name_, rule_.text, schedule_call_.is_none() ? "" : schedule_call_.to_text(), {}, state_bytes()};
  for (const GroupState& group : groups_) {
    if (!group.paths.empty()) entry.groups.push_back({group.pattern, group.paths, group.settings});
  }
  return entry;
}

const optim::Rule* Optimizer::rule_of(const at::Tensor& weight) const {
  for (const GroupState& group : groups_) {
    for (const at::Tensor& one : group.weights) {
      if (one.is_same(weight)) return group.rule.get();
    }
  }
  return nullptr;
}

optim::Moves Optimizer::moves_of(const at::Tensor& weight) const {
  const optim::Rule* const rule = rule_of(weight);
  return rule != nullptr ? rule->moves : optim::Moves::whole;
}

bool Optimizer::rests(const at::Tensor& weight) const {
  const optim::Rule* const rule = rule_of(weight);
  return rule != nullptr && rule->rests();
}

double Optimizer::state_bytes() const {
  double bytes = 0;
  for (const GroupState& group : groups_) {
    for (const at::Tensor& weight : group.weights) bytes += group.rule->state_bytes(shape_of(weight));
  }
  return bytes;
}

std::vector<optim::Plateau*> Optimizer::plateaus() const {
  std::vector<optim::Plateau*> list;
  if (schedule_) schedule_->collect(list);
  for (const GroupState& group : groups_) {
    if (group.own_schedule) group.own_schedule->collect(list);
  }
  return list;
}

double Optimizer::rate_of(const GroupState& group, int64_t t) const {
  if (group.own_rate) return *group.own_rate;
  if (fixed_rate_) return *fixed_rate_;
  const optim::Schedule* schedule = group.own_schedule ? group.own_schedule.get() : schedule_.get();
  return schedule != nullptr ? schedule->rate(t, group.rule->lr) : group.rule->lr;
}

const Optimizer::GroupState* Optimizer::first_group() const {
  for (const GroupState& group : groups_) {
    if (group.pattern.empty() && group.rule) return &group;
  }
  return groups_.empty() ? nullptr : &groups_.front();
}

double Optimizer::rate(int64_t t) const {
  const GroupState* first = first_group();
  return first == nullptr ? 0 : rate_of(*first, t);
}

void Optimizer::note_rates(int64_t t) {
  for (GroupState& group : groups_) {
    if (group.rule) group.noted_rate = rate_of(group, t);
  }
}

double Optimizer::noted_rate(int64_t t) const {
  const GroupState* first = first_group();
  return first == nullptr ? 0 : first->noted_rate.value_or(rate_of(*first, t));
}

void Optimizer::set_base_rate(double rate) {
  prepare();
  const double before = groups_.back().rule->lr;
  for (GroupState& group : groups_) {
    if (!group.rule) continue;
    double& lr = group.rule->lr;
    if (lr == before)
      lr = rate;
    else if (before > 0)
      lr *= rate / before;
  }
}

void Optimizer::set_rate(double rate) {
  fixed_rate_ = rate;
  for (GroupState& group : groups_) group.own_rate.reset();
}

void Optimizer::set_group_rates(const std::vector<double>& rates) {
  size_t next = 0;
  for (GroupState& group : groups_) {
    if (!group.weights.empty() && next < rates.size()) group.own_rate = rates[next++];
  }
}

std::vector<Optimizer::GroupNumbers> Optimizer::group_numbers(int64_t t) const {
  std::vector<GroupNumbers> list;
  for (const GroupState& group : groups_) {
    if (group.weights.empty()) continue;
    const double* momentum = group.rule->momentum();
    const double rate = rate_of(group, t);
    list.push_back({group.pattern.empty() ? "rest" : group.pattern, rate, group.noted_rate.value_or(rate),
                    group.rule->weight_decay, momentum != nullptr ? Option<double>(*momentum) : Option<double>()});
  }
  return list;
}

/// The gradients, while it lives, in a list that keeps its memory.
struct Optimizer::Listed {
  explicit Listed(const Optimizer& optimizer) : list(optimizer.listed_) { optimizer.list_grads(list); }
  ~Listed() { list.clear(); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

  optim::TensorVec& list;
};

optim::TensorVec Optimizer::grads() const {
  optim::TensorVec list;
  list_grads(list);
  return list;
}

void Optimizer::list_grads(optim::TensorVec& list) const {
  for (const GroupState& group : groups_) {
    for (const at::Tensor& weight : group.weights) {
      const at::Tensor gradient = own_gradient(weight);
      if (gradient.defined()) list.push_back(gradient.is_sparse() ? rows_of(gradient).values() : gradient);
    }
  }
}

at::Tensor Optimizer::own_gradient(const at::Tensor& weight) const {
  const Division::Part* part = root_.part_of(weight);
  return part != nullptr ? part->gradient : weight.grad();
}

std::vector<at::Tensor> Optimizer::whole_gradients() const {
  std::vector<at::Tensor> list;
  for (const Weight& one : weights_) {
    const at::Tensor weight = aten(one.tensor);
    const Division::Part* part = root_.part_of(weight);
    if (part == nullptr) {
      list.push_back(weight.grad());
    } else {
      list.push_back(part->has_gradient ? root_.division->join(weight, part->gradient, shape_of(weight))
                                        : at::Tensor());
    }
  }
  return list;
}

Option<double> Optimizer::clip() {
  prepare();
  if (clip_value_ >= 0) clip_value(clip_value_);
  if (clip_norm_ < 0) return {};
  const double norm = measure_norm();
  // The device is the host here: the norm is there, and what need not shrink is not touched.
  const double factor = clip_norm_ / (norm + 1e-6);
  if (std::isfinite(norm) && factor < 1) scale_grads(factor);
  return norm;
}

double Optimizer::measure_norm() const {
  const Listed listed(*this);
  double norm = listed.list.empty() ? 0 : norm_of(listed.list);
  join_norms({&norm, 1}, 2);
  return norm;
}

void Optimizer::join_norms(std::span<double> norms, double p) const {
  if (!root_.division) return;
  const Ranks& holders = root_.division->holders();
  if (std::isinf(p)) return holders.most(norms);
  // The 0-norm counts, and counts add up.
  for (double& norm : norms) norm = p == 0 ? norm : std::pow(norm, p);
  holders.sum(norms);
  for (double& norm : norms) norm = p == 0 ? norm : std::pow(norm, 1 / p);
}

at::Tensor Optimizer::measure_norm_later() const {
  const optim::TensorVec list = grads();
  const Division* division = root_.division.get();
  if (division == nullptr) return list.empty() ? at::Tensor() : norm_later(list);
  const at::Tensor norm =
      list.empty() ? at::zeros({}, In(weights_.front().tensor)->options().requires_grad(false)) : norm_later(list);
  const at::Tensor square = norm.square();
  division->holders().sum_tensor(square);
  return square.sqrt();
}

at::Tensor Optimizer::clip_later() {
  prepare();
  if (clip_value_ >= 0) clip_value(clip_value_);
  return clip_norm_ < 0 ? at::Tensor() : clip_norm_later(clip_norm_);
}

at::Tensor Optimizer::clip_norm_later(double limit) {
  const at::Tensor norm = measure_norm_later();
  const optim::TensorVec list = grads();
  if (!list.empty()) at::_foreach_mul_(list, at::clamp_max(limit / (norm + 1e-6), 1));
  return norm;
}

double Optimizer::clip_norm(double limit) {
  const double before = std::exchange(clip_norm_, limit);
  const double value = std::exchange(clip_value_, -1);
  const double norm = clip().value_or(0);
  clip_norm_ = before;
  clip_value_ = value;
  return norm;
}

void Optimizer::clip_value(double limit) {
  const optim::TensorVec list = grads();
  if (list.empty()) return;
  at::_foreach_clamp_max_(list, limit);
  at::_foreach_clamp_min_(list, -limit);
}

void Optimizer::scale_grads(double factor) {
  const Listed listed(*this);
  if (listed.list.empty() || optim::scale_by_kernel(listed.list, float(factor))) return;
  at::_foreach_mul_(listed.list, factor);
}

void Optimizer::zero_grad() {
  for (const Weight& weight : weights_) {
    In(weight.tensor)->mutable_grad() = at::Tensor();
    if (root_.division) root_.division->forget_gradient(aten(weight.tensor));
  }
}

}  // namespace ltr
