#include <algorithm>
#include <set>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/scope/twice.h"
#include "dsl/check/types/types.h"
#include "dsl/check/walk.h"
#include "dsl/resolve/library.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// Adds to what says that a stream differs that `name` is declared in the batch as it is in one record.
void help_without_batch(diagnostics::Diagnostic& diagnostic, const ObjectInfo& object, const ast::FieldType& field,
                        const Type& have, Context& cx) {
  Type want = object.batch.find(field.name.text)->type;
  const std::string& binder = object.decl->get<ast::Data>()->batch_binders[0].text;
  const Dim batch{.size = Polynomial::atom(object.batch_binders.at(binder)), .group = 0};
  // Of `y: i64[B]` another dim than that of the batch is left out.
  if (!want.dims.empty() && want.dims[0] == batch) want.dims.assign(have.dims.begin() + 1, have.dims.end());
  want.dims.insert(want.dims.begin(), batch);
  const std::string whole = cx.text(want);
  diagnostic.help("one for each record: `{}: {}`", field.name.text, whole).fix(field.type->span, whole);
}

/// The one field of the batch that a stream does not deliver, if `other`, which the batch does not have, could be it.
const TypeField* missing_field(const Type& batch, const Type& record, const Type& other) {
  const TypeField* missing = nullptr;
  for (const TypeField& field : batch.fields) {
    if (record.find(field.name) != nullptr) continue;
    if (missing != nullptr) return nullptr;
    missing = &field;
  }
  const bool fits = missing != nullptr && missing->type.kind == other.kind && missing->type.element == other.element &&
                    missing->type.dims.size() == other.dims.size();
  return fits ? missing : nullptr;
}

/// Whether what a stream delivers is the batch: its fields are among the batch's, with equal types. Reasons that were `told` of another
/// stream are no mistakes of their own.
bool check_stream(Context& cx, const ObjectInfo& object, const StreamDecl& stream, std::set<std::string>& told,
                  Scope& scope) {
  const ast::Data& data = *object.decl->get<ast::Data>();
  if (data.batch_span.is_empty()) return false;  // Which was said.
  Type record = Type::of(Kind::Record);
  record.fields = stream.value.type.fields;
  const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
  const ast::FieldType* lacking = nullptr;  // a dim, mostly that of the batch
  const auto fail = [&](const std::string& why, const std::string& cure = "", const std::string& wanted = "") {
    if (!told.insert(why).second) return false;
    diagnostics::Diagnostic diagnostic = diag::stream_differs(
        lacking != nullptr ? lacking->type->span : stream.value.span, name, cx.text(record), cx.text(object.batch));
    const auto declared = std::ranges::find(data.batch_fields, wanted, [](const auto& one) { return one.name.text; });
    if (declared != data.batch_fields.end() && declared->type->span != diagnostic.span)
      diagnostic.label(declared->type->span, "declared here");
    diagnostic.note("{}", why);
    if (!cure.empty()) diagnostic.help("{}", cure);
    if (lacking != nullptr) help_without_batch(diagnostic, object, *lacking, record.find(lacking->name.text)->type, cx);
    cx.report(std::move(diagnostic));
    return false;
  };
  std::set<AtomId> binders;
  for (const auto& [binder, atom] : object.batch_binders) binders.insert(atom);
  AtomTable::Substitution bound;
  for (const TypeField& field : record.fields) {
    const TypeField* wanted = object.batch.find(field.name);
    if (wanted == nullptr) {
      if (cx.told.fields.contains(field.name)) return false;
      const bool is_plain = field.type.is_tensor() && field.type.dims.size() == 1 && !object.batch.fields.empty() &&
                            !object.batch.fields[0].type.dims.empty();
      std::vector<std::string> others;
      for (const TypeField& one : object.batch.fields) others.push_back(one.name);
      const auto near = diagnostics::suggest(field.name, others);
      std::string cure;
      const TypeField* missing = near ? nullptr : missing_field(object.batch, record, field.type);
      if (near) {
        cure = "did you mean `" + *near + "`?";
      } else if (missing != nullptr) {
        const bool is_of_lengths =
            cx.source_text(stream.value.span).find("lengths = \"" + field.name + "\"") != std::string::npos;
        cure = "did you mean `" + (is_of_lengths ? "lengths = \"" + missing->name + "\"" : missing->name) +
               "`? nothing delivers `" + missing->name + "`";
      } else if (is_plain) {
        const Type declared = Type::tensor(field.type.element, {object.batch.fields[0].type.dims[0]});
        cure = "with it: `batch[…] { …, " + field.name + ": " + cx.text(declared) + " }`";
      }
      return fail("the batch has no field `" + field.name + "`", cure, missing != nullptr ? missing->name : "");
    }
    const Type& have = field.type;
    const Type& want = wanted->type;
    if (want.is_error() || have.is_error()) return true;
    if (have.kind != want.kind || have.element != want.element || have.dims.size() != want.dims.size()) {
      const bool is_text = have.kind == Kind::Texts && want.is_tensor();
      // What lacks the dim of the batch lacks it in the batch, whatever its streams are made of.
      if (have.is_tensor() && want.is_tensor() && have.element == want.element &&
          have.dims.size() == want.dims.size() + 1 && !data.batch_binders.empty())
        lacking = &*std::find_if(data.batch_fields.begin(), data.batch_fields.end(),
                                 [&](const ast::FieldType& one) { return one.name.text == field.name; });
      return fail("`" + field.name + "` is " + cx.text(have) + ", the batch wants " + cx.text(want),
                  is_text ? "make numbers of texts in a map: `class_of(row." + field.name + ", [\"…\", \"…\"])`" : "",
                  field.name);
    }
    for (size_t i = 0; i < have.dims.size(); ++i) {
      const auto atom = want.dims[i].size.single_atom();
      if (atom && binders.contains(*atom)) {
        const auto [place, is_new] = bound.try_emplace(*atom, have.dims[i].size);
        if (is_new || place->second == have.dims[i].size) continue;
      }
      const Polynomial size = cx.program.atoms.substitute(want.dims[i].size, bound);
      if (!require_equal(size, have.dims[i].size, stream.span, scope, true)) {
        return fail("`" + field.name + "` is " + cx.text(have) + ", the batch wants " + cx.text(want), "", field.name);
      }
    }
  }
  return true;
}

