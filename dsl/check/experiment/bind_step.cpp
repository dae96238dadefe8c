// Which fields of the wired data a step takes.

#include "dsl/check/experiment/experiment.h"

#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/types/types.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

/// The vocabularies by which a step's answers become text.
void check_decodes(const FnInfo& fn, const ObjectInfo& wired, Context& cx) {
  for (const ast::Name& name : fn.decodes) {
    const auto member = wired.members.find(name.text);
    if (member != wired.members.end() &&
        (member->second.type.kind == Kind::Vocabulary || member->second.type.is_error()))
      continue;
    std::vector<std::string> known;
    for (const auto& [candidate, info] : wired.members) {
      if (info.type.kind == Kind::Vocabulary) known.push_back(candidate);
    }
    diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, "data `" + wired.name + "`", name.text);
    diagnostic.label(wired.span, "the experiment wires it")
        .note("`decode` takes a `let` of the data that is a `vocab(…, of = …)`");
    did_you_mean(diagnostic, name.text, name.span, known);
    cx.report(std::move(diagnostic));
  }
}

bool has_field(const Type& record, const std::string& name) {
  return record.is_error() || std::any_of(record.fields.begin(), record.fields.end(),
                                          [&](const TypeField& field) { return field.name == name; });
}

void report_missing(const ParamInfo& param, const FnInfo& fn, const ObjectInfo& wired, Context& cx) {
  diagnostics::Diagnostic diagnostic = diag::step_wants_field(param.span, fn.name, param.name);
  std::vector<std::string> names;
  for (const TypeField& candidate : wired.batch.fields) names.push_back(candidate.name);
  diagnostic.label(wired.span, "data `{}` is wired to it", wired.name);
  if (const auto near = diagnostics::suggest(param.name, names)) diagnostic.help("did you mean `{}`?", *near);
  cx.report(std::move(diagnostic));
}

}  // namespace

void bind_step(const ExprView& model, const ExprView& data, FnInfo& fn, Experiment& experiment, Scope& scope) {
  Context& cx = scope.cx;
  const ObjectInfo& wired = *find_object(cx, Kind::Data, data.type.decl);
  const std::vector<StreamDecl>& streams = cx.program.datas[wired.index].streams;
  StepBinding binding;
  binding.name = fn.name;
  binding.role = fn.name;
  binding.fn = fn.index;
  std::vector<const StreamDecl*> own;
  for (const StreamDecl& stream : streams) {
    if (stream.role == fn.name) own.push_back(&stream);
  }
  if (fn.name == "train" && own.empty() && !streams.empty()) {
    cx.report(diag::no_stream(data.span, wired.name, "train").label(fn.ast->name.span, "step train needs one"));
    return;
  }
  check_decodes(fn, wired, cx);
  Binding types;
  for (const auto& [atom, value] : model.type.arguments) types.dims[atom] = value;
  std::set<AtomId> free;
  for (const auto& [name, atom] : fn.binders) free.insert(atom);
  for (const ParamInfo& param : fn.params) {
    const auto field = std::find_if(wired.batch.fields.begin(), wired.batch.fields.end(),
                                    [&](const TypeField& candidate) { return candidate.name == param.name; });
    const bool is_delivered = field != wired.batch.fields.end() && !own.empty() &&
                              std::all_of(own.begin(), own.end(), [&](const StreamDecl* stream) {
                                return has_field(stream->record, param.name);
                              });
    if (!is_delivered) {
      const bool from_flag = param.initial != nullptr || (fn.name == "predict" && own.empty());
      if (!from_flag && !own.empty()) report_missing(param, fn, wired, cx);
      binding.fields.push_back(-1);
      std::optional<Expr> initial;
      if (param.initial != nullptr) {
        Scope constant{.cx = cx, .module = fn.module, .place = Place::Const, .locals = scope.locals};
        initial = check_as(*param.initial, param.type, constant, "the default");
      }
      binding.defaults.push_back(std::move(initial));
      continue;
    }
    binding.fields.push_back(int(field - wired.batch.fields.begin()));
    binding.defaults.emplace_back();
    Type delivered = instantiate(field->type, data.type.arguments, cx);
    match(param.type, delivered, types, free, param.span, scope,
          "`" + param.name + "`, which data `" + wired.name + "` delivers,", false);
  }
  experiment.steps.push_back(std::move(binding));
}

}  // namespace ltr::check
