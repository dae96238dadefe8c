// The weights that callbacks name, and what `FreezeUntil` and `Unfreeze` hold back, as runtime/train/held_weights.cpp finds it.

#include <algorithm>
#include <set>

#include "codegen/training_logic/rules.h"
#include "dsl/check/walk.h"
#include "runtime/tables/weight_name.h"

namespace ltr::training_logic {

namespace {

/// A path or pattern with an epoch, of a callback.
struct Stage {
  std::string what;
  Span span;
  std::string except;
  Span except_span;
  std::optional<int64_t> epoch;
  bool trains_norm = true;
  std::vector<WeightUse> weights;  ///< surely held
};

template <class Node>
const Node* constant(check::ExprId id, const check::Program& program) {
  return program.exprs[id].get<Node>();
}

/// Nothing where it hangs on hparams.
std::optional<int64_t> epoch_of(check::ExprId id, const check::Program& program) {
  const auto* number = constant<check::node::IntConst>(id, program);
  return number != nullptr ? std::optional(number->value) : std::nullopt;
}

/// Those stages of `call` whose path stands in the program.
std::vector<Stage> stages_of(const check::node::Call& call, const check::Program& program) {
  std::vector<Stage> stages;
  Stage stage;
  bool is_known = false;
  for (const check::node::NamedArg& arg : call.args) {
    if (const auto* list = constant<check::node::List>(arg.value, program); list != nullptr && arg.name == "stages") {
      for (const check::ExprId element : list->elements) {
        const auto* pair = constant<check::node::Tuple>(element, program);
        const auto* text = pair != nullptr ? constant<check::node::StrConst>(pair->elements[0], program) : nullptr;
        if (text == nullptr) return {};
        stages.push_back({.what = text->text,
                          .span = program.exprs[pair->elements[0]].span,
                          .except = "",
                          .except_span = {},
                          .epoch = epoch_of(pair->elements[1], program),
                          .weights = {}});
      }
    }
    const auto* text = constant<check::node::StrConst>(arg.value, program);
    if (text != nullptr && arg.name == "what") {
      is_known = true;
      stage.what = text->text;
      stage.span = program.exprs[arg.value].span;
    }
    if (arg.name == "except") {
      if (text == nullptr) return {};
      stage.except = text->text;
      stage.except_span = program.exprs[arg.value].span;
    }
    if (arg.name == "epoch") stage.epoch = epoch_of(arg.value, program);
    if (const auto* flag = constant<check::node::BoolConst>(arg.value, program); arg.name == "train_norm")
      stage.trains_norm = flag == nullptr || flag->value;
  }
  if (is_known) stages.push_back(std::move(stage));
  return stages;
}

/// E0433 of each path or pattern in `value` where no weight lies.
void check_paths(check::ExprId value, const std::vector<WeightUse>& all, const std::string& model,
                 const check::Program& program, const Heap& heap, Sink& sink) {
  const check::ExprView& expr = program.exprs[value];
  if (const auto* path = expr.get<check::node::StrConst>()) {
    if (std::ranges::any_of(all, [&](const WeightUse& use) { return lies_at(path->text, use, heap); })) return;
    // What lies there has no optimizer, which E0404 says.
    const auto lies_there = [&](const WeightUse& use) { return lies_at(path->text, use, heap); };
    if (sink.error_count() > 0 && heap.any_unowned(lies_there)) return;
    report_unmatched({.span = expr.span, .text = path->text, .of = model, .weights = all, .is_place = true}, nullptr,
                     heap, sink);
    return;
  }
  check::for_each_child(expr, [&](check::ExprId part) { check_paths(part, all, model, program, heap, sink); });
}

bool is_same(const WeightUse& a, const WeightUse& b) { return a.weight == b.weight; }

/// Whether `stage` holds something; what it surely holds stands in it. Reports why not, unless its path names no weight.
bool find_weights(Stage& stage, const std::vector<WeightUse>& all, const Heap& heap, Sink& sink) {
  std::vector<WeightUse> matched;
  std::ranges::copy_if(all, std::back_inserter(matched),
                       [&](const WeightUse& use) { return lies_at(stage.what, use, heap); });
  if (matched.empty()) return false;
  const auto is_excepted = [&](const WeightUse& use, bool surely) {
    return !stage.except.empty() && lies_at(stage.except, use, heap, surely);
  };
  if (!stage.except.empty() &&
      std::ranges::none_of(matched, [&](const WeightUse& use) { return is_excepted(use, false); })) {
    report_unmatched(
        {.span = stage.except_span, .text = stage.except, .of = stage.what, .weights = matched, .is_place = true},
        nullptr, heap, sink);
    return false;
  }
  std::erase_if(matched, [&](const WeightUse& use) { return is_excepted(use, true); });
  if (matched.empty()) {
    sink.report(diag::wrong_argument(stage.except_span, "`except` leaves nothing of \"" + stage.what + "\""));
    return false;
  }
  const auto norm = std::ranges::find_if(matched, [&](const WeightUse& use) { return takes("@norm", use, heap); });
  const bool has_norm = norm != matched.end();
  const std::string norm_name = has_norm ? weight_name(heap.weights[norm->weight].places[0].path) : "";
  if (stage.trains_norm) std::erase_if(matched, [&](const WeightUse& use) { return takes("@norm", use, heap); });
  if (matched.empty()) {
    sink.report(diag::wrong_argument(stage.span, "\"" + stage.what + "\" holds nothing: norm layers train on")
                    .note("`{}` is of one", norm_name)
                    .help("`FreezeUntil(…, train_norm = false)` holds them, too"));
    return false;
  }
  std::ranges::copy_if(matched, std::back_inserter(stage.weights), [&](const WeightUse& use) {
    return lies_at(stage.what, use, heap, true) && !is_excepted(use, false);
  });
  return true;
}

/// Leaves out what stages of the same callback in front of it hold; reports what another callback holds, unless that is `told`
/// of another stage.
bool leave_to_earlier(Stage& stage, const std::vector<Stage>& others, const std::vector<Stage>& earlier,
                      const Heap& heap, std::set<Span>& told, Sink& sink) {
  const auto held_by = [&](const std::vector<Stage>& stages, const WeightUse& use) {
    return std::ranges::find_if(stages, [&](const Stage& one) {
      return std::ranges::any_of(one.weights, [&](const WeightUse& held) { return is_same(held, use); });
    });
  };
  const bool had_some = !stage.weights.empty();
  std::erase_if(stage.weights, [&](const WeightUse& use) { return held_by(earlier, use) != earlier.end(); });
  if (had_some && stage.weights.empty()) {
    sink.report(diag::wrong_argument(stage.span, "stages in front of \"" + stage.what + "\" hold all of it"));
    return false;
  }
  for (const WeightUse& use : stage.weights) {
    const auto other = held_by(others, use);
    if (other == others.end()) continue;
    if (!told.insert(other->span).second) return false;
    sink.report(diag::wrong_argument(
                    stage.span, "two callbacks hold `" + weight_name(heap.weights[use.weight].places[0].path) + "`")
                    .label(other->span, "it is held here, too"));
    return false;
  }
  return true;
}

/// W0409 of stages that end behind the last epoch.
void check_released(const std::vector<Stage>& held, const check::Experiment& experiment, Sink& sink) {
  for (const check::SettingValue& setting : experiment.trainer) {
    const auto* epochs = setting.path == "epochs" ? setting.value.get<check::node::IntConst>() : nullptr;
    for (const Stage& stage : epochs != nullptr ? held : std::vector<Stage>()) {
      if (stage.epoch.value_or(0) < epochs->value) continue;
      sink.report(diag::never_released(stage.span, stage.what, std::to_string(*stage.epoch))
                      .label(setting.value.span, "the last one is epoch {}", std::to_string(epochs->value - 1)));
    }
  }
}

void check_experiment(const check::Experiment& experiment, const std::vector<WeightUse>& all, const std::string& model,
                      const check::Program& program, const Heap& heap, Sink& sink) {
  std::vector<Stage> held;
  bool is_damaged = false;
  for (const check::Expr& one : experiment.callbacks) {
    const auto* call = one.get<check::node::Call>();
    for (const check::node::NamedArg& arg : call != nullptr ? call->args : std::vector<check::node::NamedArg>()) {
      if (arg.names_weights) check_paths(arg.value, all, model, program, heap, sink);
    }
    if (call == nullptr || (call->op != library::Id::FreezeUntil && call->op != library::Id::Unfreeze)) continue;
    std::vector<Stage> own;
    std::set<Span> told;
    for (Stage& stage : stages_of(*call, program)) {
      const bool is_right =
          find_weights(stage, all, heap, sink) && leave_to_earlier(stage, held, own, heap, told, sink);
      if (is_right) own.push_back(std::move(stage));
      is_damaged = is_damaged || !is_right;
    }
    held.insert(held.end(), own.begin(), own.end());
  }
  check_released(held, experiment, sink);
  const auto trains = [&](const WeightUse& use) {
    return std::ranges::none_of(held, [&](const Stage& stage) {
      return stage.epoch.value_or(0) > 0 &&
             std::ranges::any_of(stage.weights, [&](const WeightUse& one) { return is_same(one, use); });
    });
  };
  if (is_damaged || held.empty() || std::ranges::any_of(all, trains)) return;
  sink.report(diag::wrong_argument(held[0].span, "every weight is held in the first epoch: nothing would train")
                  .help("`except = \"PATH\"` leaves some out"));
}

}  // namespace

void check_held(const ModelTrace& model, const check::Program& program, const Span* experiment, const Heap& heap,
                Sink& sink) {
  std::vector<WeightUse> all;
  for (const auto& [name, member] : heap.objects[model.object].members) {
    if (!member.value->optimizer) continue;
    const Owner& owner = heap.owners[*member.value->optimizer];
    if (owner.is_unknown) return;
    all.insert(all.end(), owner.weights.begin(), owner.weights.end());
  }
  if (all.empty()) return;
  for (const check::Experiment& one : program.experiments) {
    if (program.models[one.model].name != model.info.shown || (experiment != nullptr && one.span != *experiment))
      continue;
    check_experiment(one, all, model.info.shown, program, heap, sink);
  }
}

}  // namespace ltr::training_logic
