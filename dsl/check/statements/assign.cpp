#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/declared_at.h"
#include "dsl/check/scope/aside.h"
#include "dsl/check/statements/statements.h"

namespace ltr::check {

namespace {

bool is_nested(const Scope& scope) { return scope.frames.size() > 2; }

}  // namespace

std::optional<LocalId> outer_local(const std::string& name, const Scope& scope) {
  if (!is_nested(scope) || scope.frames.back().contains(name)) return std::nullopt;
  return scope.find_local(name);
}

namespace {

/// Writes sizes that are proven to be the declared ones as these: two halves of `D`, put together again, are `D`.
void take_equal_sizes(Type& type, const Type& declared, Context& cx) {
  if (!type.is_tensor() || !declared.is_tensor() || type.dims.size() != declared.dims.size()) return;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const Dim& kept = declared.dims[i];
    Dim& own = type.dims[i];
    if (own.group != 0 || kept.group != 0 || own.size == kept.size) continue;
    const Polynomial left = with_facts(own.size, cx), right = with_facts(kept.size, cx);
    if (left == right || are_same_size(left, right, cx)) own.size = kept.size;
  }
}

/// Assigns to a variable of an enclosing body. A loop keeps its type; after a branch dims that
/// differ are `?`.
bool rejoin(LocalId local, Expr& value, bool is_updated, Scope& scope) {
  Context& cx = scope.cx;
  const Type declared = scope.local(local).type;
  // What the variable holds is not known any more, whatever it was before.
  if (value.type.is_error()) scope.local(local).type = Type::error();
  if (declared.is_error() || value.type.is_error() || declared == value.type) return true;
  if (declared.is_host_number() && value.type.is_tensor()) {
    const std::string& name = scope.local(local).name;
    diagnostics::Diagnostic diagnostic =
        diag::wrong_argument(value.span, "the value must be " + cx.text(declared) + ", not " + cx.text(value.type));
    // A step keeps its numbers on the device; `.item()` is refused in training.
    const bool is_on_device = scope.place == Place::Step && value.type.dims.empty();
    if ((is_on_device || is_updated) && is_floating(value.type.element)) {
      std::string dims;
      for (const Dim& dim : value.type.dims) dims += (dims.empty() ? "" : ", ") + cx.text(dim.size);
      const bool is_known = std::none_of(value.type.dims.begin(), value.type.dims.end(), [&](const Dim& dim) {
        return dim.group != 0 || cx.program.atoms.mentions_unknown(dim.size);
      });
      diagnostic.help("`{}` begins as a tensor: `{} = zeros({})`", name, name, is_known ? dims : "…");
    } else {
      add_cure(diagnostic, value, declared, cx);
    }
    cx.report(std::move(diagnostic));
    scope.local(local).type = Type::error();  // What the variable is meant to be is not known any more.
    return false;
  }
  value = convert(std::move(value), declared, scope, "the value");
  // What the variable is meant to be is not known any more, once it is given what it does not take.
  const auto lose = [&] {
    scope.local(local).type = Type::error();
    return false;
  };
  if (value.type.is_error()) return lose();
  take_equal_sizes(value.type, declared, cx);
  const auto merged = merge(declared, value.type, cx);
  if (!merged) {
    diagnostics::Diagnostic diagnostic = diag::branches_differ(value.span, cx.text(declared), cx.text(value.type));
    diagnostic.note("`{}` keeps its type where branches and loops meet", scope.local(local).name);
    if (scope.loop_depth > 0 && declared.is_tensor() && value.type.is_tensor())
      diagnostic.help("what `{}` begins with has the shape that it goes on with: {}", scope.local(local).name,
                      cx.text(value.type));
    cx.report(std::move(diagnostic));
    return lose();
  }
  if (scope.loop_depth > 0 && declared.is_tensor()) {
    for (size_t i = 0; i < declared.dims.size(); ++i) {
      const Polynomial& kept = declared.dims[i].size;
      if (declared.dims[i] == value.type.dims[i] || cx.program.atoms.mentions_unknown(kept)) continue;
      cx.report(diag::wrong_type(value.span, "a loop carries `" + scope.local(local).name + "`: it stays " +
                                                 cx.text(declared) + ", and cannot become " + cx.text(value.type))
                    .help("declare the dim that grows before the loop: `{}: {}[…, ?] = …`", scope.local(local).name,
                          to_text(declared.element)));
      return lose();
    }
    return true;
  }
  scope.local(local).type = *merged;
  return true;
}

/// What `net.body.weight` names, of members of members; null if it is none.
const MemberInfo* member_at(const ast::Expr& expr, Scope& scope) {
  const auto* name = expr.get<ast::NameRef>();
  const auto* field = expr.get<ast::Field>();
  const MemberInfo* around = field != nullptr ? member_at(*field->base, scope) : nullptr;
  const ObjectInfo* object = name != nullptr ? scope.owner
                             : around != nullptr && around->type.kind == Kind::Block
                                 ? find_object(scope.cx, Kind::Block, around->type.decl)
                                 : nullptr;
  if (object == nullptr) return nullptr;
  const auto found = object->members.find(name != nullptr ? name->name.text : field->name.text);
  return found != object->members.end() ? &found->second : nullptr;
}

/// E0324 of a name of the declaration around that keeps its value, or of the part `target` of it. False if it is none.
bool report_kept_name(const ast::Name& name, const ast::Expr& target, Scope& scope) {
  if (scope.owner == nullptr) return false;
  std::string what;
  const auto member = scope.owner->members.find(name.text);
  if (member != scope.owner->members.end()) {
    const MemberKind kind = member->second.kind;
    // What could not be read may have been a state.
    if (member->second.type.is_error() || kind == MemberKind::Buffer || kind == MemberKind::State) return false;
    what = kind == MemberKind::Weight ? "a weight: optimizers change it" : "a member, built once";
  } else {
    const bool is_param = std::any_of(scope.owner->params.begin(), scope.owner->params.end(),
                                      [&](const ParamInfo& param) { return param.name == name.text; });
    if (!is_param || scope.info == nullptr || scope.find_local(name.text)) return false;
    what = "a parameter of `" + scope.owner->name + "`";
  }
  const bool is_part = target.get<ast::NameRef>() == nullptr;
  const bool is_metric = member != scope.owner->members.end() && member->second.kind == MemberKind::Metric;
  diagnostics::Diagnostic diagnostic = diag::not_assignable_member(is_part ? target.span : name.span, name.text, what);
  if (is_metric && !is_part) {
    diagnostic.help("the value of a metric is logged: `log {} = {}(…)`", name.text, name.text)
        .fix({name.span.source, name.span.begin, name.span.begin}, "log ");
  } else if (!is_part) {
    diagnostic.help("choose another name for the local");
  }
  const ast::Expr* whole = &target;
  while (const auto* index = whole->get<ast::Index>()) whole = &*index->base;
  if (const MemberInfo* part = is_part ? member_at(*whole, scope) : nullptr) {
    if (part->kind == MemberKind::Weight)
      diagnostic.help("with what its weights begin is said in the model: `init \"{}\" = …`",
                      scope.cx.source_text(whole->span));
    if (part->kind == MemberKind::Buffer || part->kind == MemberKind::State)
      diagnostic.help("its own functions and steps change states and buffers");
  }
  scope.cx.report(std::move(diagnostic));
  return true;
}

/// W0303: a first assignment to a name that has a value from elsewhere and will not get this one.
void warn_of_hidden(const ast::Name& name, bool is_updated, Scope& scope) {
  Context& cx = scope.cx;
  if (scope.find_local(name.text) || cx.graph.modules[scope.module].is_library) return;
  if (scope.owner != nullptr && scope.owner->members.contains(name.text)) return;
  const std::vector<std::string> brought = scope.brought_names();
  const Symbol* symbol = cx.graph.find(scope.module, name.text);
  const bool is_brought = std::find(brought.begin(), brought.end(), name.text) != brought.end();
  if (!is_brought && !(is_updated && symbol != nullptr && symbol->kind == SymbolKind::Const)) return;
  diagnostics::Diagnostic diagnostic =
      diag::hidden_name(name.span, name.text, is_brought ? "what this place brings" : "the `const`");
  if (!is_brought) diagnostic.label(symbol->span, "it keeps its value");
  cx.report(std::move(diagnostic.help("choose another name for the local")));
}

/// Converts to the type of a state or buffer; what does not fit has a label where that is declared.
Expr convert_to_kept(Expr value, const ast::Name& name, const Type& type, Span span, Scope& scope) {
  Context& cx = scope.cx;
  diagnostics::Sink found;
  {
    const Aside aside(cx, found);
    value = convert(std::move(value), type, scope, "the value");
  }
  const Expr self{Type::error(), span, node::Self{}};
  const Expr kept{type, span, node::Member{cx.keep(self), name.text}};
  for (diagnostics::Diagnostic one : found.reported()) {
    label_declared(one, kept, scope);
    cx.report(std::move(one));
  }
  return value;
}

Stmt assign_name(const ast::Name& name, const ast::Expr& target, Expr value, bool is_updated, Span span, Scope& scope) {
  Context& cx = scope.cx;
  if (report_kept_name(name, target, scope)) {
    // What reads it below means the local that it cannot be.
    if (target.get<ast::NameRef>() != nullptr && !scope.find_local(name.text)) scope.declare(name.text, Type::error());
    return {span, stmt::Error{}};
  }
  if (scope.owner != nullptr) {
    if (const auto member = scope.owner->members.find(name.text); member != scope.owner->members.end()) {
      if (member->second.type.is_error()) return {span, stmt::Error{}};
      const MemberKind kind = member->second.kind;
      if (kind == MemberKind::Buffer || kind == MemberKind::State) {
        value = convert_to_kept(std::move(value), name, member->second.type, span, scope);
        Binding binding;
        if (value.type.is_error() ||
            !match(member->second.type, value.type, binding, {}, value.span, scope, "the value", false)) {
          return {span, stmt::Error{}};
        }
        return {span, stmt::SetMember{name.text, cx.keep(std::move(value))}};
      }
    }
  }
  warn_of_hidden(name, is_updated, scope);
  const auto outer = outer_local(name.text, scope);
  if (outer && !rejoin(*outer, value, is_updated, scope)) return {span, stmt::Error{}};
  const LocalId local = outer ? *outer : scope.declare(name.text, value.type);
  const bool has_layers = !outer && holds_layers(value.type);
  const ExprId given = cx.keep(std::move(value));
  scope.local(local).layers = has_layers ? std::optional(given) : std::nullopt;
  return {span, stmt::Let{local, given}};
}

/// Makes `value` what may stand in place of a part of type `part`; it may be stretched to it.
Expr fit_part(Expr value, const Type& part, Scope& scope) {
  Context& cx = scope.cx;
  const bool is_number = value.type.is_host_number() && part.is_tensor();
  value = convert(std::move(value), is_number ? Type::tensor(part.element, {}) : part, scope, "the value");
  if (value.type.is_error()) return value;
  const Span span = value.span;
  if (!part.is_tensor()) return value;
  if (value.type.element != part.element) {
    cx.report(diag::wrong_element(span, std::string("the value has elements of type ") + to_text(value.type.element) +
                                            ", the part " + to_text(part.element))
                  .help("`.to({})` converts", to_text(part.element)));
    return error_at(span);
  }
  const Broadcast joined = broadcast(part.dims, value.type.dims, cx);
  bool fits = joined.dims && joined.dims->size() == part.dims.size();
  for (size_t i = 0; fits && i < part.dims.size(); ++i)
    fits = (*joined.dims)[i] == part.dims[i] || cx.program.atoms.mentions_unknown(part.dims[i].size);
  for (const auto& [left, right] : joined.equal) fits = fits && require_equal(left, right, span, scope, true);
  if (fits) return value;
  cx.report(diag::dims_differ(span, "the value does not fit: the part is " + cx.text(part))
                .label(span, "{}", cx.text(value.type)));
  return error_at(span);
}

/// What replaces the part that an index takes; `None` if `op` takes none.
library::Id put_of(library::Id op) {
  if (op == library::Id::Select) return library::Id::PutSelect;
  if (op == library::Id::Slice) return library::Id::PutSlice;
  if (op == library::Id::IndexTensor) return library::Id::PutTensor;
  return library::Id::None;
}

/// What `part` is a part of, by indices and fields that can be replaced.
ExprView whole_of(const ExprView& part, const Context& cx) {
  if (const auto* field = part.get<node::RecordField>()) return whole_of(cx.at(field->record), cx);
  const auto* index = part.get<node::Op>();
  return index != nullptr && put_of(index->op) != library::Id::None ? whole_of(cx.at(index->args[0]), cx) : part;
}

/// E0324 of a member of what a member or a local holds, `model.net.weight`.
void report_other_member(const ast::Expr& target, const ExprView& whole, Scope& scope) {
  scope.cx.report(
      diag::not_assignable_member(target.span, scope.cx.source_text(whole.span), "a member of another object")
          .help("its own functions and steps change states and buffers, optimizers weights"));
}

/// The whole of which `part` is a part, with `value` in its place. Tensors are values, so this is a
/// new one. `part` is what indexing gave: `select`, `slice` and so on of what stands around it.
Expr put_part(const ExprView& part, Expr value, Span span, Scope& scope) {
  Context& cx = scope.cx;
  if (const auto* written = part.get<node::RecordField>()) {
    const ExprView& record = cx.at(written->record);
    node::Record whole;
    Type type = record.type;
    for (TypeField& field : type.fields) {
      if (field.name != written->name) {
        whole.values.push_back(cx.keep({field.type, span, node::RecordField{written->record, field.name}}));
        continue;
      }
      // An int is another size now, alone or in what stands around it.
      const bool holds_sizes = field.type.kind == Kind::Int || field.type.kind == Kind::Record;
      if (holds_sizes && value.type.kind == field.type.kind) field.type = value.type;
      whole.values.push_back(cx.keep(std::move(value)));
    }
    return put_part(record, {std::move(type), span, std::move(whole)}, span, scope);
  }
  if (const auto* index = part.get<node::Op>()) {
    ExprIds args = index->args;
    args.push_back(cx.keep(std::move(value)));
    const ExprView& base = cx.at(index->args[0]);
    return put_part(base, op_expr(put_of(index->op), base.type, span, std::move(args)), span, scope);
  }
  return value;
}

/// The new value of the variable whose part `target` is; `root` becomes its name.
Expr with_part(const ast::Expr& target, Expr part, Expr value, const ast::Expr*& root, Scope& scope) {
  for (;;) {
    if (const auto* index = root->get<ast::Index>()) {
      root = &*index->base;
    } else if (const auto* field = root->get<ast::Field>()) {
      root = &*field->base;
    } else {
      break;
    }
  }
  const bool is_of_list = part.is<node::ListElement>() || part.is<node::TupleElement>();
  if (is_of_list) {
    const bool is_tuple = part.is<node::TupleElement>();
    scope.cx.report(
        diag::wrong_place(target.span,
                          std::string("an element of a ") + (is_tuple ? "tuple" : "list") + " stays what it is")
            .help("make it anew: `{}`", is_tuple ? "t = (t[0], NEW)" : "l = l[.. i] + [NEW] + l[i + 1 ..]"));
    return error_at(target.span);
  }
  const ExprView whole = whole_of(part, scope.cx);
  const auto* member = whole.get<node::Member>();
  // Of what a member of its own holds `report_kept_name` speaks.
  const auto* name = root->get<ast::NameRef>();
  const bool is_own = name != nullptr && scope.owner != nullptr && scope.owner->members.contains(name->name.text);
  if (member != nullptr && !is_own && !scope.cx.at(member->object).is<node::Self>()) {
    report_other_member(target, whole, scope);
    return error_at(target.span);
  }
  if (member == nullptr && !whole.is<node::Local>()) {
    diagnostics::Diagnostic diagnostic =
        diag::wrong_place(target.span, "only an index or a field of a variable can be assigned to");
    const auto* field = target.get<ast::Field>();
    if (field != nullptr && field->name.text == "lr")
      diagnostic.help("a rate is set by `{}.set_lr(…)`", scope.cx.source_text(field->base->span));
    scope.cx.report(std::move(diagnostic));
    return error_at(target.span);
  }
  value = fit_part(std::move(value), part.type, scope);
  if (value.type.is_error()) return value;
  return put_part(part, std::move(value), target.span, scope);
}

}  // namespace

