// Which fields of the wired data a step takes.

#include "dsl/check/experiment/experiment.h"

#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/scope/aside.h"
#include "dsl/check/types/types.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// The vocabularies by which a step's answers become text.
void check_decodes(const FnInfo& fn, const ObjectInfo& wired, Context& cx) {
  for (const auto& [name, sep] : fn.decodes) {
    const auto member = wired.members.find(name.text);
    if (member != wired.members.end() && (member->second.type.is_vocabulary() || member->second.type.is_error())) {
      if (sep && member->second.type.kind == Kind::Tokenizer) {
        cx.report(diag::wrong_argument(*sep, "a tokenizer knows itself what stands between its tokens")
                      .help("leave `sep` away")
                      .label(member->second.span, "`{}` is one", name.text));
      }
      continue;
    }
    std::vector<std::string> known;
    for (const auto& [candidate, info] : wired.members) {
      if (info.type.is_vocabulary()) known.push_back(candidate);
    }
    diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, "data `" + wired.name + "`", name.text);
    diagnostic.label(wired.span, "the experiment wires it")
        .note("`decode` takes a `let` of the data that is a `vocab(…, of = …)` or a `tokenizer(…)`");
    did_you_mean(diagnostic, name.text, name.span, known);
    cx.report(std::move(diagnostic));
  }
}

bool has_field(const Type& record, const std::string& name) {
  return record.is_error() || record.find(name) != nullptr;
}

/// The fields of the data that no param of the step takes.
std::vector<std::string> fields_left(const FnInfo& fn, const ObjectInfo& wired) {
  std::vector<std::string> names;
  for (const TypeField& field : wired.batch.fields) {
    if (std::none_of(fn.params.begin(), fn.params.end(),
                     [&](const ParamInfo& param) { return param.name == field.name; }))
      names.push_back(field.name);
  }
  return names;
}

void report_missing(const ParamInfo& param, const FnInfo& fn, const ObjectInfo& wired,
                    const std::vector<const StreamDecl*>& streams, Context& cx) {
  const bool is_copy = fn.ast->name.span != fn.span;
  if (is_copy && is_reported(cx, diagnostics::Code::E0502, param.span))
    return withdraw_uses(fn, fields_left(fn, wired), cx);
  diagnostics::Diagnostic diagnostic = diag::step_wants_field(param.span, fn.name, param.name);
  diagnostic.label(wired.span, "data `{}` is wired to it", wired.name);
  const std::vector<std::string> left = fields_left(fn, wired);
  std::vector<std::string> names;
  const auto is_delivered = [&](const TypeField& field) {
    return std::all_of(streams.begin(), streams.end(),
                       [&](const StreamDecl* stream) { return has_field(stream->record, field.name); });
  };
  for (const TypeField& field : wired.batch.fields) {
    if (is_delivered(field)) names.push_back("`" + field.name + "`");
  }
  if (!names.empty()) diagnostic.note("it delivers {}", diagnostics::listed(names));
  const std::vector<StreamDecl>& all = cx.program.datas[wired.index].streams;
  const auto lacks =
      std::ranges::find_if(all, [&](const StreamDecl& stream) { return !has_field(stream.record, param.name); });
  const auto other =
      std::ranges::find_if(all, [&](const StreamDecl& stream) { return has_field(stream.record, param.name); });
  const std::string lengths = "lengths = \"" + param.name + "\"";
  if (wired.batch.find(param.name) != nullptr && lacks != all.end() && other != all.end()) {
    diagnostic.label(lacks->span, "this stream does not deliver it");
    if (cx.source_text(other->value.span).find(lengths) != std::string::npos)
      diagnostic.help("`collate(…, {})`, as in the stream `{}`", lengths, other->role);
  } else if (param.type.kind == Kind::Record) {
    std::string list;
    for (const TypeField& field : wired.batch.fields)
      list += (list.empty() ? "" : ", ") + field.name + ": " + cx.text(field.type);
    diagnostic.help("each field of the batch is a parameter of its own: `{}`", list);
  } else if (const auto near = diagnostics::suggest(param.name, left)) {
    diagnostic.help("did you mean `{}`?", *near);
  }
  cx.report(std::move(diagnostic));
  withdraw_uses(fn, left, cx);
}

