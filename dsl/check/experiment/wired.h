#pragma once

// Host values as one experiment wires them, and the rules of E04 that look at settings.

#include <set>

#include "dsl/check/scope/context.h"
#include "dsl/check/scope/reported.h"

namespace ltr::check {

struct Scope;
struct Drawn;

/// An expression of a declaration, with the arguments of an experiment in place of its params and
/// `lets`, and hparams replaced by their default or by what `set` says.
struct Wired {
  Expr expr;
  Span given;                        ///< where the value comes from, if that is one place
  std::vector<std::string> hparams;  ///< whose values it rests on
};
Wired wire(const ExprView& expr, const Object& object, const ExprIds& arguments, const Experiment& experiment,
           Program& program);

/// The hparams whose rules rest on one of these, by their index.
std::set<size_t> rules_about(const std::vector<std::string>& hparams, const Program& program);

/// Whether a run of the experiment looks at this when it starts, and needs no data for it.
bool is_asked_at_start(const Obligation& obligation, const Experiment& experiment);

/// The setting of this name, or null.
const SettingValue* find_setting(const std::vector<SettingValue>& settings, const std::string& name);

/// Whether an epoch of some stream was found not to end: what a number of epochs is then, nobody knows.
bool is_endless(const Context& cx);

/// `note: `size` is 1 unless it is set`, for each hparam.
void note_hparams(diagnostics::Diagnostic& diagnostic, const Wired& wired, const Context& cx);

/// E0415 to E0417, E0429, E0430: what callbacks, schedules and a sweep watch is logged, has a value
/// while training, and is watched in the right direction. Where a callback that is listed could not be read, what nothing
/// logs may be of it.
void check_monitors(Context& cx, const Experiment& experiment, const ast::Section* sweep, bool lacks_callback);
/// E0411: two logs of one name in a step record one value.
void check_logged_names(Context& cx);
/// E0418: learning rates are above 0, as written and as experiments give them.
void check_learning_rates(Context& cx);
/// E0418 of one experiment, or of one of its trials, which is given `drawn`.
void check_given_rates(Context& cx, const Experiment& experiment, const Drawn* drawn = nullptr);
/// W0427: decays of averages that experiments give. Behind W0312.
void check_kept_averages(Context& cx);
/// E0319: what rests on hparams alone holds for the values that the experiments give them, or leave them.
void check_start_rules(Context& cx);
/// E0325, E0309: what optimizers, schedules, callbacks and loggers are given keeps to `runtime/tables`, as written and as
/// experiments give it.
void check_argument_ranges(Context& cx);
/// The same of one experiment, or of one of its trials, which is given `drawn`.
void check_given_ranges(Context& cx, const Experiment& experiment, const Drawn* drawn = nullptr);
/// `sweep { … }` as a call, its axes and settings by name; nothing after a report.
std::optional<Expr> check_sweep(const ast::Section& section, Scope& scope);
/// E0319: what a sweep gives its trials keeps the rules of the hparams, and those that a run looks at when it starts.
void check_sweep_rules(Context& cx);
/// E0418, E0325: nor is one of its values a rate or a setting that none may be. Behind `check_sweep_rules`.
void check_swept_values(Context& cx);
/// A field of the batch that a hook reads, `batch.x`.
struct FieldRead {
  std::string field;  ///< "" where a mistake may have been meant for one
  Span span;
};
std::vector<FieldRead> fields_read_by(const Fn& hook, const Program& program);
/// E0515: `batch.x` in the hooks of a listed callback is what the streams of their role deliver.
void check_hook_fields(Context& cx, const Experiment& experiment);
/// E0436: `optimizer` in the hooks around a backward pass of a listed callback, where a manual step runs it.
void check_hook_optimizers(Context& cx, const Experiment& experiment);
/// E0504, E0515, E0309: the streams and fields that a listed callback shows are there.
void check_shown(Context& cx, const Experiment& experiment);
/// E0313: what a choice is compared with is one of its values.
void check_compared_choices(Context& cx, const Experiment& experiment);
/// What an expression of a function stands for, behind conversions and names that have one value on every way.
ExprView behind_names(ExprId id, const Fn& fn, const Program& program);
/// What short records are filled up with, in one field of a batch.
struct Filling {
  std::optional<double> value;  ///< none where only a run knows it
  Span span;
};
/// That of `field`, by the `collate` that a stream of batches ends in; nothing if it fills no such field up.
std::optional<Filling> filling_of(const std::string& field, const ExprView& stream, const Program& program);
/// A number of up to six digits, without zeros at its end.
std::string short_text(double value);
/// W0520: a loss over classes passes over what `collate` fills its targets up with.
void check_counted_padding(Context& cx, const Experiment& experiment);
/// W0517: the row of a table that is kept for what `collate` fills up is the one that it fills up with.
void check_padding_rows(Context& cx, const Experiment& experiment);
/// Withdraws W0503 where the train step goes on from the state of the batch before.
void take_order_as_meant(Context& cx, const Experiment& experiment);
/// The function of the last `map` in front of the batches; null if another stage makes records.
const Fn* last_map(const ExprView& stream, const DataObject& data, const Program& program);
/// W0314: what a map has made of bytes is divided by 255 once more in a step.
void check_scaled_batches(Context& cx, const Experiment& experiment);
/// W0519: what is predicted is not given.
void check_known_targets(Context& cx, const Experiment& experiment);
/// E0608: what a topology divides or recomputes is in the model that it is for.
void check_divided_blocks(Context& cx, const Experiment& experiment);
/// E0519: a stream that drops what is less than a batch has a batch.
void check_no_batches(Context& cx, const Experiment& experiment);
/// E0427, E0428, W0410, W0416, W0421: schedules fit the length of training.
void check_schedules(Context& cx, const Experiment& experiment);
/// E0309, E0325, W0410: settings of the trainer that say the same, or end training before another lets it or is reached.
void check_settings_together(Context& cx, const Experiment& experiment);
/// W0429: settings of the trainer and of callbacks that say something of what does not happen.
void check_idle_settings(Context& cx, const Experiment& experiment);
/// E0319: the sizes that hooks of the callbacks `for` the model give its members are what the experiment gives the model.
void check_hook_sizes(const Experiment& experiment, Scope& scope);
/// The callbacks that are there without being listed.
void list_implied(Experiment& experiment, Scope& scope);
/// E0612: what a run has once is listed once, and two tables are two files. E0622: checkpoints lie in one folder.
void check_listed_twice(Context& cx, const Experiment& experiment);
/// How many values of `series` a run has at most, if the program says: one a round of validation, one an epoch of training.
std::optional<double> most_values(const std::string& series, const Experiment& experiment);
/// W0411: what callbacks record is of a kind that a listed logger takes.
void check_taken(Context& cx, const Experiment& experiment);
/// `Throughput` of tokens, where the batches hold none: E0309.
void check_counted_tokens(Context& cx, const Experiment& experiment);
/// E0621: the callbacks that are listed are for the model that is trained, or for any.
void check_callback_models(Context& cx, const Experiment& experiment);
/// E0431, E0432, E0511, E0513: windows of batches fit the step and the data.
void check_windows(Context& cx, const Experiment& experiment);
/// What the params of data and model must keep to whatever is given for them at start: what follows from the arguments
/// that stand in the program does not follow from `--set model.width=16`.
void add_setting_rules(Context& cx, Experiment& experiment);

/// How many records a train batch has, where the program alone tells.
struct TrainBatch {
  int64_t records = 0;
  Wired size;
};
std::optional<TrainBatch> find_train_batch(Program& program, const Experiment& experiment);

}  // namespace ltr::check
