#pragma once

// The typed program: what `check` returns and `lower` reads. A desugared tree in which every
// expression has a type and everything implicit is written out: pipes and methods are calls,
// defaults are filled in, conversions are nodes, chains are calls in order, indexing is
// `select`/`slice`/`unsqueeze`.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/check/expr_store.h"
#include "runtime/tables/name_rule.h"

namespace ltr::check {

struct Local {
  std::string name;
  Type type;
  /// While it is checked: the layers that it was given, where nothing else can be in it.
  std::optional<ExprId> layers;
};

/// A binder takes its value from an axis of a parameter.
struct Binder {
  LocalId local = 0;
  LocalId param = 0;
  int axis = 0;       ///< negative: from the right, behind a `...`
  std::string field;  ///< of a record param
};

enum class FnRole {
  Free,
  Method,
  Step,
  Hook,
  Test,
  MetricUpdate,
  MetricCompute,
  MetricEach,    ///< `compute_each`: what a metric with `average = none` gives
  MetricMerge,   ///< (first, second) -> states, each a record of all: the call of `reduce merge`
  MetricLength,  ///< () -> int: how many values the metric gives where they are recorded one by one, -1 where it is one
};

struct Fn {
  std::string name;
  std::string owner;  ///< name of the declaration it stands in, "" for a free one
  FnRole role = FnRole::Free;
  std::vector<Local> locals;  ///< params first, then binders, then locals
  uint32_t param_count = 0;
  std::vector<Binder> binders;
  Type result;
  Body body;                  ///< a `= value` form is one Return
  bool draws_random = false;  ///< itself or what it calls; filled when all are checked
  bool is_manual = false;
  Span span;
};

enum class MemberKind { Block, Weight, Buffer, Let, Metric, Optimizer, State };

struct GroupSettings {
  std::string pattern;
  Span span;
  std::vector<std::pair<std::string, Expr>> settings;
  std::optional<Expr> rule;  ///< Call: moves these weights in place of the optimizer's
};

struct WeightRule : NameRule {
  Span span;
};

/// Where the weights of a member come from: `from "resnet.safetensors" { skip "fc.*" }`.
struct WeightSource {
  Expr path;  ///< a host str
  std::vector<WeightRule> rules;
  Span span;
};

struct Member {
  std::string name;
  MemberKind kind = MemberKind::Let;
  Type type;
  Expr value;  ///< Block: Construct, List or Comprehension; Optimizer: Call (rule), args[0] is
               ///< Weights
  std::vector<std::pair<std::string, Expr>> settings;  ///< Optimizer: schedule, clip_norm, clip_value
  std::vector<GroupSettings> groups;
  std::string reduce;                  ///< State of a metric
  std::optional<WeightSource> source;  ///< Block
  Span span;
};

struct InitRule {
  std::string pattern;
  Expr value;  ///< an Op without dims, `normal(std = 0.02)`: its dims argument is an empty List to
               ///< be replaced
  Span span;
};

/// A block, model, metric or callback.
struct Object {
  std::string name;
  std::string module;         ///< path of its file
  std::vector<Local> params;  ///< the constructor's
  std::vector<Local> locals;  ///< of member initialisers (comprehension variables)
  std::vector<std::optional<Expr>> defaults;
  std::vector<Member> members;  ///< in order of declaration
  std::vector<InitRule> inits;
  std::vector<uint32_t> fns;  ///< methods, steps, hooks
  std::string model;          ///< of a callback
  std::string better;         ///< of a metric: "max" "min" ""
  bool is_library = false;
  bool is_damaged = false;  ///< something in it could not be read: what is missing may be there
  std::string doc;
  Span span;
};

struct StreamDecl {
  std::string role;
  std::string name;
  Expr value;
  Type record;  ///< what it delivers after collate, Record of tensors
  Span span;
};

struct DataObject {
  Object object;                              ///< params, lets (as members), fns (maps)
  Type batch;                                 ///< Record of tensors, in the order of the schema
  std::vector<std::vector<Expr>> batch_dims;  ///< per field; IntConst -1 for binders
  std::vector<StreamDecl> streams;
};

/// The value of a host expression over constants and hparam defaults.
struct HostValue {
  enum class Kind { Bool, Int, Float, Str } kind = Kind::Int;
  int64_t whole = 0;
  double real = 0;
  std::string text;
};

struct Hparam {
  std::string name;
  Type type;
  std::string doc;
  ExprId initial;
  std::optional<HostValue> value;   ///< of the default, where it is known
  std::optional<HostValue> length;  ///< of a default that is a list
  uint32_t levels = 0;              ///< of hparams that the default stands on
  std::optional<ExprId> where;
  std::string where_text;
  Span span;
  std::vector<size_t> read_by_defaults, read_by_rules;  ///< of which hparams, by their index
};

struct LogEntry {
  std::string name;
  std::string role;    ///< train val test
  std::string kind;    ///< scalar metric image histogram text
  std::string when;    ///< step epoch both
  std::string reduce;  ///< mean sum min max
  bool bar = false;
  std::string owner;   ///< the model or callback
  std::string better;  ///< "max" "min" or "": of a metric
  std::string
      each;  ///< the member of the model, a metric of several values, of which each is a series; "" for one value
  std::optional<int64_t> length;  ///< how many these are, where that is known before the run
  Span span;
  bool is_whole = false;  ///< stands in a hook of a whole epoch: it is of the role, not of one of its streams
};

struct SettingValue {
  std::string path;  ///< `epochs`
  std::string type;  ///< declared type as text
  Expr value;
  Span span;
};

enum class Fate { Proven, AtStart, FirstBatch };
inline const char* word_of(Fate fate) {
  switch (fate) {
    case Fate::Proven: return "proven";
    case Fate::AtStart: return "at start";
    case Fate::FirstBatch: return "first batch";
  }
  return "";
}
struct Obligation {
  std::string text;
  Fate fate = Fate::Proven;
  std::string why;
  std::optional<ExprId> condition;  ///< AtStart: over hparams and data, a host bool
  bool needs_data = false;
  std::optional<DeclIndex>
      of_data;                ///< the data whose own code asks it: of experiments with other data it asks nothing
  std::string of_experiment;  ///< whose arguments ask it: of others it asks nothing
  Span span;
  Span use;  ///< where a run says that it does not hold, if not there
};

struct StepBinding {
  std::string name;  ///< train
  uint32_t fn = 0;
  std::string role;         ///< train val test predict
  std::vector<int> fields;  ///< for each param: index into the batch fields, or -1 (a param with a default)
  std::vector<std::optional<Expr>> defaults;
};

struct Topology {
  std::string name;
  std::vector<SettingValue> settings;
  Span span;
};

struct Experiment {
  std::string name;
  uint32_t data = 0;       ///< index into Program::datas
  uint32_t model = 0;      ///< index into Program::models
  ExprIds data_arguments;  ///< for each param, given or default
  ExprIds model_arguments;
  std::vector<Local> locals;  ///< of functions among all that is given
  std::string topology;
  std::vector<std::pair<std::string, Expr>> sets;  ///< hparam, value
  std::vector<SettingValue> trainer;
  std::vector<SettingValue> tags;
  std::vector<SettingValue> serve;
  std::vector<Expr> callbacks;  ///< Call
  std::vector<Expr> implied;    ///< Call: callbacks that are there without being listed
  std::vector<Expr> loggers;    ///< Call
  std::optional<Expr> sweep;    ///< Call, its axes and settings by name: a draw, a List of values, `trials`
  std::vector<StepBinding> steps;
  std::vector<Obligation> obligations;
  std::vector<Obligation> data_rules;   ///< over the params of the data, which are settings
  std::vector<Obligation> model_rules;  ///< over those of the model; some need the data
  std::optional<int64_t> train_batch;   ///< records in a train batch, if it is known
  Span train_batch_span;                ///< what says so
  Span span;
};

/// Whether it asks something of a run of the experiment.
bool is_asked_of(const Obligation& obligation, const Experiment& experiment);

/// Its sections of settings, by their names.
inline constexpr std::pair<const char*, std::vector<SettingValue> Experiment::*> kSettingsSections[] = {
    {"trainer", &Experiment::trainer}, {"tags", &Experiment::tags}, {"serve", &Experiment::serve}};

struct Test {
  std::string title;
  Span title_span;
  uint32_t fn = 0;
  bool is_fails = false;  ///< only checked, nothing to run
  std::string fails;      ///< the code still to be found, where `check` found nothing wrong
  Span fails_span;
  Span span;
};

/// Type of each parameter that may be `none`, as a setting's type text, for library calls kept as a value (`Checkpoint` ->
/// monitor: option[series] …).
struct CallSignature {
  std::string name;
  std::vector<std::pair<std::string, std::string>> params;
};

/// A function of an `extern` block, for the C++ side.
struct ExternFn {
  std::string name;
  std::string text;  ///< the declaration as written
  std::vector<Local> params;
  std::vector<Span> param_spans;
  Type result;
  Span result_span;
  std::string backward;  ///< "" without
  Span backward_span;
  Span span;  ///< of the name
};

/// A C++ file and all functions that the program declares in it.
struct ExternFile {
  std::string file;    ///< as written
  std::string module;  ///< path of the source it is relative to
  Span span;
  std::vector<ExternFn> fns;
};

struct Program {
  std::string name;
  ExprStore exprs;
  std::vector<Fn> fns;  ///< index 0 is unused
  std::vector<Object> blocks, models, metrics, callbacks;
  std::vector<DataObject> datas;
  std::vector<Hparam> hparams;
  std::unordered_map<std::string, size_t> hparam_at;  ///< index into `hparams`
  std::vector<Topology> topologies;
  std::vector<Experiment> experiments;
  std::vector<Test> tests;
  std::vector<LogEntry> logs;
  std::vector<Obligation> obligations;
  std::vector<CallSignature> calls;
  std::vector<ExternFile> externs;
  std::map<std::string, std::set<std::string>>
      fact_fields;  ///< by the name of a `let` that holds facts: the fields that are asked for
  AtomTable atoms;
  std::map<AtomId, Expr> sizes_at_start;  ///< how those of hparams and data are read when a run starts
  /// What else `check` knew: it goes with the program, which is never taken apart where the process ends.
  std::shared_ptr<const void> scaffold;

  /// Null if there is none of this name.
  const Hparam* find_hparam(const std::string& hparam) const {
    const auto found = hparam_at.find(hparam);
    return found != hparam_at.end() ? &hparams[found->second] : nullptr;
  }
};

}  // namespace ltr::check
