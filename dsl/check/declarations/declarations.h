#pragma once

// Functions, blocks, models, data, metrics, callbacks, hparams, topologies, C++ and tests.

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

FnInfo& fn_of(Context& cx, const Symbol& symbol);
/// The declaration of a function of the library that is not named in the program.
FnInfo& fn_of(Context& cx, library::Id id);
ObjectInfo& object_of(Context& cx, const Symbol& symbol);
void check_body_of(Context& cx, FnInfo& fn);
/// `read_by`: the functions whose results may hang on them.
std::vector<ParamInfo> check_params(Context& cx, const std::vector<ast::Param>& params,
                                    const std::vector<const ast::Fn*>& read_by, Scope& scope);
/// Whether a size of what `fn` gives, or the int that it gives, hangs on `name`.
bool hangs_on(const ast::Fn& fn, const std::string& name);
std::vector<const ast::Fn*> functions_of(const std::vector<ast::Item>& items);
/// An int that a function of the library gives is a size where its params are.
void note_size(FnInfo& fn, const Stmt& given, Context& cx);
void read_signature(Context& cx, FnInfo& fn, Scope& scope);
/// E0313 or E0518 if `step predict` gives what has no row for each record.
void check_outputs(FnInfo& fn, Context& cx);
/// The signature of a function of data, which may mention what a `let` above its first use holds.
void read_late(Context& cx, FnInfo& fn);
void check_block_like(Context& cx, ObjectInfo& object, const ast::Decl& decl);
/// Whether a state of a metric is what can be joined over batches and ranks, by a rule that there is.
bool check_reduce(const ast::State& state, const Type& type, Context& cx);
/// The name in `reduce merge NAME` of the function that joins all states of `metric`, if what is declared of it fits them.
const ast::Name* check_merge_form(Context& cx, ObjectInfo& metric, Object& typed, const std::vector<ast::Item>& items);
/// Adds the call of that function to the functions of `typed`.
void check_merge(Context& cx, ObjectInfo& metric, Object& typed, const ast::Name& merge);
/// E0325, W0306: states that are joined by `sum` begin at 0, and updates add to them.
void check_sums(Context& cx, const ObjectInfo& metric, const Object& typed);
/// The function of a metric that `average = none` asks in place of `compute`.
inline constexpr const char* kComputeEach = "compute_each";
inline constexpr const char* kAverage = "average";
/// E0309, E0313 unless it is declared as it is asked. Adds the function that tells how many values the metric gives.
void check_values(Context& cx, ObjectInfo& metric, Object& typed);
/// Whether these arguments of `metric` are `average = none`; nothing, and E0309, if only a run knows.
std::optional<bool> gives_each(const ObjectInfo& metric, const std::vector<Expr>& args, Context& cx);
/// What a call of a metric of this type gives to `log`: its value, with the dims of that.
Type value_of_metric(const Type& metric, Context& cx);
void check_data_items(Context& cx, ObjectInfo& object, const ast::Data& data);
/// Those of the program's file, and those that it imports.
void check_topologies(Context& cx);
/// How many processes it has, if it says so itself: `cuda[8]` on `nodes = 2`.
std::optional<int64_t> ranks_of(const Topology& topology, const Context& cx);
/// E0607: its strategy and backend go with its devices.
void check_processes(const Topology& topology, Context& cx);
/// The topology that an experiment names, made one of the program.
void take_topology(Context& cx, const Symbol& symbol, Span use);
/// The params of a block, model, metric, data or callback as they are written.
const std::vector<ast::Param>& written_params(const ast::Decl& decl);
void check_test(Context& cx, const ast::Test& test, const ast::Decl& decl, uint32_t module);
/// W0302, W0407: what files of the program declare and nothing reads. Nothing where there is an error.
void check_unused_names(Context& cx);
/// W0309: tensors that blocks and models draw when they are built, and that are neither weights nor buffers.
void check_drawn_members(Context& cx);
/// W0419: gradients of values by what they are not computed from.
void check_independent_gradients(const Fn& fn, Context& cx);
/// The step of a trainer that the name of one like `training` or `vall` means, if the model has none of that name.
std::optional<std::string> step_meant_by(const FnInfo& step);
/// Of a function that nothing in the file uses, and that another library would call: says what it is here. False if it is none.
bool report_foreign_method(const ast::Fn& fn, const ObjectInfo& object, Context& cx);
/// The members of a part that could not be read: what they are nobody knows.
void take_lost_members(const ast::ErrorItem& lost, ObjectInfo& object);
/// Whether E0423 asks for `name` as that of a step which logs under another one.
bool is_told_of_steps(const ObjectInfo& model, const std::string& name);
/// W0402: steps of wired models that neither the trainer nor anything of the program calls.
void check_uncalled_steps(Context& cx);
/// What steps and all that they call must not do: `.item()` in a train step (E0317), methods of text, and
/// gradients in steps that evaluate (E0322).
void check_code_of_steps(Context& cx);
/// The `from` of a member, or nothing if it has a mistake.
std::optional<WeightSource> check_source(const ast::Member& member, const ExprView& value, Scope& scope);
/// The files of all `extern` blocks, one entry for each; types that C++ cannot be handed are reported.
void check_externs(Context& cx);
/// What the declaration of a C++ function does: calls it, and checks what it gives.
Body extern_body(const FnInfo& fn, Scope& scope);
/// Types whose values can stand on a command line.
bool is_setting_type(const Type& type);
/// Whether every program has an option of this name, `max_time` for `--max-time`.
bool is_option(std::string_view name);
/// Makes an hparam a setting of the program, once; null if its name is that of another one (E0310).
const Hparam* hparam_of(Context& cx, const Symbol& symbol);
/// Those of a file whose experiment the program takes: what it sets by itself can be set here.
void take_hparams(Context& cx, uint32_t module);
/// Makes sure that a declaration's members and bodies have been checked.
void complete(Context& cx, ObjectInfo& object);
ObjectInfo* find_object(Context& cx, Kind kind, DeclIndex index);

}  // namespace ltr::check
