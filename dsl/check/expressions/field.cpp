// `base.name`.

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/known.h"
#include "dsl/check/expressions/own_weight.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/members.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

// What is behind a `.`, by the kind of what stands before it. Nothing if there is no such field, and in `known` what there is.

using Known = std::vector<std::string>;

std::optional<Expr> of_record(Expr& base, const std::string& field, Span span, Context& cx, Known& known) {
  const Type type = base.type;
  for (const TypeField& candidate : type.fields) {
    if (candidate.name == field) return Expr{candidate.type, span, node::RecordField{cx.keep(std::move(base)), field}};
    known.push_back(candidate.name);
  }
  if (!holds_layers(type)) return std::nullopt;
  if (field == "weights") return weights_of(std::move(base), span, cx);
  known.emplace_back("weights");
  return std::nullopt;
}

std::optional<Expr> of_tensor(Expr& base, const std::string& field, Span span, Context& cx, Known& known) {
  known = {"shape"};
  if (field != "shape") return std::nullopt;
  const std::vector<Dim>& dims = base.type.dims;
  Type list = Type::of(Kind::List);
  list.value = rank_of(dims, cx);
  for (const Dim& dim : dims)
    list.fields.push_back({"", Type::host_int(dim.group != 0 ? cx.program.atoms.unknown() : dim.size)});
  if (dims.empty()) {
    list.uniform = true;
    list.fields.push_back({"", Type::host_int()});
  }
  return Expr{std::move(list), span, node::Shape{cx.keep(std::move(base))}};
}

std::optional<Expr> of_object(Expr& base, const std::string& field, Span span, Context& cx, Known& known) {
  const Type type = base.type;
  if (field == "weights" && type.kind != Kind::Data) return weights_of(std::move(base), span, cx);
  const ObjectInfo* object = find_object(cx, type.kind, type.decl);
  if (object == nullptr) return error_at(span);
  if (const auto member = object->members.find(field); member != object->members.end()) {
    return Expr{instantiate(member->second.type, type.arguments, cx), span,
                node::Member{cx.keep(std::move(base)), field}};
  }
  for (const ParamInfo& param : object->params) {
    known.push_back(param.name);
    if (param.name != field) continue;
    return Expr{instantiate(param.type, type.arguments, cx), span, node::Member{cx.keep(std::move(base)), field, true}};
  }
  for (const auto& [member, info] : object->members) known.push_back(member);
  for (const auto& [fn, info] : object->fns) known.push_back(fn);
  known.emplace_back("weights");
  return std::nullopt;
}

std::optional<Expr> of_sequence(Expr& base, const std::string& field, Span span, Context& cx, Known& known) {
  const Type& type = base.type;
  if (type.kind == Kind::List) {
    known = {"length"};
    if (field == "length") {
      // The elements of a mixed list are counted as they are written, but for those of a shape with a `...`.
      const bool is_written = !type.value || type.value->constant();
      if (!type.uniform && is_written) return int_const(int64_t(type.fields.size()), span);
      return Expr{Type::host_int(type.value), span, node::ListLength{cx.keep(std::move(base))}};
    }
  }
  if (!holds_layers(type) && !type.fields.empty()) return std::nullopt;
  if (field == "weights") return weights_of(std::move(base), span, cx);
  known.emplace_back("weights");
  return std::nullopt;
}

std::optional<Expr> of_optimizer(Expr& base, const std::string& field, Span span, Context& cx, Known& known) {
  using library::Id;
  if (field == "weights") return weights_of(std::move(base), span, cx);
  if (field == "grads") return op_expr(Id::GradsOf, Type::of(Kind::Gradients), span, {cx.keep(std::move(base))});
  if (field == "name") return op_expr(Id::OptimizerName, Type::of(Kind::Str), span, {cx.keep(std::move(base))});
  if (field == "lr") {
    const ExprId step = cx.keep({Type::host_int(), span, node::Context{"global_step"}});
    return op_expr(Id::OptimizerLr, Type::of(Kind::Float), span, {cx.keep(std::move(base)), step});
  }
  for (const OptimizerField& one : kOptimizerFields) known.emplace_back(one.name);
  for (const OptimizerMethod& one : kOptimizerMethods) known.emplace_back(one.name);
  return std::nullopt;
}

std::optional<Expr> of_stream(Expr& base, const std::string& field, Span span, Context& cx, Known& known) {
  if (!base.type.has_vocab) return std::nullopt;
  known = {"vocab"};
  if (field != "vocab") return std::nullopt;
  Type size = Type::host_int();
  const auto* member = base.get<node::DataMember>();
  if (member == nullptr) return op_expr(library::Id::CharacterCount, size, span, {cx.keep(std::move(base))});
  const AtomId atom = cx.program.atoms.variable("data." + member->name + ".vocab", 0, false, true);
  size.value = Polynomial::atom(atom);
  Expr result = op_expr(library::Id::CharacterCount, size, span, {cx.keep(std::move(base))});
  cx.program.sizes_at_start[atom] = result;
  return result;
}