namespace {

/// `x += e` is `x = x + e`; nothing for `x = e`.
std::optional<ast::BinaryOp> operator_of(ast::AssignOp op) {
  switch (op) {
    case ast::AssignOp::Set: break;
    case ast::AssignOp::Add: return ast::BinaryOp::Add;
    case ast::AssignOp::Subtract: return ast::BinaryOp::Subtract;
    case ast::AssignOp::Multiply: return ast::BinaryOp::Multiply;
    case ast::AssignOp::Divide: return ast::BinaryOp::Divide;
  }
  return std::nullopt;
}

}  // namespace

Stmt check_assign(const ast::Stmt& statement, const ast::Assign& assign, Scope& scope) {
  const std::optional<ast::BinaryOp> op = operator_of(assign.op);
  const auto* name = assign.target.get<ast::NameRef>();
  if (assign.target.is_error()) {
    check_expr(assign.value, scope);
    return {statement.span, stmt::Error{}};
  }
  if (op && name != nullptr && report_kept_name(name->name, assign.target, scope)) {
    check_expr(assign.value, scope);
    return {statement.span, stmt::Error{}};
  }
  // What is read of the target: its old value, or the part that is replaced.
  Expr part;
  if (op && name != nullptr) part = check_name(assign.target, name->name, scope, {.is_updated = true});
  if (op && name != nullptr && part.type.kind == Kind::Function) {
    diagnostics::Diagnostic diagnostic =
        diag::wrong_type(name->name.span, "`" + name->name.text + "` is a function, and holds no value");
    did_you_mean(diagnostic, name->name.text, name->name.span, scope.near_names());
    scope.cx.report(std::move(diagnostic));
    part = error_at(name->name.span);
  }
  if (name == nullptr) part = check_expr(assign.target, scope);
  Expr value = check_expr(assign.value, scope);
  // What is updated and unknown was told once, for all that follows in the function.
  if (op && name != nullptr && part.type.is_error() && !scope.find_local(name->name.text))
    scope.frames[std::min<size_t>(1, scope.frames.size() - 1)][name->name.text] = scope.hidden_local(Type::error());
  if (op) value = apply_operator(*op, assign.op_span, part, std::move(value), statement.span, scope);
  if (name == nullptr) {
    if (part.type.is_error() || value.type.is_error()) return {statement.span, stmt::Error{}};
    const ast::Expr* root = &assign.target;
    value = with_part(assign.target, std::move(part), std::move(value), root, scope);
    if (value.type.is_error()) return {statement.span, stmt::Error{}};
    name = root->get<ast::NameRef>();
  }
  if (value.type.kind == Kind::Void || value.type.kind == Kind::MetricValue) {
    const auto* update = value.get<node::CallMetric>();
    if (update != nullptr) note_lost_log(*update, scope);
    if (update != nullptr && report_kept_name(name->name, assign.target, scope)) return {statement.span, stmt::Error{}};
    diagnostics::Diagnostic diagnostic = diag::wrong_type(
        value.span, update == nullptr ? "this gives no value" : "the value of a metric can only be logged");
    if (update != nullptr) {
      diagnostic.help("`log {} = {}`", name->name.text, scope.cx.source_text(value.span));
    }
    scope.cx.report(std::move(diagnostic));
    value.type = Type::error();
  }
  const auto known = scope.find_local(name->name.text);
  if (value.type.kind == Kind::None && known && scope.local(*known).type.kind == Kind::Option) {
    value = convert(std::move(value), scope.local(*known).type, scope, "the value");
  } else if (value.type.kind == Kind::None) {
    scope.cx.report(diag::wrong_type(
        value.span, "`none` alone has no type: declare it, `" + name->name.text + ": option[…] = none`"));
    value.type = Type::error();
  }
  return assign_name(name->name, assign.target, std::move(value), op.has_value(), statement.span, scope);
}

