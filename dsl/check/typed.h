#pragma once

// The typed program: what `check` returns and `lower` reads. A desugared tree in which every
// expression has a type and everything implicit is written out: pipes and methods are calls,
// defaults are filled in, conversions are nodes, chains are calls in order, indexing is
// `select`/`slice`/`unsqueeze`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/check/type.h"
#include "dsl/library/library.h"
#include "dsl/source/span.h"

namespace ltr::check {

using source::Span;

/// A variable of one function: parameter, binder or local. Index into `Fn::locals`.
using LocalId = uint32_t;

enum class ExprKind {
  Error,
  IntConst,
  FloatConst,
  BoolConst,
  StrConst,
  NoneConst,
  Quantity,  ///< `number` of `name` ("steps" "epochs" "seconds" "bytes"), a host value
  Symbol,    ///< a choice of a one_of: `name`
  Series,    ///< `name` is "val.loss"
  Local,     ///< `local`
  Self,      ///< the block, model, data, metric or callback whose code this is
  Member,    ///< member `name` of args[0]: a block, weight, buffer, `let`, param, state, metric or
             ///< optimizer
  Hparam,    ///< `name`
  DataMember,  ///< `let` or param `name` of the experiment's data; followed by Builtin "vocab" and
               ///< so on
  Context,     ///< `name` in scope in steps and hooks: epoch global_step batch_index rank world
               ///< batch_size run.dir …
  ModelOf,     ///< `model` in a hook
  MetricSeries,  ///< metric(val.loss): `name` is the series
  Op,          ///< library function `op` on args, in declared order, all given
  CallFn,      ///< function `fn` on args
  CallMethod,  ///< function `fn` of args[0] on args[1..]
  CallMetric,  ///< metric member args[0], updated with args[1..]; type MetricValue
  Construct,   ///< block, model, data or metric `decl` (kind by type) from args
  List,
  Tuple,          ///< of args
  Record,         ///< of args, names in type.fields
  RecordField,    ///< field `name` of args[0]
  TupleElement,   ///< element `number` of args[0]
  ListElement,    ///< args[0][args[1]]
  ListLength,     ///< of args[0]
  Comprehension,  ///< list of args[2] for `local` from args[0] to args[1]
  ApplyList,      ///< args[0] a uniform list of blocks or chains, applied in order to args[1]: each is `locals[0]`, what
                  ///< flows `locals[1]`, args[2] the one put to the other
  Shape,          ///< list[int] of tensor args[0]
  SizeOf,         ///< size of tensor args[0] along axis `number` (may be negative)
  If,             ///< args[0] ? args[1] : args[2]
  And,
  Or,
  Not,   ///< host bools, lazy
  Host,  ///< host arithmetic or comparison `name`: + - * / // ceil % ** == != < <= > >= min max neg
         ///< floor round abs sqrt exp log …; type tells int or float
  In,    ///< args[0] in args[1] (a List of host values, or Range)
  Range,    ///< args[0] .. args[1]
  Equal,    ///< args[0] == args[1] of lists, tuples, records, weights, str; one host bool
  Convert,  ///< args[0] implicitly to `type`: int to float, host number or list to tensor, str to
            ///< path
  CheckShape,   ///< args[0] checked at run time to be `type`; args[1..] give its dims (-1: any);
                ///< `name` is its text
  Interpolate,  ///< text of args joined; `formats[i]` applies to args[i]
  Weights,      ///< trained tensors of the block, list or optimizer args[0]
  Frozen,       ///< args[0] evaluated with the weights of args[1] frozen
  LetIn,        ///< args[1], in which `local` is args[0]
  Function,     ///< the function of `locals` that gives args[1], in which `local` is args[0], evaluated once
  CallValue,    ///< function value args[0] on args[1..]
  CallExtern,   ///< the C++ function `name` on args: the body of what an `extern` declares
  CheckResult,  ///< args[0], a tensor that C++ gave, is `type`: args[1..] are its dims (-1: any), the
                ///< last `whole` of them if it has leading dims; `name` is its type as text
  Scan,         ///< `body` run for each element of args[0] along axis `whole`; `locals` are the element and
                ///< what is carried, which begins as args[1..]; the yields are stacked along the same axis
  Call,      ///< a host call kept as a value: optimizer, schedule, callback, logger `name`, which is
             ///< `op` unless it is the program's own; args in
             ///< order, names in `formats`
  MapStage,  ///< stream args[0] mapped by function `fn` of Self (or a free one); args[1] is n of `on_bad = skip(n)`
  FilterStage,  ///< of stream args[0] the records for which function `fn`, likewise, gives true
  FnValue,   ///< function `fn` as a value
};

struct Stmt;

struct Expr {
  ExprKind kind = ExprKind::Error;
  Type type;
  Span span;
  std::vector<Expr> args;
  std::string name;
  double number = 0;
  int64_t whole = 0;
  LocalId local = 0;
  uint32_t fn = 0;  ///< index into Program::fns
  library::Id op = library::Id::None;
  std::vector<std::string> formats;
  std::vector<LocalId> locals;
  std::vector<Stmt> body;
};

enum class StmtKind {
  Error,
  Let,        ///< `local` = value (first or later version)
  Unpack,     ///< `locals` = elements of the tuple or list value
  SetMember,  ///< member `name` of Self = value: a buffer or a state
  Return,     ///< value, or none
  Yield,      ///< value; the last statement of a `Scan`
  Assert,    ///< value; `text` is the source text shown when it fails; values[1] may be a message
  Print,     ///< values
  Minimize,  ///< values[0] with optimizer member values[1]; `is_last` of its step
  Backward,
  Log,  ///< slot `index` of Program::logs; value
  If,   ///< value; bodies[0], bodies[1]
  For,  ///< `local` in values[0] .. values[1]; bodies[0]
  While,
  Every,  ///< value is a period
  NoGrad,
  Expr,
  HookCall,  ///< stop, save, end_epoch, save_png …: values[0] is an Op
};

struct Stmt {
  StmtKind kind = StmtKind::Error;
  Span span;
  LocalId local = 0;
  std::vector<LocalId> locals;
  std::string name;
  std::string text;
  uint32_t index = 0;
  bool is_last = false;
  std::vector<Expr> values;
  std::vector<std::vector<Stmt>> bodies;
};
using Body = std::vector<Stmt>;

struct Local {
  std::string name;
  Type type;
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
  MetricMerge,  ///< (first, second) -> states, each a record of all: the call of `reduce merge`
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

struct WeightRule {
  enum class Kind { Rename, Skip, Freeze } kind = Kind::Rename;
  std::string pattern;
  std::string replacement;  ///< Rename
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
  std::vector<std::pair<std::string, Expr>>
      settings;  ///< Optimizer: schedule, clip_norm, clip_value
  std::vector<GroupSettings> groups;
  std::string reduce;  ///< State of a metric
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

struct Hparam {
  std::string name;
  Type type;
  std::string doc;
  Expr initial;
  std::optional<Expr> where;
  std::string where_text;
  Span span;
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
struct Obligation {
  std::string text;
  Fate fate = Fate::Proven;
  std::string why;
  std::optional<Expr> condition;  ///< AtStart: over hparams and data, a host bool
  bool needs_data = false;
  Span span;
};

struct StepBinding {
  std::string name;  ///< train
  uint32_t fn = 0;
  std::string role;  ///< train val test predict
  std::vector<int>
      fields;  ///< for each param: index into the batch fields, or -1 (a param with a default)
  std::vector<std::optional<Expr>> defaults;
};

struct Topology {
  std::string name;
  std::vector<SettingValue> settings;
  Span span;
};

struct Experiment {
  std::string name;
  uint32_t data = 0;                 ///< index into Program::datas
  uint32_t model = 0;                ///< index into Program::models
  std::vector<Expr> data_arguments;  ///< for each param, given or default
  std::vector<Expr> model_arguments;
  std::string topology;
  std::vector<std::pair<std::string, Expr>> sets;  ///< hparam, value
  std::vector<SettingValue> trainer;
  std::vector<SettingValue> tags;
  std::vector<Expr> callbacks;  ///< Call
  std::vector<Expr> loggers;    ///< Call
  std::optional<Expr> sweep;    ///< Call, its axes and settings by name: a draw, a List of values, `trials`
  std::vector<StepBinding> steps;
  std::vector<Obligation> obligations;
  std::vector<Obligation> data_rules;   ///< over the params of the data, which are settings
  std::vector<Obligation> model_rules;  ///< over those of the model; some need the data
  std::optional<int64_t> train_batch;  ///< records in a train batch, if it is known
  Span train_batch_span;               ///< what says so
  Span span;
};

struct Test {
  std::string title;
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
  std::vector<Fn> fns;  ///< index 0 is unused
  std::vector<Object> blocks, models, metrics, callbacks;
  std::vector<DataObject> datas;
  std::vector<Hparam> hparams;
  std::vector<Topology> topologies;
  std::vector<Experiment> experiments;
  std::vector<Test> tests;
  std::vector<LogEntry> logs;
  std::vector<Obligation> obligations;
  std::vector<CallSignature> calls;
  std::vector<ExternFile> externs;
  AtomTable atoms;
};

}  // namespace ltr::check