std::optional<Expr> known_part(Expr& base, const std::string& field, Span span, Context& cx, Known& known) {
  switch (base.type.kind) {
    case Kind::Record: return of_record(base, field, span, cx, known);
    case Kind::Tensor: return of_tensor(base, field, span, cx, known);
    case Kind::Block:
    case Kind::Model:
    case Kind::Data: return of_object(base, field, span, cx, known);
    case Kind::Metric:
      for (const auto& [fn, info] : find_object(cx, Kind::Metric, base.type.decl)->fns) known.push_back(fn);
      return std::nullopt;
    case Kind::List:
    case Kind::Tuple: return of_sequence(base, field, span, cx, known);
    case Kind::Str:
    case Kind::Path:
      if (field == "length")
        return op_expr(library::Id::TextLength, Type::host_int(), span, {cx.keep(std::move(base))});
      known = text_methods(base.type);
      return std::nullopt;
    case Kind::Function:
      if (!is_block_param(base)) return std::nullopt;
      known = {"weights"};
      if (field != "weights") return std::nullopt;
      return weights_of(std::move(base), span, cx);
    case Kind::Optimizer: return of_optimizer(base, field, span, cx, known);
    case Kind::Stream: return of_stream(base, field, span, cx, known);
    default: return std::nullopt;
  }
}

}  // namespace

namespace {

/// Where a `type` of the file declares the field that was probably meant: it is as likely the one that is misspelt.
void label_field(diagnostics::Diagnostic& diagnostic, const Type& record, const std::string& field,
                 const Scope& scope) {
  for (const ast::Decl& decl : scope.cx.graph.modules[scope.module].ast.decls) {
    const auto* named = decl.get<ast::TypeName>();
    const auto* fields = named != nullptr ? named->type.get<ast::RecordType>() : nullptr;
    if (fields == nullptr || fields->fields.size() != record.fields.size()) continue;
    for (size_t i = 0; i < fields->fields.size(); ++i) {
      if (fields->fields[i].name.text != record.fields[i].name) break;
      if (fields->fields[i].name.text == field) {
        diagnostic.label(fields->fields[i].name.span, "declared here");
        return;
      }
    }
  }
}

/// `x.max(1).values`, where `max` gives these alone, and `x.max(1).indices`.
bool help_of_values(diagnostics::Diagnostic& diagnostic, const ExprView& base, const ast::Name& field, Span span) {
  const auto* call = base.get<node::Op>();
  const bool is_extreme = call != nullptr && (call->op == library::Id::Max || call->op == library::Id::Min);
  if (!is_extreme || (field.text != "values" && field.text != "indices")) return false;
  const std::string name(library::info(call->op).name);
  diagnostic.note("`{}` gives the values alone", name);
  if (field.text == "values")
    diagnostic.help("leave `.values` out; the places are given by `arg{}`", name)
        .fix({span.source, base.span.end, span.end}, "");
  else
    diagnostic.help("the places are given by `arg{}`", name);
  return true;
}

}  // namespace

bool is_own_weight(const ExprView& value, const Scope& scope) {
  const auto* member = value.get<node::Member>();
  if (member == nullptr || scope.owner == nullptr || !scope.cx.at(member->object).is<node::Self>()) return false;
  const auto info = scope.owner->members.find(member->name);
  return info != scope.owner->members.end() && info->second.kind == MemberKind::Weight;
}

