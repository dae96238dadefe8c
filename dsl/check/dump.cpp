#include "dsl/check/dump.h"

#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

struct Dumper {
  const Program& program;
  std::string text;

  std::string type(const Type& value) const { return to_text(value, program.atoms); }

  void line(int depth, const std::string& content) { text += std::string(size_t(depth) * 2, ' ') + content + "\n"; }

  std::string type(ExprId id) const { return type(program.exprs[id].type); }

  void body(const Fn& fn, const Body& statements, int depth) {
    for (const Stmt& stmt : statements) {
      if (const auto* let = stmt.get<stmt::Let>()) line(depth, fn.locals[let->local].name + ": " + type(let->value));
      if (const auto* unpack = stmt.get<stmt::Unpack>()) {
        for (const LocalId local : unpack->locals)
          line(depth, fn.locals[local].name + ": " + type(fn.locals[local].type));
      }
      if (const auto* set = stmt.get<stmt::SetMember>()) line(depth, "self." + set->name + ": " + type(set->value));
      if (const auto* result = stmt.get<stmt::Return>())
        line(depth, "return " + (result->value ? type(*result->value) : ""));
      if (const auto* minimize = stmt.get<stmt::Minimize>()) line(depth, "minimize " + type(minimize->loss));
      if (const auto* log = stmt.get<stmt::Log>()) {
        const LogEntry& entry = program.logs[log->slot];
        line(depth, "log " + entry.role + "." + entry.name + " = " + type(log->value));
      }
      for_each_body(stmt, [&](const Body& inner) { body(fn, inner, depth + 1); });
    }
  }

  void function(uint32_t index, int depth) {
    const Fn& fn = program.fns[index];
    std::string params;
    for (uint32_t i = 0; i < fn.param_count; ++i)
      params += (i > 0 ? ", " : "") + fn.locals[i].name + ": " + type(fn.locals[i].type);
    line(depth, "fn " + fn.name + "(" + params + ") -> " + type(fn.result) + (fn.draws_random ? "  random" : ""));
    body(fn, fn.body, depth + 1);
  }

  void object(const char* kind, const Object& value) {
    if (value.is_library) return;
    line(0, std::string(kind) + " " + value.name);
    for (const Local& param : value.params) line(1, "param " + param.name + ": " + type(param.type));
    for (const Member& member : value.members) line(1, member.name + ": " + type(member.type));
    for (const uint32_t fn : value.fns) function(fn, 1);
  }
};

}  // namespace

std::string dump_typed(const Program& program, const source::SourceManager& sources) {
  Dumper dumper{program, {}};
  for (const Hparam& hparam : program.hparams)
    dumper.line(0, "hparam " + hparam.name + ": " + dumper.type(hparam.type));
  for (const Fn& fn : program.fns) {
    if (fn.role == FnRole::Free && fn.owner.empty() && !fn.name.empty())
      dumper.function(uint32_t(&fn - program.fns.data()), 0);
  }
  for (const DataObject& data : program.datas) {
    dumper.object("data", data.object);
    dumper.line(1, "batch " + dumper.type(data.batch));
    for (const StreamDecl& stream : data.streams)
      dumper.line(1,
                  stream.role + (stream.name.empty() ? "" : "." + stream.name) + ": " + dumper.type(stream.value.type));
  }
  for (const Object& block : program.blocks) dumper.object("block", block);
  for (const Object& metric : program.metrics) dumper.object("metric", metric);
  for (const Object& model : program.models) dumper.object("model", model);
  for (const Object& callback : program.callbacks) dumper.object("callback", callback);
  for (const Experiment& experiment : program.experiments) {
    dumper.line(0, "experiment " + experiment.name);
    for (const StepBinding& step : experiment.steps) dumper.line(1, "step " + step.name);
  }
  for (const Obligation& obligation : program.obligations) {
    const char* fate = obligation.fate == Fate::Proven    ? "proven"
                       : obligation.fate == Fate::AtStart ? "at start"
                                                          : "first batch";
    const auto place = sources.position(obligation.span).begin;
    dumper.line(0, "obligation " + obligation.text + "  " + fate + "  " +
                       std::string(sources.path(obligation.span.source)) + ":" + std::to_string(place.line));
  }
  return dumper.text;
}

}  // namespace ltr::check