/// What is known of a stream is a `let` of its own, not a part of one.
void check_known_inside(const ExprView& expr, Context& cx) {
  const auto* op = expr.get<node::Op>();
  if (op != nullptr &&
      (op->op == library::Id::Facts || op->op == library::Id::Vocab || op->op == library::Id::Tokenizer)) {
    const std::string name(library::info(op->op).name);
    cx.report(diag::wrong_place(expr.span, "`" + name + "` is the value of a `let` of data")
                  .help("give it a `let` of its own"));
  }
  for_each_child(expr, [&](ExprId child) { check_known_inside(cx.at(child), cx); });
}

/// The signatures of functions are read when a stage uses them, or at the end: they may mention what lets hold, and the dims of the
/// batch.
void declare_functions(Context& cx, ObjectInfo& object, const ast::Data& data) {
  for (const ast::Item& item : data.items) {
    const auto* fn = item.get<ast::Fn>();
    if (fn == nullptr) continue;
    if (const auto same = object.fns.find(fn->name.text); same != object.fns.end()) {
      report_second(cx, fn->name, same->second->span);
      continue;
    }
    auto info = std::make_unique<FnInfo>();
    info->name = fn->name.text;
    info->span = fn->name.span;
    info->ast = fn;
    info->module = object.module;
    info->owner = &object;
    info->role = FnRole::Method;
    info->index = uint32_t(cx.program.fns.size());
    cx.program.fns.emplace_back();
    cx.program.fns.back().name = info->name;
    object.fn_order.push_back(info->name);
    info->is_unread = true;
    object.fns[info->name] = std::move(info);
  }
}

void check_let(const ast::Let& let, ObjectInfo& object, DataObject& typed, Scope& scope) {
  Context& cx = scope.cx;
  scope.let_name = let.name.text;
  Expr value = let.type ? check_as(let.value, check_type(*let.type, scope), scope) : check_expr(let.value, scope);
  scope.let_name.clear();
  for_each_child(value, [&](ExprId child) { check_known_inside(cx.at(child), cx); });
  if (const auto same = object.members.find(let.name.text); same != object.members.end()) {
    report_second(cx, let.name, same->second.span);
    return;
  }
  object.members[let.name.text] = MemberInfo{value.type, MemberKind::Let, let.name.span};
  Member member;
  member.name = let.name.text;
  member.type = value.type;
  member.value = std::move(value);
  member.span = let.name.span;
  typed.object.members.push_back(std::move(member));
}

/// The batch: binders, then fields.
void check_batch(Context& cx, ObjectInfo& object, const ast::Data& data, Scope scope) {
  check_names(cx, data.batch_binders);
  check_names(cx, data.batch_fields);
  for (const ast::Name& binder : data.batch_binders) {
    const AtomId atom = cx.program.atoms.variable(binder.text, cx.next_key++, false, false, true);
    object.batch_binders[binder.text] = atom;
    scope.dim_names[binder.text] = atom;
  }
  scope.missing_binders = &object.batch_binders;
  object.batch = Type::of(Kind::Record);
  for (const ast::FieldType& field : data.batch_fields) {
    Type type = check_type(*field.type, scope);
    if (!type.is_error() && !type.is_tensor() && type.kind != Kind::Texts) {
      diagnostics::Diagnostic diagnostic =
          diag::wrong_type(field.type->span, "a batch holds tensors and texts, not " + cx.text(type));
      if (type.kind == Kind::Str)
        diagnostic.help("a text for each record is `str[{}]`",
                        object.batch_binders.empty() ? "B" : data.batch_binders[0].text);
      cx.report(std::move(diagnostic));
      type = Type::error();
    }
    object.batch.fields.push_back({field.name.text, type});
  }
  // A batch that is missing, or whose dims are not all known, says nothing about streams and the steps that take it.
  object.is_damaged =
      object.is_damaged || data.batch_span.is_empty() || object.batch_binders.size() > data.batch_binders.size();
}

