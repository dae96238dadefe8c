#pragma once

// One function for each family of rules; `training_logic.cpp` says what is followed before.

#include "codegen/ir/tables.h"
#include "codegen/training_logic/findings.h"
#include "dsl/check/typed.h"
#include "dsl/diagnostics/sink.h"

namespace ltr::training_logic {

using diagnostics::Sink;

/// Whether a group of an optimizer takes a weight, by its name, whole or from where it was asked for, or its kind: `@1d`.
/// Of one that stands for those of a list of unknown length: whether it may take some, or `surely` all.
bool takes(const std::string& pattern, const WeightUse& use, const Heap& heap, bool surely = false);

/// Whether a weight lies at the place `path` or below it, or a group of that pattern would take it.
bool lies_at(const std::string& path, const WeightUse& use, const Heap& heap, bool surely = false);
/// E0433: a pattern that takes nothing; `before` is a group in front that takes what it matches.
void report_unmatched(const Pattern& pattern, const std::string* before, const Heap& heap, Sink& sink);

/// A model of the program, built, with its steps followed.
struct ModelTrace {
  const ir::ObjectInfo& info;
  ObjectId object = 0;
  std::vector<const ir::Function*> steps;  ///< in order of declaration
  bool has_error = false;                  ///< some code of it could not be checked
  bool train_has_error = false;
};

/// E0401 in a train step that updates nothing.
void check_train_step(const ir::Module& module, const ModelTrace& model, Sink& sink);
/// Whether the loss of some update reaches weights of another optimizer than the one it names, and none of that one: E0403 says
/// so, and what else comes of it is no mistake of its own.
bool names_wrong_optimizer(const Findings& findings, const Heap& heap);
/// E0403, E0424, W0401: the loss of each update reaches the weights that it should change.
void check_reach(const Findings& findings, const Heap& heap, Sink& sink);
/// E0406: no update rests on weights that were updated in between.
void check_stale_values(const Findings& findings, const Heap& heap, Sink& sink);
/// E0441, W0412 and W0435: calls of optimizers that find no gradients, gradients that nobody asked for, and some that are clipped
/// for nothing.
void check_gradients(const Findings& findings, const Heap& heap, Sink& sink);
/// E0405: no weight has two optimizers.
void check_second_owners(const Findings& findings, const Heap& heap, Sink& sink);
/// E0309: Muon owns matrices alone.
void check_matrices(const ModelTrace& model, const Findings& findings, const Heap& heap, Sink& sink);
/// W0439: of a list whose length only a run knows one element that has an optimizer, and no other.
void check_elements(const Object& object, const Heap& heap, Sink& sink);
/// E0404, E0407, W0407, W0408: every weight of a model that trains has an optimizer, every optimizer is used, and a loss reaches
/// what it owns; what a list of layers holds is read.
void check_ownership(const ModelTrace& model, const Findings& findings, const Heap& heap, Sink& sink);
/// E0433, W0311: patterns of `init` and of groups match some weight, and what an `init` sets stays.
void check_patterns(const Findings& findings, const Heap& heap, Sink& sink);
/// E0433, E0309: what callbacks of experiments name is there; what they hold back is held once, and is not all. `experiment`:
/// that one alone.
void check_held(const ModelTrace& model, const check::Program& program, const Span* experiment, const Heap& heap,
                Sink& sink);
/// E0410, W0404, W0406: no activation before what applies one itself, logarithms and probabilities before what takes them.
/// W0426: no mean of a divergence over all numbers.
void check_activations(const Findings& findings, Sink& sink);
/// W0420: no activation over the axis of the samples, and no number of all of them that meets each. W0431, W0432, W0440: soft-max
/// over the axis of the classes, of which there are several, or over the one that a product sums over.
void check_samples(const Findings& findings, Sink& sink);
/// W0424, W0425, W0430: masks are true where they should be and hide what they should, and fields choose no rows of a batch.
void check_records(const Findings& findings, Sink& sink);
/// W0437, W0438: noise is drawn for each record, and what scales it is a deviation.
void check_noise(const Findings& findings, Sink& sink);
/// W0442: no loss is a sum over the records of a batch and a mean over what one record has.
void check_totals(const Findings& findings, Sink& sink);
/// W0423: a loss of the library is made small.
void check_signs(const Findings& findings, const Heap& heap, Sink& sink);
/// W0434: a loss that takes signs is given signs.
void check_kinds(const Findings& findings, Sink& sink);
/// W0414, W0415, E0303: a loss compares what is predicted with what is wanted, row by row.
void check_sides(const Findings& findings, Sink& sink);
/// W0417: what `ema_update` follows is moved.
void check_followed(const Findings& findings, const Heap& heap, Sink& sink);
/// E0438: weights follow, by `ema_update`, weights of the same shapes.
void check_averages(const Findings& findings, Sink& sink);
/// E0425: evaluation draws no random numbers.
void check_evaluation(const Findings& findings, Sink& sink);
/// E0421: each role has metric objects of its own.
void check_metrics(const Findings& findings, Sink& sink);

}  // namespace ltr::training_logic