Expr field_of(Expr base, const ast::Name& name, Span span, Scope& scope) {
  Context& cx = scope.cx;
  const Type type = base.type;
  switch (type.kind) {
    case Kind::Error: return error_at(span);
    case Kind::Facts:
    case Kind::FieldFacts:
    case Kind::Vocabulary:
    case Kind::Tokenizer: return known_field(std::move(base), name, span, scope);
    default: break;
  }
  // There, they are made and used up within `minimize`.
  if (type.kind == Kind::Optimizer && name.text == "grads" && scope.place == Place::Step && !scope.info->is_manual) {
    if (std::exchange(scope.info->is_told_manual, true)) return error_at(span);
    cx.report(diag::wrong_place(span, "gradients are there in manual steps and in hooks such as `before_step`")
                  .help("the callback `GradNorm()` records their norm; a hook reads `optimizer.grads`"));
    return error_at(span);
  }
  Known known;
  if (std::optional<Expr> part = known_part(base, name.text, span, cx, known)) return *part;
  if (type.kind == Kind::Record && is_told_missing(type, name.text, cx)) return error_at(span);
  diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, cx.text(type), name.text);
  const Symbol* function = type.is_tensor() ? cx.graph.find(scope.module, name.text) : nullptr;
  const std::vector<std::string> methods = text_methods(type);
  const bool is_helped = help_of_values(diagnostic, base, name, span);
  if ((type.kind == Kind::Optimizer && find_member(kOptimizerMethods, name.text) != nullptr) ||
      std::ranges::find(methods, name.text) != methods.end() ||
      (function != nullptr && (function->kind == SymbolKind::Op || function->kind == SymbolKind::Fn))) {
    diagnostic.help("it is called: `{}()`", cx.source_text(span));
  } else if (name.text == "weights" && is_own_weight(base, scope)) {
    diagnostic.help("it is one itself: `{}`", cx.source_text(base.span))
        .fix({span.source, base.span.end, span.end}, "");
  } else if (type.kind == Kind::Stream && name.text == "vocab") {
    diagnostic.note("only a stream of characters, which begins with `text_chars`, has a vocabulary");
  } else if (!is_helped && did_you_mean(diagnostic, name.text, name.span, known, diagnostics::WordUse::Attribute)) {
    // `net.parameters()` calls what is no function here.
    const bool is_empty_call = cx.source_text({span.source, name.span.end, span.end}) == "()";
    if (is_empty_call && diagnostic.fixes.size() == 1 && diagnostic.fixes[0].replacement == "weights")
      diagnostic.fixes[0].span.end = span.end;
  } else if (!is_helped && !known.empty()) {
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "`" : ", `") + one + "`";
    diagnostic.note("it has {}", list);
  }
  if (type.kind == Kind::Record && diagnostic.fixes.size() == 1)
    label_field(diagnostic, type, diagnostic.fixes[0].replacement, scope);
  cx.report(std::move(diagnostic));
  return error_at(span);
}

namespace {

/// `data.vocab_size` of data that counts words under another name.
bool help_of_vocabulary(diagnostics::Diagnostic& diagnostic, const ast::Name& field, const ObjectInfo& data) {
  if (!field.text.starts_with("vocab")) return false;
  for (const auto& [member, info] : data.members) {
    if (!info.type.is_vocabulary()) continue;
    diagnostic.help("`data.{}` is the vocabulary, and `data.{}.size` how many words it has", member, member);
    return true;
  }
  return false;
}

}  // namespace

Expr check_field(const ast::Expr& expr, const ast::Field& field, Scope& scope) {
  Context& cx = scope.cx;
  if (const auto* base = field.base->get<ast::NameRef>(); base != nullptr && !scope.find_local(base->name.text)) {
    const std::string& name = base->name.text;
    if (name == "data" && scope.data != nullptr) {
      for (const auto& [member, info] : scope.data->members) {
        if (member == field.name.text) return {info.type, expr.span, node::DataMember{member}};
      }
      for (const ParamInfo& param : scope.data->params) {
        if (param.name != field.name.text) continue;
        return {param.type, expr.span, node::DataMember{param.name, true}};
      }
      if (scope.data->is_damaged) return error_at(expr.span);
      std::vector<std::string> known;
      for (const auto& [member, info] : scope.data->members) known.push_back(member);
      for (const ParamInfo& param : scope.data->params) known.push_back(param.name);
      diagnostics::Diagnostic diagnostic =
          diag::unknown_field(field.name.span, "data `" + scope.data->name + "`", field.name.text);
      if (!help_of_vocabulary(diagnostic, field.name, *scope.data) &&
          !did_you_mean(diagnostic, field.name.text, field.name.span, known) && !known.empty())
        note_known(diagnostic, known);
      cx.report(std::move(diagnostic));
      return error_at(expr.span);
    }
    if (name == "batch" && hook_brings("batch", scope)) return hook_batch_field(field.name, expr.span, scope);
    if (name == "run" && (scope.place == Place::Hook || scope.place == Place::Experiment)) {
      if (const RunField* row = find_member(kRunFields, field.name.text))
        return {Type::of(row->is_path ? Kind::Path : Kind::Str), expr.span, node::Context{"run." + field.name.text}};
      cx.report(diag::unknown_field(field.name.span, "`run`", field.name.text).note("it has `dir` and `name`"));
      return error_at(expr.span);
    }
    if (cx.graph.modules[scope.module].aliases.contains(name)) {
      if (const Symbol* symbol = cx.graph.find(scope.module, name + "." + field.name.text))
        return check_symbol(*symbol, expr.span, scope);
      report_not_in_module(field.name, name, scope);
      return error_at(expr.span);
    }
  }
  return field_of(check_base(field, scope), field.name, expr.span, scope);
}

}  // namespace ltr::check
