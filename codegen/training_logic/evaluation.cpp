#include <algorithm>

#include "codegen/training_logic/rules.h"

namespace ltr::training_logic {

namespace {

std::string name_of(const ir::Function& step) { return step.name.substr(step.name.rfind('.') + 1); }

/// `step test = val` is a copy with metric objects of its own.
bool is_copy(const ir::Function& left, const ir::Function& right) {
  if (left.body.ops.size() != right.body.ops.size() || left.body.ops.empty()) return false;
  return left.body.ops[0].loc.span == right.body.ops[0].loc.span;
}

/// What takes the numbers of another kind than soft-max and sigmoid give: metrics, variances, rates.
std::optional<diagnostics::Diagnostic> other_misfit_of(const Misfit& misfit) {
  const std::string taken(library::info(misfit.taker).name), name(library::info(misfit.given.function).name);
  std::optional<diagnostics::Diagnostic> diagnostic;
  if (!misfit.metric.empty()) {
    diagnostic = diag::no_probability(misfit.span, misfit.metric, name);
    diagnostic->note("with `logits = false` it applies nothing to what it is given")
        .help("take `logits = false` away, or give it probabilities");
  } else if (misfit.taker == library::Id::GaussianLoss) {
    diagnostic = diag::no_variance(misfit.span, taken, name);
    diagnostic->note("a variance below 0 makes the loss nan")
        .help("of the logarithm of a variance it is `exp(…)`, and of any number `softplus(…)`");
  } else if (misfit.taker == library::Id::PoissonLoss &&
             library::info(misfit.given.function).draws == library::Draws::Never &&
             !library::info(misfit.given.function).gives_probs) {
    diagnostic = diag::spoilt_scores(misfit.span, taken, name);
    diagnostic->note("it takes the logarithm of a rate, which is below 0 where the rate is below 1")
        .help("`log_input = false` where it is the rate itself, or the values before `{}`", name);
  } else {
    return std::nullopt;
  }
  diagnostic->label(misfit.given.span, "`{}` here", name);
  return diagnostic;
}

diagnostics::Diagnostic misfit_of(const Misfit& misfit, const Findings& findings) {
  if (auto other = other_misfit_of(misfit)) return std::move(*other);
  const library::Function &taker = library::info(misfit.taker), &given = library::info(misfit.given.function);
  const std::string taken(taker.name), name(given.name);
  const bool takes_scores = taker.takes_scores() && !misfit.is_wanted;
  const bool is_masked = given.draws == library::Draws::InTraining, is_hidden = misfit.taker == library::Id::MaskedFill;
  diagnostics::Diagnostic diagnostic =
      takes_scores || is_masked || is_hidden  ? diag::spoilt_scores(misfit.span, taken, name)
      : taker.takes_logs && !misfit.is_wanted ? diag::no_logarithm(misfit.span, taken, name)
                                              : diag::no_probability(misfit.span, taken, name);
  diagnostic.label(misfit.given.span, "`{}` here", name);
  if (is_hidden) {
    diagnostic.note("a probability below 0 is none, and the others do not add up to 1")
        .help("scores are hidden in front of it: `{}(scores.{}(…))`", name, taken);
    return diagnostic;
  }
  if (takes_scores || is_masked) {
    const bool is_within = given.bounds == library::Bounds::Within;
    diagnostic
        .note("{}", is_masked   ? "in training it sets some of them to 0, whatever they say"
                    : is_within ? "scores between -1 and 1 say next to nothing, and the loss stays far from 0"
                                : "a score below 0 says no, and none is left")
        .help("give it what the last layer gives, without `{}`", name);
    return diagnostic;
  }
  if (misfit.is_wanted && misfit.are_exchanged) {
    diagnostic.help("the two are exchanged: `{}({}(…), …)`, what is trained first", taken, name);
  } else if (misfit.is_wanted) {
    diagnostic
        .note("{}", taker.takes_logs ? "only the first argument of `" + taken + "` are logarithms"
                                     : "the second argument of `" + taken + "` are probabilities")
        .help("{}", misfit.given.function == library::Id::LogSoftmax ? "`softmax` in the place of `log_softmax`"
                                                                     : "`softmax` between them");
  } else if (misfit.are_exchanged && misfit.taker == library::Id::KlDiv &&
             misfit.given.function == library::Id::Softmax) {
    diagnostic.help("the two are exchanged: `{}(log_softmax(…), softmax(…))`, what is trained first", taken);
  } else if (misfit.given.function == library::Id::LogSoftmax) {
    diagnostic.help("`softmax` in the place of `log_softmax`");
  } else if (misfit.taker == library::Id::Sample) {
    diagnostic.help("`softmax` between them: `sample(softmax(…, -1))`");
  } else if (taker.takes_probs && findings.class_scores.contains(misfit.given.span)) {
    diagnostic.help(
        "they are scores of classes, as `cross_entropy` takes them: `softmax(…, 1)`, of one class `softmax(…, 1)[:, "
        "1]`");
  } else if (taker.takes_probs) {
    diagnostic.help("`sigmoid` between them{}",
                    misfit.taker == library::Id::Bce ? ", or `bce_with_logits` of the scores themselves" : "");
  } else if (misfit.given.function == library::Id::Sigmoid) {
    diagnostic.help("`logsigmoid` in the place of `sigmoid`{}",
                    misfit.taker == library::Id::Nll ? ", or `cross_entropy` of the scores themselves" : "");
  } else {
    diagnostic.help("`log_softmax` {}{}", given.gives_probs ? "in the place of `softmax`" : "between them",
                    misfit.taker == library::Id::Nll ? ", or `cross_entropy` of the scores themselves" : "");
  }
  return diagnostic;
}

/// Whether it was said already that something takes what this activation gives: of another model, or of what nothing calls.
bool is_told(const Activation& activation, const Sink& sink) {
  return std::ranges::any_of(sink.reported(), [&](const diagnostics::Diagnostic& one) {
    return one.code == diagnostics::Code::E0410 && !one.labels.empty() && one.labels[0].span == activation.span;
  });
}

}  // namespace

void check_activations(const Findings& findings, Sink& sink) {
  // One activation that several take, at the end of a chain, is one mistake.
  std::map<Span, diagnostics::Diagnostic> found;
  std::set<Span> seen;
  for (const Doubled& doubled : findings.doubled) {
    if (!seen.insert(doubled.span).second) continue;  // `step test = val` takes it where `val` does.
    if (is_told(doubled.activation, sink)) continue;
    if (const auto told = found.find(doubled.activation.span); told != found.end()) {
      told->second.label(doubled.span, "`{}` takes it, too", doubled.taker);
      continue;
    }
    const std::string_view name = library::info(doubled.activation.function).name;
    diagnostics::Diagnostic diagnostic = diag::double_activation(doubled.span, doubled.taker, std::string(name));
    diagnostic.label(doubled.activation.span, "`{}` here", name);
    const std::string twice = doubled.is_idle     ? "of logarithms of probabilities it makes the same ones"
                              : doubled.is_metric ? "twice measures something else"
                                                  : "twice makes gradients vanish";
    const std::string other = doubled.takes_both ? ", or declare it with `logits = false`" : "";
    diagnostic.note("`{}` applies it itself; {}", doubled.taker, twice)
        .help("give it the values before `{}`{}", name, other);
    found.emplace(doubled.activation.span, std::move(diagnostic));
  }
  for (auto& [place, diagnostic] : found) sink.report(std::move(diagnostic));
  std::map<std::pair<Span, library::Id>, diagnostics::Diagnostic> misfits;
  for (const Misfit& one : findings.misfits) {
    if (!seen.insert(one.span).second) continue;
    // A layer is no mistake where its scores are not wanted, and an activation behind the last one is.
    const bool is_masked = library::info(one.given.function).draws == library::Draws::InTraining;
    const bool is_of_scores = (library::info(one.taker).takes_scores() && !one.is_wanted) ||
                              one.taker == library::Id::PoissonLoss || one.taker == library::Id::GaussianLoss;
    const bool is_activation = library::info(one.given.function).gives_probs;
    const Span place = is_of_scores || is_masked || is_activation ? one.given.span : one.span;
    const library::Id taker = is_masked ? library::Id::None : one.taker;
    const auto [told, is_new] = misfits.try_emplace({place, taker}, misfit_of(one, findings));
    if (!is_new)
      told->second.label(one.span, "`{}` takes it, too",
                         one.metric.empty() ? std::string(library::info(one.taker).name) : one.metric);
  }
  for (auto& [place, diagnostic] : misfits) sink.report(std::move(diagnostic));
  for (const Span& span : findings.mean_divergences) {
    if (!seen.insert(span).second) continue;
    sink.report(diag::mean_divergence(span)
                    .note("it is smaller than the divergence by as many times as there are classes")
                    .help("`reduction = batchmean`, which it is where nothing is said"));
  }
}

void check_samples(const Findings& findings, Sink& sink) {
  std::set<Span> seen;
  for (const MixedSamples& one : findings.mixed_samples) {
    if (!seen.insert(one.span).second) continue;
    const std::string name(library::info(one.function).name);
    diagnostics::Diagnostic diagnostic = diag::mixed_samples(one.span, name, one.size);
    switch (one.of) {
      case MixedSamples::Of::Each:
        diagnostic.note("what it gives for one sample hangs on the others, and not on it alone")
            .help("the classes are an axis behind the samples: `{}(x, 1)`, or the last one, `-1`", name);
        break;
      case MixedSamples::Of::OneNumber:
        diagnostic.note("without an axis it is one number of the whole batch, and each sample meets it")
            .help("of each sample by itself: `{}(1)`, or `{}(1, keepdim = true)`", name, name);
        break;
      case MixedSamples::Of::Columns:
        diagnostic.note("each sample meets it, and what is predicted of one hangs on the others, in evaluation, too")
            .help(
                "`BatchNorm1d` evaluates with what it has seen in training; of each sample by itself it is "
                "`{}(1, keepdim = true)`",
                name);
        break;
    }
    sink.report(std::move(diagnostic));
  }
  for (const OddAxis& one : findings.single_axes) {
    if (!seen.insert(one.span).second) continue;
    const std::string name(library::info(one.function).name);
    const bool is_softmax = one.function == library::Id::Softmax;
    sink.report(diag::always_one(one.span, name, is_softmax ? "1" : "0")
                    .note("it is a share of one number in itself")
                    .help("one score for yes or no takes `{}`", is_softmax ? "sigmoid" : "logsigmoid"));
  }
  for (const UnsummedAxis& one : findings.unsummed_axes) {
    if (!seen.insert(one.span).second) continue;
    const std::string name(library::info(library::Id::Softmax).name);
    sink.report(diag::unsummed_axis(one.span, name, std::to_string(one.axis))
                    .label(one.product, "this product sums over the last axis of it")
                    .note("what is added up there has weights that do not make 1")
                    .help("`{}(x, -1)`", name));
  }
  for (const OddAxis& one : findings.other_axes) {
    const auto classes = findings.classes_first.find(one.scores);
    if (classes == findings.classes_first.end() || !seen.insert(one.span).second) continue;
    const std::string name(library::info(one.function).name);
    sink.report(diag::other_axis(one.span, name, std::to_string(one.axis))
                    .label(classes->second, "`cross_entropy` takes axis 1 of them for the classes")
                    .help("`{}(x, 1)`", name));
  }
}

void check_noise(const Findings& findings, Sink& sink) {
  std::set<Span> seen;
  for (const SharedNoise& one : findings.shared_noises) {
    if (!seen.insert(one.span).second) continue;
    const std::string name(library::info(one.function).name);
    diagnostics::Diagnostic diagnostic = diag::shared_noise(one.span, name, one.size);
    diagnostic.label(one.meets, "each record meets it here");
    if (one.function == library::Id::Bernoulli)
      diagnostic.help("of each record its own, in the shape `[{}, {}]`", one.size, one.shape);
    else
      diagnostic.help("of each record its own: `{}({}, {})`", name, one.size, one.shape);
    sink.report(std::move(diagnostic));
  }
  for (const ScaledNoise& one : findings.scaled_noises) {
    const auto divergence = findings.log_variances.find(one.scale);
    if (divergence == findings.log_variances.end() || !seen.insert(one.span).second) continue;
    const std::string name = one.name.empty() ? "x" : one.name;
    sink.report(diag::no_deviation(one.span, one.is_exp ? "a variance" : "the logarithm of a variance")
                    .label(divergence->second, "in this divergence it is the logarithm of one")
                    .help("the deviation is its root: `exp(0.5 * {})`", name));
  }
}

void check_totals(const Findings& findings, Sink& sink) {
  std::set<Span> seen;
  for (const RecordSum& one : findings.record_sums) {
    if (!seen.insert(one.span).second) continue;
    const std::string axes = one.rank == 2 ? "`sum(1)`" : "`sum` over the axes behind the first one";
    sink.report(diag::sum_of_records(one.span, one.size)
                    .note("the mean of it is over what one record has, and the loss hangs on the size of a batch")
                    .help("{} is of each record by itself, and the mean is over the records", axes));
  }
}

namespace {

diagnostics::Diagnostic turned_mask_of(const TurnedMask& one) {
  const bool is_of_padding = one.taker.ends_with("key_padding_mask");
  const bool is_added = one.taker == "+", hides = is_of_padding || is_added || one.hides || one.taker == "masked_fill";
  const std::string wanted = is_added ? "what is added to scores hides them where it is far below 0"
                                      : "`" + one.taker + "` " +
                                            (is_of_padding          ? "is true where rows are filled up"
                                             : hides                ? "hides where its mask is true"
                                             : one.taker == "where" ? "keeps the scores where its mask is true"
                                                                    : "is true where attention looks");
  const char* is_true = one.places == Places::Before  ? "at the places that come before"
                        : one.places == Places::After ? "at the places that come after"
                        : hides                       ? "at their own places"
                                                      : "where they are filled up";
  diagnostics::Diagnostic diagnostic = diag::turned_mask(one.span, wanted, is_true);
  if (is_added) return std::move(diagnostic.help("turn the mask round: `(1 - mask) * -1e9`"));
  if (one.places != Places::Before && one.places != Places::After)
    return std::move(diagnostic.help("turn it round with `not`"));
  return std::move(diagnostic.help(
      "a place sees what comes before, and itself: `arange(S).unsqueeze(1) >= arange(S).unsqueeze(0)`{}",
      hides ? "; `not` of it is hidden" : ""));
}

diagnostics::Diagnostic picked_rows_of(const PickedRows& one) {
  switch (one.by) {
    case PickedRows::By::Field:
      return diag::picked_rows(one.span, "some", one.size, " by what a field says")
          .note("a field is made for one record, and knows nothing of the others of its batch");
    case PickedRows::By::Places:
      return diag::picked_rows(one.span, "some", one.size, " by places of another axis")
          .note("`argmax` names a place of the axis that it goes along, and no record");
    case PickedRows::By::Each:
      return diag::picked_rows(one.span, "of each", one.size, " what all of them name")
          .note("an index of an axis takes the same places of every row");
    case PickedRows::By::OneRow:
      return diag::picked_rows(one.span, "the first", one.size, " alone")
          .note("an index of one row looks at one row, and names places in it");
  }
  return diag::picked_rows(one.span, "some", one.size, "");
}

}  // namespace

void check_records(const Findings& findings, Sink& sink) {
  std::set<Span> seen;
  for (const TurnedMask& one : findings.turned_masks) {
    if (seen.insert(one.span).second) sink.report(turned_mask_of(one));
  }
  for (const ShownScores& one : findings.shown_scores) {
    if (!seen.insert(one.span).second) continue;
    diagnostics::Diagnostic diagnostic = diag::hides_nothing(one.span, one.what);
    if (one.is_mask)
      diagnostic.note("numbers are added to the scores")
          .help("a `mask` of bool is true where attention looks: `mask > 0`");
    else
      diagnostic.note("it takes `exp` of each, and 0 is a score as any other")
          .help("what is far below all scores is hidden: `-1e9`");
    sink.report(std::move(diagnostic));
  }
  for (const PickedRows& one : findings.picked_rows) {
    if (!seen.insert(one.span).second) continue;
    sink.report(
        picked_rows_of(one).help("of each row the element that it names: `x.gather(1, i.unsqueeze(1)).squeeze(1)`"));
  }
}

void check_signs(const Findings& findings, const Heap& heap, Sink& sink) {
  std::set<Span> seen;
  for (const Update& one : findings.updates) {
    const Value& loss = one.loss;
    if (loss.loss == library::Id::None || loss.is_unknown || loss.paths.empty()) continue;
    const OwnerId owner = loss.paths.begin()->first.to.owner;
    const std::optional<Span>& maximize = heap.owners[owner].maximize;
    if (maximize ? loss.negated || !loss.is_of_target : !loss.negated) continue;
    // Who makes large what others make small, through weights that stay as they are here, means it.
    const bool is_against =
        owner == 0 || (one.owner != 0 && one.owner != owner) ||
        std::ranges::any_of(loss.paths, [&](const auto& path) { return path.first.to.owner != owner; }) ||
        std::ranges::any_of(loss.cuts, [](const auto& cut) {
          return cut.second.is_meant && cut.second.by != "`no_grad`" && cut.second.by != "`stop_grad`";
        });
    const Span place = maximize ? *maximize : *loss.negated;
    if (is_against || heap.owners[owner].is_unknown || !seen.insert(place).second) continue;
    const std::string name(library::info(loss.loss).name);
    const std::string shown = maximize || loss.negated_name.empty() ? name : loss.negated_name;
    diagnostics::Diagnostic diagnostic = diag::maximized_loss(place, shown);
    if (place != one.loss_span) diagnostic.label(one.loss_span, "{} here", maximize ? "given to it" : "minimized");
    sink.report(std::move(diagnostic.note("`{}` is small where what is predicted is near to what is wanted", name)
                              .help("take it without {}", maximize ? "`maximize`" : "the minus")));
  }
}

void check_kinds(const Findings& findings, Sink& sink) {
  std::set<Span> seen;
  for (const NoSigns& one : findings.no_signs) {
    if (!seen.insert(one.span).second) continue;
    sink.report(diag::no_signs(one.span, std::string(library::info(one.loss).name))
                    .help("of `y` that is 0 or 1 it is `2 * y - 1`"));
  }
}

void check_sides(const Findings& findings, Sink& sink) {
  std::set<Span> seen;
  for (const OtherRows& one : findings.other_rows) {
    if (!seen.insert(one.span).second) continue;
    sink.report(diag::dims_differ(one.span, "the rows of what `" + one.taker + "` compares go along " + one.predicted +
                                                " and along " + one.wanted)
                    .note("there are equally many, in another order: each is compared with the target of another")
                    .help("join the same axes of both in the same order"));
  }
  for (const Sides& one : findings.sides) {
    if (!seen.insert(one.span).second) continue;
    const std::string loss(one.metric.empty() ? std::string(library::info(one.loss).name) : one.metric);
    if (one.same == "both terms") {
      sink.report(
          diag::compared_to_itself(one.span, one.same, "+").note("`{}` of the same values is computed twice", loss));
    } else if (!one.same.empty()) {
      diagnostics::Diagnostic diagnostic = diag::compared_to_itself(one.span, one.same, loss);
      if (!one.call.is_empty()) diagnostic.label(one.call, "given to it here");
      sink.report(std::move(diagnostic.note("it says nothing about what is wanted")));
    } else {
      sink.report(
          diag::exchanged_sides(one.span, loss).help("what is predicted stands first: `{}(predicted, wanted)`", loss));
    }
  }
}

void check_followed(const Findings& findings, const Heap& heap, Sink& sink) {
  std::set<Span> seen;
  for (const Followed& one : findings.followed) {
    const auto stays = [&](const WeightUse& use) {
      const Weight& weight = heap.weights[use.weight];
      return weight.owner == 0 && !weight.is_averaged && weight.is_sure;
    };
    const bool stay = !one.weights.empty() && std::all_of(one.weights.begin(), one.weights.end(), stays);
    if (!stay || !seen.insert(one.span).second) continue;
    const std::string& path = one.weights.front().scope.path;
    const bool is_unowned = std::ranges::any_of(sink.reported(), [&](const diagnostics::Diagnostic& other) {
      return other.code == diagnostics::Code::E0404 && other.words[0] == path.substr(0, path.find(".*"));
    });
    if (is_unowned) continue;
    sink.report(diag::still_source(one.span, path.substr(0, path.find(".*")))
                    .note("no optimizer owns them, and they follow no others")
                    .help("first stands what follows: `ema_update(TEACHER, STUDENT, 0.999)`"));
  }
}

void check_averages(const Findings& findings, Sink& sink) {
  // A size that does not fit somewhere may be why.
  const auto is_of_sizes = [](const diagnostics::Diagnostic& one) {
    return one.code == diagnostics::Code::E0303 || one.code == diagnostics::Code::E0319;
  };
  if (std::ranges::any_of(sink.reported(), is_of_sizes)) return;
  std::set<Span> seen;
  for (const UnlikeAverage& one : findings.averages) {
    if (!seen.insert(one.span).second) continue;
    diagnostics::Diagnostic diagnostic = diag::averages_differ(one.span, one.why);
    if (one.is_held)
      diagnostic.note("what a `freeze` holds does not move, and is not among the weights of a block")
          .help("both hold the same parts, or none: `target = Net(8)` beside `net = Net(8)`");
    else
      diagnostic.help("the one that follows is built like the other: `target = Net(8)` beside `net = Net(8)`");
    sink.report(std::move(diagnostic));
  }
}

void check_evaluation(const Findings& findings, Sink& sink) {
  std::set<Span> seen;  // `step test = val` draws where `val` does.
  for (const Draw& draw : findings.draws) {
    if (!seen.insert(draw.span).second) continue;
    diagnostics::Diagnostic diagnostic = diag::random_evaluation(draw.span, draw.step);
    const bool is_in_one_place =
        draw.site.source == draw.span.source && source::join(draw.site, draw.span) == draw.site;
    if (!is_in_one_place && !draw.is_mask) diagnostic.label(draw.site, "meets what the step was given here");
    if (draw.is_mask) {
      diagnostic.note("a mask made by hand is not switched off in evaluation")
          .help("`dropout(x, p)` and `Dropout(p)` are the identity in evaluation");
    } else {
      diagnostic.note("what is measured of the inputs then hangs on the draw")
          .help("keep the numbers in a `buffer`, drawn once");
    }
    sink.report(std::move(diagnostic));
  }
}

void check_metrics(const Findings& findings, Sink& sink) {
  std::map<std::pair<ObjectId, std::string>, const MetricUse*> first;
  std::set<Span> seen;  // `step test = val` uses what `val` does.
  for (const MetricUse& use : findings.metrics) {
    const auto [place, is_new] = first.try_emplace({use.object, use.member}, &use);
    const MetricUse& before = *place->second;
    if (is_new || before.step == use.step || is_copy(*before.step, *use.step)) continue;
    if (!seen.insert(use.span).second) continue;
    const std::string step = name_of(*use.step);
    sink.report(diag::metric_shared(use.span, use.member, name_of(*before.step), step)
                    .label(before.span, "first here")
                    .help("declare a second one, `{}_{} = …`", step, use.member));
  }
}

}  // namespace ltr::training_logic
