// What losses and activations are given.
#include <algorithm>

#include "codegen/training_logic/trace.h"

namespace ltr::training_logic {

using ir::OpKind;
using library::Draws;
using library::Id;

bool is_made_of(ir::DimId size, ir::DimId part, const ir::DimStore& dims) {
  if (size == part) return true;
  const ir::Dim& dim = dims[size];
  return (dim.left != ir::DimId{} && is_made_of(dim.left, part, dims)) ||
         (dim.right != ir::DimId{} && is_made_of(dim.right, part, dims));
}

namespace {

/// Whether what a function gives are no scores for a loss. Between -1 and 1 a margin may well be kept, and a rate be meant.
bool leaves_no_scores(Id function, Id loss) {
  const library::Bounds bounds = library::info(function).bounds;
  const bool takes_range = loss == Id::MultiMargin || loss == Id::PoissonLoss;
  const bool is_cut = function == Id::Clamp || function == Id::Maximum;
  return is_cut || bounds == library::Bounds::NotNegative || (bounds == library::Bounds::Within && !takes_range);
}

/// Whether `loss` is one of the library, of a batch, and `other` surely another term of the whole loss that trains the same
/// weights: another loss of the library, or one by hand beside a loss that compares with what is given alone. Two of one kind
/// may be held against each other.
bool is_loss_beside(const Value& loss, const Value& other) {
  if (loss.loss == Id::None || !loss.is_of_target || loss.loss == other.loss || other.is_unknown) return false;
  if (other.loss != Id::None) return true;
  return loss.is_of_given && std::ranges::any_of(other.paths, [&](const auto& one) {
           return std::ranges::any_of(loss.paths,
                                      [&](const auto& own) { return own.first.to.owner == one.first.to.owner; });
         });
}

}  // namespace

void Trace::look_at_activation(Id taker, const ir::Op& op, Frame& frame) {
  if (op.operands.empty()) return;
  const Activation& before = use(op.operands[0], frame).activation;
  if (taker == Id::CrossEntropy) {
    findings.class_scores.insert(before.span);
    if (const uint64_t scores = use(op.operands[0], frame).identity)
      findings.classes_first.emplace(scores, written_span(op, 0, frame));
  }
  const library::Function& function = library::info(taker);
  const bool is_spoilt = library::info(before.function).spoils_scores;
  const bool is_score = library::info(before.function).gives_scores || is_spoilt;
  const bool is_no_logarithm = is_score || before.function == Id::Softmax || before.function == Id::Sigmoid;
  const bool is_misfit =
      (function.takes_logs && is_no_logarithm) ||
      (function.takes_scores() && (is_spoilt || leaves_no_scores(before.function, taker))) ||
      (function.takes_probs && (is_score || before.function == Id::LogSoftmax)) ||
      (is_train_step() && library::is_loss(taker) && library::info(before.function).draws == Draws::InTraining);
  if (is_misfit && !frame.function->is_library)
    findings.misfits.push_back({written_span(op, 0, frame), taker, before, has_logs_second(op, frame)});
  // Its second argument are probabilities; of two that are exchanged the first one is told.
  const bool are_exchanged = is_no_logarithm && has_logs_second(op, frame);
  // Behind what it refuses the two may be exchanged, and that is told.
  const bool takes_probs_second =
      taker == Id::KlDiv || (taker == Id::SoftCrossEntropy && !function.refuses_behind(before.function));
  if (taker == Id::KlDiv && op.operands.size() > 2 && !frame.function->is_library) {
    const auto& reduction = use(op.operands[2], frame).constant;
    if (reduction == ir::Constant("mean")) findings.mean_divergences.push_back(written_span(op, 2, frame));
  }
  if (takes_probs_second && op.operands.size() > 1 && !frame.function->is_library && !are_exchanged) {
    const Value &first = use(op.operands[0], frame), &second = use(op.operands[1], frame);
    const Activation& wanted = second.activation;
    const bool is_trained_second = !first.is_unknown && first.paths.empty() && !second.paths.empty();
    if (library::info(wanted.function).gives_scores || wanted.function == Id::LogSoftmax)
      findings.misfits.push_back(
          {written_span(op, 1, frame), taker, wanted, wanted.function == Id::LogSoftmax && is_trained_second, true});
  }
  if (taker == Id::MaskedFill && op.operands.size() > 2 && before.function == Id::Softmax) {
    if (number_of(use(op.operands[2], frame)).value_or(0) < 0)
      findings.misfits.push_back({written_span(op, 0, frame), taker, before});
  }
  if (!function.refuses_behind(before.function)) return;
  const bool is_of_classes = taker == Id::CrossEntropy || taker == Id::SoftCrossEntropy || taker == Id::Focal ||
                             taker == Id::Softmax || taker == Id::LogSoftmax;
  const bool is_idle = before.function == Id::LogSoftmax && is_of_classes;
  // Within a metric the mistake is what it was given.
  const Frame* metric = &frame;
  while (metric != nullptr && metric->function->role != ir::Role::MetricUpdate) metric = metric->caller;
  if (metric == nullptr) {
    findings.doubled.push_back(
        {written_span(op, 0, frame), called_name(function.name, frame), before, false, false, is_idle});
    return;
  }
  bool takes_both = false;
  for (const ObjectId id : use(metric->function->body.params[0], *metric).objects) {
    const Known* logits = heap_.objects[id].find("$logits");
    takes_both = logits != nullptr;
    // What a run says is not known here.
    if (takes_both && !(*logits)->constant) return;
  }
  const ir::Op& site = *metric->site;
  size_t given = 1;
  for (size_t i = 1; i < site.operands.size(); ++i) {
    if (use(site.operands[i], *metric->caller).activation.span == before.span) given = i;
  }
  findings.doubled.push_back(
      {written_span(site, given, *metric->caller), metric->function->owner, before, true, takes_both, is_idle});
}

void Trace::look_at_sides(Id loss, const ir::Op& op, const Frame& frame) {
  if (frame.function->is_library || op.operands.size() < 2) return;
  look_at_rows_of_sides(use(op.operands[0], frame), use(op.operands[1], frame), user_span(op, frame),
                        std::string(library::info(loss).name));
  const auto are_same = [&](size_t i, size_t k) {
    const Value &left = use(op.operands[i], frame), &right = use(op.operands[k], frame);
    const bool is_one = op.operands[i] == op.operands[k] || (left.identity != 0 && left.identity == right.identity);
    return is_one && left.varies;
  };
  const bool are_three = loss == Id::TripletLoss && op.operands.size() > 2;
  const char* same = are_same(0, 1)                ? (are_three ? "anchor and positive" : "both sides")
                     : are_three && are_same(1, 2) ? "positive and negative"
                     : are_three && are_same(0, 2) ? "anchor and negative"
                                                   : nullptr;
  if (same != nullptr) {
    findings.sides.push_back({user_span(op, frame), loss, same, "", call_with_same(frame)});
    return;
  }
  // Two distributions may be compared either way; what is true or not has its place.
  const library::Function& taker = library::info(loss);
  const bool has_places = taker.takes_scores() || taker.takes_probs || taker.signs_at == 1 || loss == Id::PoissonLoss;
  if (!has_places) return;
  const Value &predicted = use(op.operands[0], frame), &wanted = use(op.operands[1], frame);
  const bool is_known = !predicted.is_unknown && predicted.varies && predicted.paths.empty() && predicted.cuts.empty();
  if (is_known && !wanted.paths.empty()) findings.sides.push_back({user_span(op, frame), loss, ""});
}

Span Trace::call_with_same(const Frame& frame) const {
  if (frame.site == nullptr) return {};
  const std::vector<ir::ValueId>& params = frame.function->body.params;
  for (size_t i = 0; i < params.size(); ++i) {
    for (size_t k = i + 1; k < params.size(); ++k) {
      const Value &one = use(params[i], frame), &other = use(params[k], frame);
      if (one.varies && one.identity != 0 && one.identity == other.identity)
        return user_span(*frame.site, *frame.caller);
    }
  }
  return {};
}

void Trace::look_at_sides(const ir::Op& op, const ir::Function& update, const Frame& frame) {
  constexpr size_t kFirst = 1;  // behind the metric
  if (frame.function->is_library || !update.is_library || op.operands.size() != kFirst + 2) return;
  const Value &left = use(op.operands[kFirst], frame), &right = use(op.operands[kFirst + 1], frame);
  look_at_rows_of_sides(left, right, user_span(op, frame), std::string(update.owner));
  const bool is_one = op.operands[kFirst] == op.operands[kFirst + 1] ||
                      (left.identity != 0 && left.identity == right.identity && !left.is_unknown);
  // `accuracy(z, z.argmax(1))`: the target is what is predicted.
  const uint64_t order = left.order_of != 0 ? left.order_of : left.identity;
  const bool is_choice = order != 0 && order == right.order_of && !left.is_unknown;
  if (is_one || is_choice)
    findings.sides.push_back({user_span(op, frame), Id::None, "both sides", std::string(update.owner)});
}

// Who adds a name to itself means twice its value.
void Trace::look_at_terms(const ir::Op& op, const Frame& frame) {
  if (frame.function->is_library || op.operands[0] == op.operands[1]) return;
  const Value &left = use(op.operands[0], frame), &right = use(op.operands[1], frame);
  const bool is_one = left.identity != 0 && left.identity == right.identity;
  if (!is_one || left.loss == Id::None || right.loss == Id::None || left.paths.empty()) return;
  findings.sides.push_back({user_span(op, frame), left.loss, "both terms"});
}

// All that a step is given begins with the axis of its samples; what it calls has a name of its own for their number.
bool Trace::is_batch(ir::DimId dim, const Frame& frame) const {
  const ir::Function& function = *frame.function;
  if (module_.dims[dim].kind != ir::Dim::Kind::Name) return false;
  if (frame.site == nullptr) {
    size_t tensors = 0;
    for (const ir::ValueId param : function.body.params) {
      const ir::Type& type = function.values[param].type;
      if (!type.is_tensor()) continue;
      if (type.dims.empty() || type.dims[0] != dim) return false;
      ++tensors;
    }
    return function.role == ir::Role::Step && tensors > 0;
  }
  const ir::Op& site = *frame.site;
  const bool is_call = site.kind == OpKind::CallFn || site.kind == OpKind::CallMethod;
  if (!is_call || site.operands.size() != function.body.params.size()) return false;
  for (size_t i = 0; i < site.operands.size(); ++i) {
    const ir::Type& type = function.values[function.body.params[i]].type;
    const ir::Type& given = frame.caller->function->values[site.operands[i]].type;
    if (!type.is_tensor() || !given.is_tensor() || type.dims.size() != given.dims.size()) continue;
    const auto at = std::ranges::find(type.dims, dim);
    if (at != type.dims.end()) return is_batch(given.dims[size_t(at - type.dims.begin())], *frame.caller);
  }
  return false;
}

// One number of an axis is meant where its size is written as 1. Samples are compared with each other on purpose where both axes are
// samples, and where each has one number, its share.
void Trace::look_at_axis(const ir::Op& op, const Frame& frame) {
  if ((op.function != Id::Softmax && op.function != Id::LogSoftmax) || op.operands.size() < 2) return;
  if (frame.function->is_library) return;
  const std::vector<ir::DimId>& dims = frame.function->values[op.operands[0]].type.dims;
  const auto& constant = use(op.operands[1], frame).constant;
  const int64_t* axis = constant ? std::get_if<int64_t>(&*constant) : nullptr;
  if (axis == nullptr || dims.empty()) return;
  const int64_t rank = int64_t(dims.size()), at = *axis < 0 ? *axis + rank : *axis;
  const bool is_whole = module_.dims[dims[0]].kind != ir::Dim::Kind::Leading;
  if (at >= 0 && at < rank && (is_whole || *axis < 0) && module_.dims.constant(dims[size_t(at)]) == 1) {
    findings.single_axes.push_back({user_span(op, frame), op.function});
    return;
  }
  const uint64_t scores = use(op.operands[0], frame).identity;
  if (is_whole && rank > 2 && at != 1 && scores != 0)
    findings.other_axes.push_back({written_span(op, 1, frame), op.function, *axis, scores});
  if (dims.size() < 2 || (*axis != 0 && *axis != -int64_t(dims.size()))) return;
  for (size_t i = 1; i < dims.size(); ++i) {
    if (module_.dims[dims[i]].kind == ir::Dim::Kind::Leading || is_made_of(dims[i], dims[0], module_.dims)) return;
  }
  const bool is_share =
      std::all_of(dims.begin() + 1, dims.end(), [&](ir::DimId dim) { return module_.dims.constant(dim) == 1; });
  if (is_share || !is_batch(dims[0], frame)) return;
  findings.mixed_samples.push_back({written_span(op, 1, frame), op.function, to_text(dims[0], module_.dims)});
}

// A loss takes each of these for another thing than what it is given, and says nothing.
void Trace::look_at_kinds(Id loss, const ir::Op& op, const Frame& frame) {
  if (frame.function->is_library) return;
  const size_t signs_at = library::info(loss).signs_at;
  if (signs_at != 0 && signs_at < op.operands.size() && use(op.operands[signs_at], frame).is_zero_or_one)
    findings.no_signs.push_back({written_span(op, signs_at, frame), loss});
  constexpr size_t kVariance = 2;  // of `gaussian_nll(x, target, variance, …)`
  if (loss == Id::GaussianLoss && op.operands.size() > kVariance) {
    const Activation& given = use(op.operands[kVariance], frame).activation;
    if (library::info(given.function).gives_scores)
      findings.misfits.push_back({written_span(op, kVariance, frame), loss, given});
  }
  constexpr size_t kLogInput = 3;  // of `poisson_nll(x, target, reduction, log_input, …)`
  if (loss == Id::PoissonLoss && op.operands.size() > kLogInput &&
      use(op.operands[kLogInput], frame).constant == ir::Constant(true)) {
    const Activation& given = use(op.operands[0], frame).activation;
    const library::Function& before = library::info(given.function);
    if ((before.spoils_scores && before.draws == Draws::Never) || leaves_no_scores(given.function, loss))
      findings.misfits.push_back({written_span(op, 0, frame), loss, given});
  }
}

// A threshold of 0 divides raw scores, and what only orders them takes any.
void Trace::look_at_scores(const ir::Op& op, const ir::Function& update, const Value& metric, const Frame& frame) {
  constexpr size_t kScores = 1;  // behind the metric
  if (frame.function->is_library || !update.is_library || op.operands.size() <= kScores) return;
  const Activation& given = use(op.operands[kScores], frame).activation;
  if (!library::info(given.function).gives_scores || metric.objects.size() != 1) return;
  const Object& object = heap_.objects[metric.objects[0]];
  const Known *logits = object.find("$logits"), *threshold = object.find("$threshold");
  const bool takes_probs = logits != nullptr && (*logits)->constant == ir::Constant(false);
  const bool has_range =
      threshold != nullptr ? number_of(**threshold).value_or(0) > 0 : object.find("$bins") != nullptr;
  if (takes_probs && has_range)
    findings.misfits.push_back(
        {written_span(op, kScores, frame), Id::None, given, false, false, std::string(update.owner)});
}

void Trace::take_sign(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) const {
  if (library::is_loss(op.function)) {
    value.loss = op.function;
    value.is_of_target = operands.size() > 1 && operands[1]->is_of_input;
    value.is_of_given = value.is_of_target && operands[1]->paths.empty() && operands[1]->cuts.empty();
  }
  if (operands.empty()) return;
  const auto take = [&](size_t i) {
    value.loss = operands[i]->loss;
    value.is_of_target = operands[i]->is_of_target;
    value.is_of_given = operands[i]->is_of_given;
    value.is_each = operands[i]->is_each;
    value.negated = operands[i]->negated;
    value.negated_name = operands[i]->negated_name;
  };
  const auto turn = [&](size_t i) {
    if (value.loss == Id::None) return;
    value.negated_name = frame.function->values[op.operands[i]].name;
    value.negated = value.negated ? std::nullopt : std::optional(user_span(op, frame));
  };
  const library::Function& function = library::info(op.function);
  if (function.rearranges || op.function == Id::Mean || op.function == Id::Sum) take(0);
  if (op.function == Id::Mean || op.function == Id::Sum) value.is_each = false;
  if (op.function == Id::Neg) {
    take(0);
    turn(0);
  }
  if (op.function == Id::Add && operands.size() == 2) {
    const bool is_first = operands[0]->loss != Id::None, is_second = operands[1]->loss != Id::None;
    const bool are_alike = operands[0]->negated.has_value() == operands[1]->negated.has_value();
    // Beside a loss that is added as it is, all that is added is a cost.
    if (are_alike && (is_first || is_second)) take(is_first ? 0 : 1);
    if (!are_alike) {
      const size_t turned = operands[0]->negated ? 0 : 1;
      if (is_loss_beside(*operands[turned], *operands[1 - turned])) take(turned);
    }
  }
  // Two losses of one kind may be held against each other, near ones against far ones; what keeps outputs from a constant is none
  // of the batch.
  if (op.function == Id::Sub && operands.size() == 2 && operands[0]->loss != operands[1]->loss) {
    // `1 - dice(…)` of what is a loss already.
    const bool is_rest = number_of(*operands[0]).has_value() && operands[1]->is_of_target;
    if ((is_loss_beside(*operands[1], *operands[0]) || is_rest) && !operands[0]->negated && !operands[1]->negated) {
      take(1);
      turn(1);
      value.negated = written_span(op, 1, frame);
    }
  }
  if ((op.function != Id::Mul && op.function != Id::Div) || operands.size() != 2) return;
  for (size_t i = 0; i < 2; ++i) {
    const Value& factor = *operands[1 - i];
    if (operands[i]->loss == Id::None || frame.function->values[op.operands[1 - i]].type.is_tensor()) continue;
    if (op.function == Id::Div && i == 1) continue;
    take(i);
    if (number_of(factor).value_or(0) < 0) turn(i);
  }
}

}  // namespace ltr::training_logic