/// A default that is computed, as the number that it is: flags are texts.
Expr folded(Expr value, const Context& cx) {
  const std::optional<HostValue> known = value.type.is_host_number() ? evaluate(value, cx.program) : std::nullopt;
  if (!known) return value;
  switch (known->kind) {
    case HostValue::Kind::Bool: return {value.type, value.span, node::BoolConst{known->whole != 0}};
    case HostValue::Kind::Int: return {value.type, value.span, node::IntConst{known->whole}};
    case HostValue::Kind::Float: return {value.type, value.span, node::FloatConst{known->real}};
    case HostValue::Kind::Str: break;
  }
  return value;
}

/// E0313 for a param of a step that no field fills and no flag can give.
void check_flag(const ParamInfo& param, const std::string& role, Context& cx) {
  const bool takes_tensors = role == kPredictRole;
  const bool fits = param.type.is_tensor() ? takes_tensors : is_setting_type(param.type);
  if (fits || is_reported(cx, diagnostics::Code::E0313, param.span)) return;
  diagnostics::Diagnostic diagnostic = diag::wrong_type(
      param.span, "`--" + param.name + "` gives it to `step " + role + "`, and no flag is " + cx.text(param.type));
  if (param.type.is_tensor())
    diagnostic.help("make it a `const`, or a buffer of the model");
  else if (param.type.kind == Kind::Record)
    diagnostic.help("make each field a parameter of its own");
  else
    diagnostic.help("flags give numbers, texts, `one_of`, options, lists and tuples of them, and tensors");
  cx.report(std::move(diagnostic));
}

/// The size that `batch[B, T]` of data names as one of its parameters is called; empty where there is none.
std::string hidden_param(const ObjectInfo& wired) {
  const auto* data = wired.decl->get<ast::Data>();
  for (const ast::Name& binder : data->batch_binders) {
    if (std::ranges::find(wired.params, binder.text, &ParamInfo::name) != wired.params.end()) return binder.text;
  }
  return "";
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
  if (fn.name == kTrainRole && own.empty() && !streams.empty()) {
    cx.report(diag::no_stream(data.span, wired.name, "train").label(fn.ast->name.span, "step train needs one"));
    return;
  }
  check_decodes(fn, wired, cx);
  Binding types;
  for (const auto& [atom, value] : model.type.arguments) types.dims[atom] = value;
  std::set<AtomId> free;
  for (const auto& [name, atom] : fn.binders) free.insert(atom);
  for (const ParamInfo& param : fn.params) {
    const TypeField* field = wired.batch.find(param.name);
    const bool is_delivered =
        field != nullptr && !own.empty() && std::all_of(own.begin(), own.end(), [&](const StreamDecl* stream) {
          return has_field(stream->record, param.name);
        });
    if (!is_delivered) {
      const bool from_flag = param.initial != nullptr || (fn.name == kPredictRole && own.empty());
      if (!from_flag && !own.empty()) report_missing(param, fn, wired, own, cx);
      if (from_flag) check_flag(param, fn.name, cx);
      binding.fields.push_back(-1);
      std::optional<Expr> initial;
      if (param.initial != nullptr) {
        std::vector<Expr> none;
        const DefaultParams around{.params = fn.params,
                                   .before = none,
                                   .why_not = "the default of a step's parameter is a constant, as a flag's"};
        Scope constant{
            .cx = cx, .module = fn.module, .place = Place::Const, .locals = scope.locals, .default_params = &around};
        initial = folded(check_as(*param.initial, param.type, constant, "the default"), cx);
      }
      binding.defaults.push_back(std::move(initial));
      continue;
    }
    binding.fields.push_back(int(field - wired.batch.fields.data()));
    binding.defaults.emplace_back();
    Type delivered = instantiate(field->type, data.type.arguments, cx);
    diagnostics::Sink found;
    {
      const Aside aside(cx, found);
      match(param.type, delivered, types, free, param.span, scope,
            "`" + param.name + "`, which data `" + wired.name + "` delivers,", false);
    }
    const std::string hidden = hidden_param(wired);
    for (diagnostics::Diagnostic one : found.reported()) {
      one.helps.clear();
      if (hidden.empty())
        one.help("as it is delivered: `{}: {}`", param.name, cx.text(delivered));
      else
        one.help(
            "the `{}` in the brackets of `batch` is a size of its own: leave it out, and the parameter `{}` of `{}` is "
            "meant",
            hidden, hidden, wired.name);
      cx.report(std::move(one));
    }
    if (found.has_errors()) withdraw_uses(fn, {param.name}, cx);
  }
  experiment.steps.push_back(std::move(binding));
}

}  // namespace ltr::check
