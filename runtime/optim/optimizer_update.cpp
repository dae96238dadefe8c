// How an optimizer moves its weights: who moves, by which rate, and the memory that stays from one update to the next.

#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/optim/optimizer.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/host_read.h"
#include "runtime/train/root_state.h"

namespace ltr {

void Optimizer::make_state(GroupState& group) {
  for (const at::Tensor& weight : group.weights) group.own.push_back(root_.own(weight));
  for (const char* name : group.rule->state_names()) {
    optim::TensorVec& list = group.state.emplace_back();
    for (const at::Tensor& own : group.own) list.push_back(own.defined() ? group.rule->initial_state(name, own) : own);
  }
  for (const at::Tensor& weight : group.weights) {
    // Counted where it is known whether the update happens.
    const bool is_there = comes_later(weight) && group.rule->blocking() != optim::Blocking::Asks;
    group.steps.push_back(at::zeros({}, at::TensorOptions(at::kFloat).device(is_there ? weight.device() : at::kCPU)));
  }
}

bool Optimizer::asks() const {
  return std::ranges::any_of(groups_, [](const GroupState& group) {
    return !group.weights.empty() && group.rule->blocking() == optim::Blocking::Asks;
  });
}

bool Optimizer::take_gradient(const at::Tensor& weight, at::Tensor& gradient) {
  Division::Part* part = root_.part_of(weight);
  if (part == nullptr) {
    gradient = std::exchange(weight.mutable_grad(), {});
    return gradient.defined();
  }
  gradient = std::exchange(part->gradient, {});
  return part->has_gradient;
}

void Optimizer::step(int64_t t, const at::Tensor& blocked_later) {
  prepare();
  at::Tensor blocked = blocked_later;
  if (blocked.defined() && asks()) {
    if (read_number(blocked) != 0) return zero_grad();
    blocked = at::Tensor();
  }
  for (GroupState& group : groups_) {
    if (group.weights.empty()) continue;
    if (group.steps.empty()) make_state(group);
    const optim::Schedule* schedule = group.own_schedule ? group.own_schedule.get() : schedule_.get();
    if (schedule != nullptr && !group.own_rate) {
      const Option<double> moved = schedule->momentum(t);
      if (double* momentum = group.rule->momentum(); moved && momentum != nullptr)
        group.moved_momentum = *momentum = *moved;
    }
    const double lr = rate_of(group, t);

    optim::TensorVec &grads = group.update.grads, &elsewhere = group.update.elsewhere;
    std::vector<char>& moves = group.update.moves;
    moves.assign(group.weights.size(), 0);
    for (size_t i = 0; i < group.weights.size(); i++) {
      at::Tensor gradient;
      if (!take_gradient(group.weights[i], gradient)) continue;
      group.has_moved[i] = 1;
      moves[i] = gradient.defined();
      if (moves[i]) {
        grads.push_back(std::move(gradient));
      } else {
        elsewhere.push_back(group.steps[i]);
      }
    }
    count(*group.rule, elsewhere, blocked);
    if (group.is_even && grads.size() == group.weights.size()) {
      move(*group.rule, {group.own, grads, group.state, group.steps, lr, blocked});
    } else if (!grads.empty()) {
      step_parts(group, lr, blocked);
    }
    grads.clear();
    elsewhere.clear();
  }
  if (root_.division) root_.division->moved(*this);
}

bool Optimizer::search(int64_t t, double loss, const std::function<double()>& evaluate) {
  prepare();
  GroupState& group = groups_.back();
  if (group.steps.empty()) make_state(group);
  const auto evaluated = [&](double at) {
    optim::Evaluation found{at, {}};
    for (const at::Tensor& weight : group.weights) take_gradient(weight, found.gradients.emplace_back());
    return found;
  };
  const optim::Evaluation first = evaluated(loss);
  const bool moved = group.rule->search(group.own, first, rate_of(group, t), [&] { return evaluated(evaluate()); });
  if (!moved) return false;
  group.has_moved.assign(group.weights.size(), 1);
  count(*group.rule, group.steps, {});
  return true;
}

void Optimizer::count(const optim::Rule& rule, const optim::TensorVec& steps, const at::Tensor& blocked) {
  if (steps.empty()) return;
  if (comes_later(steps.front()) && rule.blocking() != optim::Blocking::Asks) {
    return at::_foreach_add_(steps, blocked.defined() ? at::rsub(blocked, 1) : at::ones_like(steps.front()));
  }
  for (const at::Tensor& step : steps) ++*step.mutable_data_ptr<float>();
}

void Optimizer::move(optim::Rule& rule, const optim::Update& update) {
  const at::Tensor& blocked = update.blocked;
  count(rule, update.steps, blocked);
  const bool is_known = !comes_later(update.steps.front()) || !blocked.defined();
  if (is_known || rule.blocking() != optim::Blocking::PutBack) return rule.update(update);
  optim::TensorVec moved = update.weights;
  for (const optim::TensorVec& list : update.state) moved.insert(moved.end(), list.begin(), list.end());
  optim::TensorVec before;
  for (const at::Tensor& tensor : moved) before.push_back(tensor.clone());
  rule.update(update);
  const at::Tensor is_blocked = blocked.to(at::kBool);
  for (size_t i = 0; i < moved.size(); i++) moved[i].copy_(at::where(is_blocked, before[i], moved[i]));
}

void Optimizer::divide(GroupState& group) {
  GroupUpdate& update = group.update;
  update.divided = update.moves;
  update.parts.clear();
  update.part_of.clear();
  for (size_t i = 0; i < group.weights.size(); i++) {
    if (!update.moves[i]) continue;
    auto part = std::ranges::find(update.parts, group.shares[i], &UpdatePart::share);
    if (part == update.parts.end()) {
      update.parts.push_back({group.shares[i], {}, {}, {}, std::vector<optim::TensorVec>(group.state.size())});
      part = std::prev(update.parts.end());
    }
    update.part_of.push_back(size_t(part - update.parts.begin()));
    part->weights.push_back(group.own[i]);
    part->steps.push_back(group.steps[i]);
    for (size_t k = 0; k < group.state.size(); k++) part->state[k].push_back(group.state[k][i]);
  }
}

void Optimizer::step_parts(GroupState& group, double lr, const at::Tensor& blocked) {
  GroupUpdate& update = group.update;
  if (update.divided != update.moves) divide(group);
  for (size_t i = 0; i < update.grads.size(); i++)
    update.parts[update.part_of[i]].grads.push_back(std::move(update.grads[i]));
  for (UpdatePart& part : update.parts) {
    move(*group.rule, {part.weights, part.grads, part.state, part.steps, lr * part.share, blocked});
    part.grads.clear();
  }
}

void Optimizer::set_share(const at::Tensor& weight, double share) {
  prepare();
  for (GroupState& group : groups_) {
    for (size_t i = 0; i < group.weights.size(); i++) {
      if (group.weights[i].is_same(weight)) group.shares[i] = share;
    }
    group.is_even = std::ranges::all_of(group.shares, [](double one) { return one == 1; });
    group.update.divided.clear();
  }
}

}  // namespace ltr