/// Whether a value is a stream of batches; its type is an error after a report.
bool is_stream(Expr& value, const std::string& role, Context& cx) {
  if (value.type.is_error()) return false;
  if (value.type.kind == Kind::Stream && value.type.uniform) return true;
  cx.report(value.type.kind == Kind::Stream
                ? diag::not_collated(value.span, role).help("end it with `|> collate(SIZE)`")
                : diag::wrong_type(value.span, "a stream is wanted here, not " + cx.text(value.type)));
  value.type = Type::error();
  return false;
}

StreamDecl check_stream_item(const ast::Stream& stream, ObjectInfo& object, DataObject& typed,
                             std::set<std::string>& told, Scope& scope) {
  Context& cx = scope.cx;
  StreamDecl declared;
  declared.role = stream.role.text;
  declared.name = stream.name ? stream.name->text : "";
  declared.span = stream.role.span;
  for (const StreamDecl& other : typed.streams) {
    if (other.role != declared.role) continue;
    if (other.name == declared.name) {
      report_second(cx, {declared.role, declared.span}, other.span);
    } else if (declared.role == kTrainRole) {
      cx.report(diag::second_train_stream(declared.span, declared.role + "." + declared.name));
    }
  }
  const ClosedCall sources{callee_of(stream.value), [] { return resolve::LibraryIndex::get().names("data/sources"); }};
  scope.closed = &sources;
  declared.value = check_expr(stream.value, scope);
  scope.closed = nullptr;
  if (!is_stream(declared.value, declared.role, cx)) return declared;
  // A batch that could not be read says nothing about what is delivered.
  if (object.is_damaged && object.batch.fields.empty()) return declared;
  if (check_stream(cx, object, declared, told, scope)) {
    declared.record = Type::of(Kind::Record);
    declared.record.fields = declared.value.type.fields;
  } else {
    // What steps and hooks miss of it, or find otherwise, follows from this.
    object.is_damaged = typed.object.is_damaged = true;
  }
  return declared;
}

/// The schema as run-time sizes: binders and what only run time knows are -1.
std::vector<std::vector<Expr>> sizes_of_batch(const ObjectInfo& object, Scope& scope) {
  const AtomTable& atoms = scope.cx.program.atoms;
  std::vector<std::vector<Expr>> sizes;
  for (const TypeField& field : object.batch.fields) {
    std::vector<Expr> dims;
    for (const Dim& dim : field.type.dims) {
      bool is_open = atoms.mentions_unknown(dim.size);
      for (const AtomId atom : atoms.deep_atoms(dim.size)) is_open = is_open || atoms.at(atom).is_binder;
      std::optional<Expr> size = is_open ? std::nullopt : expr_of(dim.size, scope, object.span);
      dims.push_back(size ? std::move(*size) : int_const(-1, object.span));
    }
    sizes.push_back(std::move(dims));
  }
  return sizes;
}

}  // namespace

void check_data_items(Context& cx, ObjectInfo& object, const ast::Data& data) {
  DataObject typed;
  typed.object = cx.program.datas[object.index].object;
  Scope scope{.cx = cx, .module = object.module, .place = Place::Data, .owner = &object, .locals = typed.object.locals};
  scope.requirements = &object.requirements;
  declare_functions(cx, object, data);
  for (const ast::Item& item : data.items) {
    if (const auto* broken = item.get<ast::ErrorItem>()) take_lost_members(*broken, object);
    if (const auto* let = item.get<ast::Let>()) check_let(*let, object, typed, scope);
  }
  check_batch(cx, object, data, scope);
  typed.batch = object.batch;
  for (const std::string& name : object.fn_order) read_late(cx, *object.fns[name]);
  std::set<std::string> told;
  for (const ast::Item& item : data.items) {
    const auto* stream = item.get<ast::Stream>();
    if (stream != nullptr) typed.streams.push_back(check_stream_item(*stream, object, typed, told, scope));
  }
  for (const std::string& name : object.fn_order) {
    check_body_of(cx, *object.fns[name]);
    typed.object.fns.push_back(object.fns[name]->index);
  }
  typed.batch_dims = sizes_of_batch(object, scope);
  if (!cx.graph.modules[object.module].is_library && !object.is_damaged) {
    check_shuffling(cx, typed);
    check_filters(cx, typed);
    check_same_records(cx, typed);
    check_measured_twice(cx, typed);
    check_splits(cx, typed);
    check_endless_inputs(cx, typed);
    check_stages(cx, typed);
    check_varied(cx, typed);
    check_padding(cx, typed);
    check_scales(cx, typed);
    check_known_records(cx, typed);
    check_columns(cx, typed, {}, {});
  }
  cx.program.datas[object.index] = std::move(typed);
}

}  // namespace ltr::check