namespace {

/// How what is given is taken apart; of an inner tuple, in a line of its own.
void cure_unpack(diagnostics::Diagnostic& diagnostic, const ast::Unpack& unpack, const ExprView& value,
                 const Context& cx) {
  const auto names = [&](size_t begin, size_t end) {
    std::string text;
    for (size_t i = begin; i < end; ++i) text += (text.empty() ? "" : ", ") + unpack.names[i].text;
    return text;
  };
  const std::string given = cx.source_text(value.span);
  const size_t wanted = unpack.names.size();
  const std::vector<TypeField>& parts = value.type.fields;
  const auto* op = value.get<node::Op>();
  const bool is_max = op != nullptr && op->op == library::Id::Max, is_min = op != nullptr && op->op == library::Id::Min;
  const size_t word = is_max || is_min ? given.rfind(is_max ? "max(" : "min(") : std::string::npos;
  if (word != std::string::npos) {
    diagnostic.help("where it stands is a value of its own: `{} = {}`", unpack.names.back().text,
                    std::string(given).insert(word, "arg"));
  } else if (value.type.is_tensor()) {
    diagnostic.help("it is one tensor: `{} = {}`", unpack.names[0].text, given);
  } else if (value.type.kind == Kind::Tuple && !parts.empty() && parts.back().type.kind == Kind::Tuple &&
             parts.size() + parts.back().type.fields.size() == wanted + 1) {
    const size_t outer = parts.size() - 1;
    diagnostic.help("one level at a time: `{}, rest = {}`, then `{} = rest`", names(0, outer), given,
                    names(outer, wanted));
  } else if (value.type.kind == Kind::Tuple && parts.size() < wanted) {
    diagnostic.help("there are {}: `{} = {}`", parts.size(), names(0, parts.size()), given);
  } else if (value.type.kind == Kind::Tuple) {
    diagnostic.help("each of the {} has a name: `{}{} = {}`", parts.size(), names(0, wanted),
                    parts.size() == wanted + 1 ? ", rest" : ", …", given);
  }
}

}  // namespace

