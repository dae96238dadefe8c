#include "runtime/train/held_weights.h"

#include <algorithm>
#include <cmath>

#include "runtime/callbacks/arguments.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/train/trainer.h"

namespace ltr {

namespace {

size_t rank_of(const Tensor& tensor) { return size_t(In(tensor)->dim()); }

bool is_norm(const std::vector<WeightPlace>& places) { return group_takes("@norm", 0, places); }

/// A list of weights for people.
Str named(const std::vector<Str>& names) {
  constexpr size_t kShown = 6;
  Str list;
  for (size_t i = 0; i < std::min(names.size(), kShown); i++) list += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? list + ", …" : list;
}

}  // namespace

double HeldWeights::Stage::share(int64_t now) const {
  if (now < epoch) return 1;
  // A growth of 1 keeps a ratio above 1, too.
  return growth == 1 ? lr_ratio : std::min(1.0, lr_ratio * std::pow(growth, double(now - epoch)));
}

HeldWeights::HeldWeights(const RunRequest& request) : root_(request.root.state()) {
  for (const Value& call : request.callbacks) {
    if (call.text == "FreezeUntil" || call.text == "Unfreeze") add(call);
  }
  refuse_standstill();
}

HeldWeights::~HeldWeights() {
  if (is_empty()) return;
  for (const Stage& stage : stages_) {
    for (const auto& [optimizer, weight] : stage.weights) {
      In(weight.tensor)->set_requires_grad(true);
      optimizer->set_share(aten(weight.tensor), 1);
    }
  }
  let_rest({});
}

void HeldWeights::add(const Value& call) {
  const size_t first = stages_.size();
  if (call.text == "FreezeUntil") {
    stages_.push_back({.what = text_argument(call, "what", ""),
                       .except = text_argument(call, "except", ""),
                       .epoch = int_argument(call, "epoch", 0),
                       .lr_ratio = float_argument(call, "lr_ratio", 0.1),
                       .growth = float_argument(call, "growth", 2.0),
                       .train_norm = bool_argument(call, "train_norm", true),
                       .location = call.location,
                       .weights = {},
                       .norms = {}});
  } else if (const Value* stages = argument(call, "stages"); stages != nullptr) {
    for (const Argument& stage : stages->items) {
      const std::vector<Argument>& pair = stage.value.items;
      if (pair.size() != 2) {
        throw error_at(call.location, err::wrong_type, "callbacks.Unfreeze.stages", stage.value.to_text(),
                       "pairs of a path and an epoch");
      }
      stages_.push_back({.what = pair[0].value.as_str(),
                         .except = "",
                         .epoch = pair[1].value.as_int(),
                         .lr_ratio = float_argument(call, "lr_ratio", 1.0),
                         .growth = 1,
                         .train_norm = true,
                         .location = call.location,
                         .weights = {},
                         .norms = {}});
    }
  }
  for (size_t i = first; i < stages_.size(); i++) {
    find_weights(stages_[i], call.text.c_str());
    leave_to_earlier(stages_[i], first);
    if (!stages_[i].train_norm) find_norms(stages_[i]);
  }
}

void HeldWeights::find_weights(Stage& stage, const char* callback) {
  std::vector<Str> all, norms;
  bool is_excepted = stage.except.empty();
  for (const auto& optimizer : root_.optimizers) {
    for (const Weight& weight : optimizer->weights()) {
      const std::vector<WeightPlace> places = optimizer->places_of(weight);
      const size_t rank = rank_of(weight.tensor);
      all.push_back(places[0].name);
      if (!lies_at(stage.what, rank, places)) continue;
      if (!stage.except.empty() && lies_at(stage.except, rank, places)) {
        is_excepted = true;
      } else if (stage.train_norm && is_norm(places)) {
        norms.push_back(places[0].name);
      } else {
        stage.weights.emplace_back(optimizer.get(), weight);
      }
    }
  }
  const auto refuse = [&](const Str& what, const Str& help) {
    throw with_help(error_at(stage.location, err::settings_contradict, what), help);
  };
  if (!is_excepted)
    refuse(fmt::format("{}: except = \"{}\" takes no weight of \"{}\"", callback, stage.except, stage.what),
           "the weights are " + named(all));
  const bool has_rate = stage.lr_ratio != 1 || stage.growth < 1;
  for (const auto& [optimizer, weight] : stage.weights) {
    if (has_rate && optimizer->repeats_step())
      refuse(fmt::format("{}: LBFGS moves all weights by one rate", callback), "lr_ratio = 1, growth = 1");
  }
  if (!stage.weights.empty()) return;
  const Str what = fmt::format("{}: \"{}\" holds no weight", callback, stage.what);
  if (!norms.empty())
    refuse(what,
           fmt::format("norm layers train on ({}); FreezeUntil(…, train_norm = false) holds them, too", named(norms)));
  refuse(what, "the weights are " + named(all));
}

// A norm is known by its weights; the running values lie beside them.
void HeldWeights::find_norms(Stage& stage) const {
  const auto is_held_norm = [&](const ScopeState::Local& local) {
    return std::ranges::any_of(stage.weights, [&](const auto& held) {
      return held.second.tensor.impl() == root_.entries[local.entry].tensor.impl() &&
             is_norm(held.first->places_of(held.second));
    });
  };
  for (const ScopeState& scope : root_.scopes) {
    if (!std::ranges::any_of(scope.locals, is_held_norm)) continue;
    for (const ScopeState::Local& local : scope.locals) {
      const Entry& entry = root_.entries[local.entry];
      if (!entry.is_weight) stage.norms.push_back(entry.tensor.impl());
    }
  }
}

void HeldWeights::leave_to_earlier(Stage& stage, size_t first) const {
  for (size_t i = 0; &stages_[i] != &stage; i++) {
    const Stage& earlier = stages_[i];
    for (const auto& [optimizer, other] : earlier.weights) {
      const bool is_held = std::erase_if(stage.weights, [&](const auto& one) {
                             return one.second.tensor.impl() == other.tensor.impl();
                           }) > 0;
      if (!is_held || i >= first) continue;
      throw error_at(stage.location, err::settings_contradict,
                     fmt::format("two callbacks hold {}: by \"{}\" and by \"{}\"", optimizer->path_of(other),
                                 earlier.what, stage.what));
    }
  }
  if (!stage.weights.empty()) return;
  throw error_at(stage.location, err::settings_contradict,
                 fmt::format("Unfreeze: stages in front of \"{}\" hold all of it", stage.what));
}

void HeldWeights::refuse_standstill() const {
  size_t held = 0, all = 0;
  for (const auto& optimizer : root_.optimizers) all += optimizer->weights().size();
  for (const Stage& stage : stages_) held += stage.holds(0) ? stage.weights.size() : 0;
  if (held == 0 || held < all) return;
  throw with_help(error_at(stages_.front().location, err::settings_contradict,
                           "every weight is held in the first epoch: nothing would train"),
                  "`except` leaves some of them out: except = \"net.fc\"");
}

bool HeldWeights::apply(int64_t epoch) {
  bool is_changed = false;
  std::unordered_set<const void*> norms;
  for (const Stage& stage : stages_) {
    const bool trains = !stage.holds(epoch);
    for (const auto& [optimizer, weight] : stage.weights) {
      const In tensor(weight.tensor);
      is_changed = is_changed || tensor->requires_grad() != trains;
      tensor->set_requires_grad(trains);
      optimizer->set_share(*tensor, stage.share(epoch));
    }
    if (!trains) norms.insert(stage.norms.begin(), stage.norms.end());
  }
  let_rest(std::move(norms));
  return is_changed;
}

std::vector<std::pair<Str, int64_t>> HeldWeights::ends() const {
  std::vector<std::pair<Str, int64_t>> ends;
  for (const Stage& stage : stages_) ends.emplace_back(stage.what, stage.epoch);
  return ends;
}

Str HeldWeights::released_in(int64_t epoch) const {
  Str text;
  for (const Stage& stage : stages_) {
    if (stage.epoch != epoch || epoch == 0) continue;
    text += fmt::format("{}{} trains", text.empty() ? "" : ", ", stage.what);
    if (stage.share(epoch) != 1) text += fmt::format(" by {} of its rate", stage.share(epoch));
  }
  return text;
}

}  // namespace ltr
