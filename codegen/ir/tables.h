#pragma once

// What a program is besides its functions: the layout of objects, and the tables of program.h in terms of functions.

#include <optional>

#include "codegen/ir/step.h"

namespace ltr::ir {

struct ObjectParam {
  std::string name;
  Type type;
  std::string field;  ///< name of the member that keeps it
};

struct ObjectMember {
  enum class Kind { Block, Weight, Buffer, Let, Metric, Optimizer, State };
  std::string name;
  Kind kind = Kind::Let;
  Type type;
  std::string reduce;  ///< State
  std::string maker;   ///< Metric: the function that makes one state
};

struct Hook {
  std::string name;
  std::string fn;
};

/// A block, model, data, metric or callback.
struct ObjectInfo {
  std::string name;   ///< unique
  std::string shown;  ///< as declared
  TypeKind kind = TypeKind::Block;
  std::vector<ObjectParam> params;
  std::vector<ObjectMember> members;
  std::string constructor;
  std::string model;  ///< Callback: the type of `model`, "" if any
  std::vector<Hook> hooks;
  bool is_library = false;
  Loc loc;
};

/// One use of a function of records on a stream: by `map`, or by `filter`.
struct MapInfo {
  std::string fn;
  std::string data;          ///< the object, "" for a free function
  std::vector<Field> input;  ///< the stream's record, in order
  std::vector<Field> output;
  std::string name;
  bool random = false;
  bool is_filter = false;  ///< gives a bool, and no output
};

struct HparamInfo {
  std::string name;
  Type type;
  std::string type_text;
  std::string doc;
  std::string where;
  std::string fits;  ///< function (its type) -> bool, "" if it has no rule
  Loc loc;
};

struct LogInfo {
  std::string name, role, kind, when, reduce;
  bool bar = false;
  Loc loc;
  bool is_whole = false;  ///< of its role, not of one of its streams
  std::string each;       ///< the member, a metric of several values; "" for one value
  std::string better;     ///< "max", "min", or "" where nobody knows
};

struct StepParam {
  std::string name;
  std::string type_text;
  std::string initial;
  Type type;
  Loc loc;
};

struct StepInfo {
  std::string name;
  std::string role;
  std::string fn;
  std::vector<int> fields;  ///< for each param of the step: a batch field, or -1: the next of `params`
  std::vector<StepParam> params;
  std::vector<std::string> outputs;  ///< fields of the record that it returns, in the order in which they are written
  std::vector<int> logs;
  bool random = false;
  bool minimizes = false;
  bool is_manual = false;
  bool updates_always = false;  ///< every run makes the same updates, each once, in the same order
  Loc loc;
};

/// A schedule of the program: a function of the update, of how many are planned, and of what its call says beside.
struct ScheduleInfo {
  std::string fn;
  std::vector<std::string> params;  ///< what its call says, the last of the function's
};

struct SlotInfo {
  std::string name;
  Type type;
};

/// What the code of one block takes in the train step, as the program's own values have it.
struct LayerCost {
  std::string path, output;  ///< `net.fc1`, `[B, 10]`
  int64_t weights = 0;
  double flops = -1;  ///< of the forward pass, for each record; -1: a size is not known
};

/// What holds of an experiment as long as its settings leave sizes as they are.
struct CostInfo {
  std::vector<LayerCost> layers;
  double forward = -1, backward = -1;                         ///< FLOP for each record; -1: not known
  std::vector<std::pair<std::string, std::string>> rests_on;  ///< hparams with their values
};

struct ExperimentInfo {
  std::string name;
  std::string data, model;  ///< objects
  std::string data_shown, model_shown;
  std::string topology;
  std::string resolve, make_data, make_model, list_callbacks;  ///< functions
  std::vector<SlotInfo> slots;                                 ///< values handed from `resolve` to the makers
  std::vector<StepInfo> steps;
  Loc loc;
  CostInfo costs;
  std::string semantic_hash;  ///< SHA-256 of its canonical form, hex
};

struct TopologyInfo {
  std::string name;
  std::string resolve;
  Loc loc;
};

struct CallbackInfo {
  std::string object;
  std::vector<int> logs;
};

struct TestInfo {
  std::string title;
  std::string fn;
  Loc loc;
};

struct TrainPair {
  std::string name;
  std::string model, data;
  std::string fn;  ///< the train step
  std::vector<int> fields;
};

struct ObligationInfo {
  std::string text, fate;
  Loc loc;
};

struct BatchField {
  std::string name;
  Type type;
};

struct DataInfo {
  std::string object;
  std::vector<BatchField> batch;
};

struct SourceText {
  std::string path, text;
};

struct ExternFn {
  std::string name;
  std::string text;      ///< the declaration
  std::string backward;  ///< "" without
  std::vector<Field> params;
  Type result;
};

/// A C++ file of the program.
struct ExternFile {
  std::string file;  ///< as written
  std::vector<ExternFn> fns;
};

struct Tables {
  std::vector<ObjectInfo> objects;
  std::vector<ExternFile> externs;
  std::vector<DataInfo> datas;
  std::vector<MapInfo> maps;
  std::vector<ScheduleInfo> schedules;
  std::vector<HparamInfo> hparams;
  std::string defaults;  ///< the function that gives hparams their defaults, "" without hparams
  std::vector<LogInfo> logs;
  std::vector<CallbackInfo> callbacks;
  std::vector<TopologyInfo> topologies;
  std::vector<std::string> recomputed;  ///< blocks of `recompute at`, in any topology
  std::vector<ExperimentInfo> experiments;
  std::vector<TestInfo> tests;
  std::vector<TrainPair> pairs;
  std::vector<ObligationInfo> obligations;
  std::vector<SourceText> sources;
  std::vector<bool> is_library_file;  ///< by file of the module
  std::string source_hash;
  std::string compiler;
  std::string folder;  ///< that paths of sources begin at; "" if they are absolute
  int edition = 1;

  const ObjectInfo* find_object(const std::string& name) const {
    for (const ObjectInfo& object : objects) {
      if (object.name == name) return &object;
    }
    return nullptr;
  }
};

}  // namespace ltr::ir