Stmt check_unpack(const ast::Stmt& statement, const ast::Unpack& unpack, Scope& scope) {
  Expr value = check_expr(unpack.value, scope);
  stmt::Unpack result;
  const bool is_sequence = value.type.kind == Kind::Tuple || (value.type.kind == Kind::List && !value.type.uniform);
  if (!value.type.is_error() && (!is_sequence || value.type.fields.size() != unpack.names.size())) {
    diagnostics::Diagnostic diagnostic = diag::wrong_type(
        value.span, std::to_string(unpack.names.size()) + " names cannot take " + scope.cx.text(value.type) + " apart");
    cure_unpack(diagnostic, unpack, value, scope.cx);
    scope.cx.report(std::move(diagnostic));
    value.type = Type::error();
  }
  result.value = scope.cx.keep(value);
  for (size_t i = 0; i < unpack.names.size(); ++i) {
    const Type type = value.type.is_error() ? Type::error() : value.type.fields[i].type;
    const std::string& name = unpack.names[i].text;
    if (scope.owner != nullptr && scope.owner->members.contains(name)) {
      scope.cx.report(diag::not_assignable_member(unpack.names[i].span, name, "a member, built once")
                          .help("choose another name for the local"));
    }
    const auto outer = outer_local(name, scope);
    result.locals.push_back(outer ? *outer : scope.declare(name, type));
    std::optional<ExprId>& layers = scope.local(result.locals.back()).layers;
    layers.reset();
    if (!outer && value.type.kind == Kind::Tuple && holds_layers(type))
      layers = scope.cx.keep({type, value.span, node::TupleElement{result.value, int64_t(i)}});
  }
  return {statement.span, std::move(result)};
}

Stmt check_declare(const ast::Stmt& statement, const ast::Declare& declare, Scope& scope) {
  const Type type = check_type(declare.type, scope);
  Expr value = check_as(declare.value, type, scope, "the value");
  Binding binding;
  if (!value.type.is_error() && !type.is_error()) {
    match(type, value.type, binding, {}, value.span, scope, "the value", false);
  }
  const bool is_refused = value.type.is_error() && is_literal(declare.value);
  const LocalId local = scope.declare(declare.name.text, is_refused ? Type::error() : type);
  return {statement.span, stmt::Let{local, scope.cx.keep(std::move(value))}};
}

}  // namespace ltr::check
