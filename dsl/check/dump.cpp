#include "dsl/check/dump.h"

#include <array>
#include <boost/pfr.hpp>
#include <boost/type_index.hpp>
#include <charconv>

#include "dsl/source/text.h"

namespace ltr::check {

namespace {

using source::quote;

template <class T>
inline constexpr bool is_several = false;
template <class T>
inline constexpr bool is_several<std::vector<T>> = true;
template <class T>
inline constexpr bool is_several<std::optional<T>> = true;

template <class T>
inline constexpr bool is_operand =
    std::is_same_v<T, ExprId> || std::is_same_v<T, Body> || std::is_same_v<T, node::Leading>;
template <class T>
inline constexpr bool is_operand<std::optional<T>> = is_operand<T>;
template <class T>
inline constexpr bool is_operand<std::vector<T>> =
    is_operand<T> || std::is_same_v<T, Stmt> || std::is_same_v<T, node::NamedArg> ||
    std::is_same_v<T, node::TextPart> || std::is_same_v<T, node::Carried>;

/// `IntConst`, of a struct.
template <class T>
std::string name_of() {
  const std::string name = boost::typeindex::type_id<T>().pretty_name();
  return name.substr(name.rfind(':') + 1);
}

std::string number(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

const char* word_of(MemberKind kind) {
  switch (kind) {
    case MemberKind::Block: return "block";
    case MemberKind::Weight: return "weight";
    case MemberKind::Buffer: return "buffer";
    case MemberKind::Let: return "let";
    case MemberKind::Metric: return "metric";
    case MemberKind::Optimizer: return "optimizer";
    case MemberKind::State: return "state";
  }
  return "";
}

const char* word_of(FnRole role) {
  switch (role) {
    case FnRole::Free:
    case FnRole::Method: return "fn";
    case FnRole::Step: return "step";
    case FnRole::Hook: return "on";
    case FnRole::Test: return "code";
    case FnRole::MetricUpdate: return "update";
    case FnRole::MetricCompute:
    case FnRole::MetricEach: return "compute";
    case FnRole::MetricMerge: return "merge";
    case FnRole::MetricLength: return "length";
  }
  return "";
}

/// Code: a line for each node, its operands below it.
class CodeDump {
 public:
  CodeDump(const Program& program, const source::SourceManager& sources, const std::set<uint32_t>& library)
      : program_(program), sources_(sources), library_(library) {}

  std::string text;

  std::string type(const Type& value) const { return to_text(value, program_.atoms); }

  void line(int depth, const std::string& content) { text += std::string(size_t(depth) * 2, ' ') + content + "\n"; }
  void line(int depth, const std::string& content, Span span) {
    const bool has_place = !span.is_empty() && !is_library(span);
    line(depth, has_place ? content + "  " + source::to_text(sources_.position(span)) : content);
  }

  void expr(int depth, ExprId id, const std::string& label = "") { expr(depth, program_.exprs[id], label); }
  void expr(int depth, const ExprView& expr, const std::string& label = "") {
    std::visit(
        [&](const auto& node) {
          line(depth, label + named(node) + ": " + type(expr.type), expr.span);
          boost::pfr::for_each_field(node, [&](const auto& field) { below(depth + 1, field); });
        },
        expr.node);
  }

  void body(int depth, const Body& statements) {
    for (const Stmt& statement : statements) {
      std::visit(
          [&](const auto& node) {
            line(depth, named(node), statement.span);
            boost::pfr::for_each_field(node, [&](const auto& field) { below(depth + 1, field); });
          },
          statement.node);
    }
  }

 protected:
  const Program& program_;
  const source::SourceManager& sources_;
  const std::set<uint32_t>& library_;
  const std::vector<Local>* locals_ = nullptr;  ///< of the code that is read

  bool is_library(Span span) const { return library_.contains(span.source.index); }

 private:
  template <class T>
  void below(int depth, const T& part) {
    if constexpr (std::is_same_v<T, ExprId>) {
      expr(depth, part);
    } else if constexpr (std::is_same_v<T, Body>) {
      line(depth, "do");
      body(depth + 1, part);
    } else if constexpr (std::is_same_v<T, node::NamedArg>) {
      expr(depth, part.value, part.name + " = ");
    } else if constexpr (std::is_same_v<T, node::TextPart>) {
      expr(depth, part.value, part.format.empty() ? "" : quote(part.format) + " ");
    } else if constexpr (std::is_same_v<T, node::Carried>) {
      expr(depth, part.initial, local(part.local) + " = ");
    } else if constexpr (std::is_same_v<T, node::Leading>) {
      expr(depth, part.tensor, "leading ");
      expr(depth, part.axes, "axes ");
    } else if constexpr (is_operand<T>) {
      if constexpr (is_several<T>) each(depth, part);
    }
  }
  template <class T>
  void each(int depth, const std::vector<T>& parts) {
    for (const T& part : parts) below(depth, part);
  }
  template <class T>
  void each(int depth, const std::optional<T>& part) {
    if (part) below(depth, *part);
  }

  template <class T>
  std::string named(const T& node) const {
    const std::string said = words(node);
    return name_of<T>() + (said.empty() ? "" : " " + said);
  }

  /// `x`, or its number where the code has no table of locals, as in a signature.
  std::string local(LocalId id) const {
    const bool is_known = locals_ != nullptr && id < locals_->size();
    const std::string name = is_known ? (*locals_)[id].name : "";
    return (name.empty() ? "$" : name + "$") + std::to_string(id);
  }
  std::string typed_local(LocalId id) const {
    const bool is_known = locals_ != nullptr && id < locals_->size();
    return local(id) + (is_known ? ": " + type((*locals_)[id].type) : "");
  }
  std::string fn(FnId id) const {
    if (id == 0 || id >= program_.fns.size()) return "none";
    const Fn& fn = program_.fns[id];
    return (fn.owner.empty() ? "" : fn.owner + ".") + fn.name;
  }

  // What a node says beside its operands. Those of fields that are not plain words say so themselves; a field of
  // another type in a new node is an error of the build.
  template <class T>
  std::string words(const T& node) const {
    std::string all;
    boost::pfr::for_each_field(node, [&]<class Field>(const Field& field) {
      if constexpr (!is_operand<Field>) all += (all.empty() ? "" : " ") + word(field);
    });
    return all;
  }
  static std::string word(const std::string& name) {
    return name.find_first_of(" \"\n") == std::string::npos && !name.empty() ? name : quote(name);
  }
  static std::string word(int64_t value) { return std::to_string(value); }
  static std::string word(double value) { return number(value); }
  static std::string word(host::Op op) { return std::string(host::info(op).name); }
  static std::string word(library::Id id) {
    return id == library::Id::None ? "own" : std::string(library::info(id).name);
  }
  static std::string word(host::Measure measure) { return std::string(host::to_text(measure)); }
  template <class T>
  static std::string word(const T&) = delete;

  std::string words(const node::BoolConst& constant) const { return constant.value ? "true" : "false"; }
  std::string words(const node::StrConst& constant) const { return quote(constant.text); }
  std::string words(const node::Local& one) const { return local(one.local); }
  std::string words(const node::Member& member) const { return member.name + (member.is_param ? " param" : ""); }
  std::string words(const node::DataMember& member) const { return member.name + (member.is_param ? " param" : ""); }
  std::string words(const node::FnValue& value) const { return fn(value.fn) + (value.is_method ? " method" : ""); }
  std::string words(const node::Op& op) const { return word(op.op); }
  std::string words(const node::CallFn& call) const { return fn(call.fn); }
  std::string words(const node::CallMethod& call) const { return fn(call.fn); }
  std::string words(const node::CallMetric& call) const { return fn(call.fn); }
  std::string words(const node::Call& call) const {
    return word(call.name) + " " + (call.fn != 0 ? "schedule " + fn(call.fn) : word(call.op));
  }
  std::string words(const node::MapStage& stage) const { return fn(stage.fn) + " " + word(stage.written); }
  std::string words(const node::FilterStage& stage) const { return fn(stage.fn) + " " + word(stage.written); }
  std::string words(const node::Comprehension& list) const { return typed_local(list.variable); }
  std::string words(const node::ApplyList& list) const { return local(list.element) + " " + local(list.flowing); }
  std::string words(const node::LetIn& let) const { return typed_local(let.local); }
  std::string words(const node::Function& function) const {
    std::string all = local(function.local);
    for (const LocalId param : function.params) all += " " + typed_local(param);
    return all;
  }
  std::string words(const node::Scan& scan) const {
    return typed_local(scan.element) + " axis " + std::to_string(scan.axis);
  }
  std::string words(const stmt::Let& let) const { return typed_local(let.local); }
  std::string words(const stmt::Unpack& unpack) const {
    std::string all;
    for (const LocalId id : unpack.locals) all += (all.empty() ? "" : ", ") + typed_local(id);
    return all;
  }
  std::string words(const stmt::Minimize& minimize) const { return minimize.is_last ? "last" : ""; }
  std::string words(const stmt::Log& log) const {
    return program_.logs[log.slot].role + "." + program_.logs[log.slot].name;
  }
  std::string words(const stmt::For& loop) const { return typed_local(loop.variable); }
};

/// Declarations, with their code.
class Dump : public CodeDump {
 public:
  using CodeDump::CodeDump;

  void program() {
    for (const Hparam& hparam : program_.hparams) hparam_of(hparam);
    for (FnId id = 1; id < program_.fns.size(); ++id) {
      const Fn& fn = program_.fns[id];
      if (fn.role == FnRole::Free && fn.owner.empty() && !fn.name.empty() && !is_library(fn.span)) function(0, id);
    }
    for (const DataObject& data : program_.datas) data_of(data);
    for (const Object& block : program_.blocks) object("block", block);
    for (const Object& metric : program_.metrics) object("metric", metric);
    for (const Object& model : program_.models) object("model", model);
    for (const Object& callback : program_.callbacks) object("callback", callback);
    for (const Topology& topology : program_.topologies) {
      line(0, "topology " + topology.name, topology.span);
      settings(1, "", topology.settings);
    }
    for (const Experiment& experiment : program_.experiments) experiment_of(experiment);
    for (const Test& test : program_.tests) {
      line(0, "test " + quote(test.title) + (test.fails.empty() ? "" : " fails " + test.fails), test.span);
      if (test.fn != 0) function(1, test.fn);
    }
    for (const ExternFile& file : program_.externs) {
      line(0, "extern " + quote(file.file), file.span);
      for (const ExternFn& fn : file.fns)
        line(1, fn.text + (fn.backward.empty() ? "" : "  backward " + fn.backward), fn.span);
    }
    for (const LogEntry& entry : program_.logs) log(entry);
    for (const auto& [name, fields] : program_.fact_fields) {
      std::string all = "facts " + name + ":";
      for (const std::string& field : fields) all += " " + field;
      line(0, all);
    }
    obligations(0, "obligation", program_.obligations);
  }

 private:
  void hparam_of(const Hparam& hparam) {
    line(0, "hparam " + hparam.name + ": " + type(hparam.type), hparam.span);
    expr(1, hparam.initial);
    if (hparam.where) expr(1, *hparam.where, "where ");
  }

  void function(int depth, FnId id) {
    const Fn& fn = program_.fns[id];
    std::string params;
    for (uint32_t i = 0; i < fn.param_count; ++i)
      params += (i > 0 ? ", " : "") + fn.locals[i].name + ": " + type(fn.locals[i].type);
    line(depth,
         std::string(word_of(fn.role)) + " " + fn.name + "(" + params + ") -> " + type(fn.result) +
             (fn.draws_random ? " random" : "") + (fn.is_manual ? " manual" : ""),
         fn.span);
    for (const Binder& binder : fn.binders) {
      line(depth + 1, "binder " + fn.locals[binder.local].name + " of " + fn.locals[binder.param].name +
                          (binder.field.empty() ? "" : "." + binder.field) + " axis " + std::to_string(binder.axis));
    }
    locals_ = &fn.locals;
    body(depth + 1, fn.body);
    locals_ = nullptr;
  }

  void object(const char* kind, const Object& value) {
    if (value.is_library) return;
    line(0,
         std::string(kind) + " " + value.name + (value.model.empty() ? "" : " for " + value.model) +
             (value.better.empty() ? "" : " better " + value.better),
         value.span);
    locals_ = &value.locals;
    for (size_t i = 0; i < value.params.size(); ++i) {
      line(1, "param " + value.params[i].name + ": " + type(value.params[i].type));
      if (i < value.defaults.size() && value.defaults[i]) expr(2, *value.defaults[i]);
    }
    for (const Member& one : value.members) member(one);
    for (const InitRule& rule : value.inits) {
      line(1, "init " + quote(rule.pattern), rule.span);
      expr(2, rule.value);
    }
    locals_ = nullptr;
    for (const FnId fn : value.fns) function(1, fn);
  }

  void member(const Member& member) {
    line(1,
         std::string(word_of(member.kind)) + " " + member.name + ": " + type(member.type) +
             (member.reduce.empty() ? "" : " reduce " + member.reduce),
         member.span);
    expr(2, member.value);
    for (const auto& [name, value] : member.settings) expr(2, value, name + " = ");
    for (const GroupSettings& group : member.groups) {
      line(2, "group " + quote(group.pattern), group.span);
      for (const auto& [name, value] : group.settings) expr(3, value, name + " = ");
      if (group.rule) expr(3, *group.rule, "rule = ");
    }
    if (!member.source) return;
    line(2, "from", member.source->span);
    expr(3, member.source->path);
    for (const WeightRule& rule : member.source->rules) {
      line(3,
           std::string(word_of(rule.kind)) + " " + quote(rule.pattern) +
               (rule.kind == WeightRule::Kind::Rename ? " => " + quote(rule.replacement) : ""),
           rule.span);
    }
  }

  void data_of(const DataObject& data) {
    object("data", data.object);
    if (data.object.is_library) return;
    line(1, "batch " + type(data.batch));
    for (size_t i = 0; i < data.batch_dims.size(); ++i) {
      line(2, data.batch.fields[i].name);
      for (const auto& dim : data.batch_dims[i]) expr(3, dim);
    }
    for (const StreamDecl& stream : data.streams) {
      line(1, stream.role + (stream.name.empty() ? "" : "." + stream.name) + ": " + type(stream.record), stream.span);
      expr(2, stream.value);
    }
  }

  void settings(int depth, const std::string& section, const std::vector<SettingValue>& list) {
    for (const SettingValue& setting : list) {
      line(depth, section + setting.path + ": " + setting.type, setting.span);
      expr(depth + 1, setting.value);
    }
  }

  void experiment_of(const Experiment& experiment) {
    line(0,
         "experiment " + experiment.name + (experiment.topology.empty() ? "" : " topology " + experiment.topology) +
             (experiment.train_batch ? " batch " + std::to_string(*experiment.train_batch) : ""),
         experiment.span);
    line(1, "data " + program_.datas[experiment.data].object.name);
    for (const ExprId argument : experiment.data_arguments) expr(2, argument);
    line(1, "model " + program_.models[experiment.model].name);
    for (const ExprId argument : experiment.model_arguments) expr(2, argument);
    for (const auto& [name, value] : experiment.sets) expr(1, value, "set " + name + " = ");
    for (const auto& [name, section] : kSettingsSections) settings(1, std::string(name) + ".", experiment.*section);
    for (const auto& callback : experiment.callbacks) expr(1, callback, "callback ");
    for (const auto& logger : experiment.loggers) expr(1, logger, "logger ");
    if (experiment.sweep) expr(1, *experiment.sweep, "sweep ");
    for (const StepBinding& step : experiment.steps) binding(step);
    obligations(1, "obligation", experiment.obligations);
    obligations(1, "data rule", experiment.data_rules);
    obligations(1, "model rule", experiment.model_rules);
  }

  void binding(const StepBinding& step) {
    line(1, "step " + step.name + " as " + step.role);
    const Fn& fn = program_.fns[step.fn];
    for (size_t i = 0; i < step.fields.size(); ++i) {
      const std::string param = fn.locals[i].name + " = ";
      if (step.fields[i] >= 0) {
        line(2, param + "batch field " + std::to_string(step.fields[i]));
      } else if (i < step.defaults.size() && step.defaults[i]) {
        expr(2, *step.defaults[i], param);
      }
    }
  }

  void log(const LogEntry& entry) {
    std::string all = "log " + entry.role + "." + entry.name;
    for (const std::string& word : {entry.kind, entry.when, entry.reduce, entry.better}) {
      if (!word.empty()) all += " " + word;
    }
    if (!entry.each.empty()) all += " each of " + entry.each;
    line(0, all + (entry.bar ? " bar" : "") + (entry.is_whole ? " whole" : "") + " of " + entry.owner, entry.span);
  }

  void obligations(int depth, const std::string& what, const std::vector<Obligation>& list) {
    for (const Obligation& obligation : list) {
      if (is_library(obligation.span)) continue;
      line(depth,
           what + " " + obligation.text + "  " + word_of(obligation.fate) +
               (obligation.why.empty() ? "" : ": " + obligation.why),
           obligation.span);
      if (obligation.condition) expr(depth + 1, *obligation.condition);
    }
  }
};

}  // namespace

std::string dump_typed(const Program& program, const source::SourceManager& sources,
                       const std::set<uint32_t>& library_sources) {
  Dump dump(program, sources, library_sources);
  dump.program();
  return std::move(dump.text);
}

}  // namespace ltr::check
