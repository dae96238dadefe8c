#include "dsl/check/expressions/origins.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dsl/ast/assigned.h"
#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/items.h"

namespace ltr::check {

namespace {

bool is_within(Span inner, Span outer) { return source::join(inner, outer) == outer; }

/// The object of the program that a place lies in, or null.
const ObjectInfo* object_around(Span place, const Context& cx) {
  for (const auto& [decl, object] : cx.declared.objects) {
    if (decl->span.source == place.source && is_within(place, decl->span)) return object.get();
  }
  return nullptr;
}

/// What the member `name` of an object is given where it is declared.
std::optional<Span> built_at(const ObjectInfo* object, const std::string& name, const Context& cx) {
  const std::vector<ast::Item>* items =
      object != nullptr && object->decl != nullptr ? items_in(*object->decl) : nullptr;
  if (items == nullptr || cx.graph.modules[object->module].is_library) return std::nullopt;
  if (!object->built_at) {
    object->built_at.emplace();
    for (const ast::Item& item : *items) {
      if (const auto* member = item.get<ast::Member>())
        object->built_at->emplace(member->name.text, member->value.span);
    }
  }
  const auto found = object->built_at->find(name);
  return found != object->built_at->end() ? std::optional(found->second) : std::nullopt;
}

bool is_of_sizes(diagnostics::Code code) {
  return code == diagnostics::Code::E0303 || code == diagnostics::Code::E0306 || code == diagnostics::Code::E0319;
}

void label_built(diagnostics::Diagnostic& diagnostic, const std::string& name, Span place) {
  const bool is_there = std::ranges::any_of(diagnostic.labels, [&](const auto& one) { return one.span == place; });
  if (!is_there && diagnostic.span != place) diagnostic.tie(diagnostics::Tie::Built, place, "`{}` is built here", name);
}

/// The name that is called at a place, or with what is there.
struct FindCallee {
  Span use;
  bool is_argument = false;
  const ast::Name* callee = nullptr;

  void take(const ast::Expr& called) {
    if (const auto* name = called.get<ast::NameRef>()) callee = &name->name;
  }
  void operator()(const auto& node) {
    if (callee == nullptr) ast::for_each_child(node, *this);
  }
  void operator()(const ast::Expr& expr) {
    if (callee != nullptr || !is_within(use, expr.span)) return;
    const auto* pipe = expr.get<ast::Pipe>();
    if (pipe != nullptr && (pipe->target->span == use || (!is_argument && expr.span == use))) take(*pipe->target);
    if (const auto* call = expr.get<ast::Call>()) {
      const bool has = std::ranges::any_of(call->arguments, [&](const auto& one) { return one.value->span == use; });
      if (is_argument ? has : expr.span == use) take(*call->callee);
    }
    if (callee == nullptr) ast::for_each_child(expr, *this);
  }
};

/// The stream that goes into the stage that has a function, or its name, at a place.
struct FindInput {
  Span place;
  const ast::Expr* input = nullptr;

  void operator()(const auto& node) {
    if (input == nullptr) ast::for_each_child(node, *this);
  }
  void operator()(const ast::Expr& expr) {
    if (input != nullptr || !is_within(place, expr.span)) return;
    const auto* pipe = expr.get<ast::Pipe>();
    const auto* call = pipe != nullptr ? pipe->target->get<ast::Call>() : nullptr;
    const bool is_its =
        call != nullptr && (call->callee->span == place || std::ranges::any_of(call->arguments, [&](const auto& one) {
                              return one.value->span == place;
                            }));
    if (is_its)
      input = &*pipe->value;
    else
      ast::for_each_child(expr, *this);
  }
};

/// The last of these stages, with an argument, that a stream goes through.
const ast::Expr* last_stage(const ast::Expr& stream, const std::vector<ast::Item>& items,
                            const std::vector<library::Id>& stages) {
  if (const auto* pipe = stream.get<ast::Pipe>()) {
    const auto* call = pipe->target->get<ast::Call>();
    const auto* name = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
    const bool is_meant =
        name != nullptr && !call->arguments.empty() &&
        std::ranges::any_of(stages, [&](library::Id id) { return library::info(id).name == name->name.text; });
    return is_meant ? &*pipe->target : last_stage(*pipe->value, items, stages);
  }
  // A part of a split.
  if (const auto* index = stream.get<ast::Index>()) return last_stage(*index->base, items, stages);
  const auto* name = stream.get<ast::NameRef>();
  for (const ast::Item& item : items) {
    const auto* let = name != nullptr ? item.get<ast::Let>() : nullptr;
    // What is named stands above.
    if (let != nullptr && let->name.text == name->name.text && let->value.span.end <= stream.span.begin)
      return last_stage(let->value, items, stages);
  }
  return nullptr;
}

/// The last of these stages in front of the one that is called, or has a function, at `place`; null if there is none.
const ast::Expr* stage_before(Span place, const std::vector<library::Id>& stages, const Scope& scope) {
  const ast::Decl* decl = scope.owner != nullptr ? scope.owner->decl : nullptr;
  const std::vector<ast::Item>* items = decl != nullptr ? items_in(*decl) : nullptr;
  if (items == nullptr) return nullptr;
  FindInput find{.place = place};
  find(*decl);
  return find.input != nullptr ? last_stage(*find.input, *items, stages) : nullptr;
}

/// Adds the stage in front of the one whose function is at `function` that gives the size which is not wanted.
void label_stage(diagnostics::Diagnostic& diagnostic, Span function, const Scope& scope) {
  const ast::Expr* stage = stage_before(function, {library::Id::Window, library::Id::Pack}, scope);
  if (stage == nullptr) return;
  const std::string size = scope.cx.source_text(stage->get<ast::Call>()->arguments[0].value->span);
  // Of a record of several dims another one may be wrong.
  if (diagnostic.message.ends_with(", not `" + size + "`")) diagnostic.label(stage->span, "gives `{}`", size);
}

/// Which value a name has at a place: the last that it is given above.
struct FindLast {
  const std::string& name;
  Span use;
  Assigned found;

  void operator()(const ast::Stmt& stmt) {
    for (const ast::Assignment& one : ast::assignments_of(stmt)) {
      if (one.name->text != name) continue;
      if (!one.is_whole)
        found = {};
      else if (one.value->span.end <= use.begin)
        found = {one.value, one.name->span, one.part, one.names};
    }
    ast::for_each_child(stmt, *this);
  }
  void operator()(const auto&) {}
};

/// The names that are read at a place.
struct FindReads {
  Span place;
  std::vector<const ast::Name*> names;

  void operator()(const auto& node) { ast::for_each_child(node, *this); }
  void operator()(const ast::Expr& expr) {
    const auto* name = expr.get<ast::NameRef>();
    if (name != nullptr && is_within(expr.span, place)) names.push_back(&name->name);
    ast::for_each_child(expr, *this);
  }
};

std::string maker_in(const ast::Expr& value) {
  const auto* pipe = value.get<ast::Pipe>();
  const ast::Expr& made = pipe != nullptr ? *pipe->target : value;
  const auto* call = made.get<ast::Call>();
  const ast::Expr& callee = call != nullptr ? *call->callee : made;
  if (call == nullptr && pipe == nullptr) return "";
  if (const auto* method = callee.get<ast::Field>()) return method->name.text;
  const auto* name = callee.get<ast::NameRef>();
  return name != nullptr ? name->name.text : "";
}

}  // namespace

BlameBuilder::BlameBuilder(const Expr* receiver, const CallSite& site) : site_(site) {
  Context& cx = site.scope.cx;
  if (receiver == nullptr) return;
  // One that a chain goes through has its place in the chain.
  const bool is_indexed = cx.source_text(receiver->span).ends_with("]");
  const auto* element = is_indexed ? receiver->get<node::ListElement>() : nullptr;
  const auto* member = element != nullptr ? cx.at(element->list).get<node::Member>() : receiver->get<node::Member>();
  if (member == nullptr || member->is_param || cx.is_trying) return;
  const Type& owner = cx.at(member->object).type;
  const ObjectInfo* object =
      cx.at(member->object).is<node::Self>() ? site.scope.owner : find_object(cx, owner.kind, owner.decl);
  name_ = member->name;
  built_ = built_at(object, name_, cx);
  if (built_) aside_.emplace(cx, found_);
}

BlameBuilder::~BlameBuilder() {
  if (!built_) return;
  aside_.reset();
  for (diagnostics::Diagnostic one : found_.reported()) {
    const bool is_of_call =
        one.span == site_.span || one.span == site_.name_span ||
        std::ranges::any_of(site_.given, [&](const Given& given) {
          return one.span == given.span || (given.value != nullptr && one.span == given.value->span);
        });
    const bool is_of_argument = one.message.find("` cannot join ") != std::string::npos;
    if (is_of_sizes(one.code) && is_of_call && !is_of_argument) label_built(one, name_, *built_);
    site_.scope.cx.report(std::move(one));
  }
}

void label_builder(diagnostics::Diagnostic& diagnostic, Span use, bool is_argument, const Context& cx) {
  const ObjectInfo* object = cx.is_trying ? nullptr : object_around(use, cx);
  if (object == nullptr || object->decl == nullptr) return;
  FindCallee find{.use = use, .is_argument = is_argument};
  find(*object->decl);
  const auto built = find.callee != nullptr ? built_at(object, find.callee->text, cx) : std::nullopt;
  if (built) label_built(diagnostic, find.callee->text, *built);
}

bool fits_record(const FnInfo& fn, const Type& record, Span place, Scope& scope) {
  Binding binding;
  std::set<AtomId> free;
  for (const auto& [name, atom] : fn.binders) free.insert(atom);
  diagnostics::Sink found;
  bool fits = false;
  {
    const Aside aside(scope.cx, found);
    fits = match(fn.params[0].type, record, binding, free, place, scope, "the record", false);
  }
  for (diagnostics::Diagnostic one : found.reported()) {
    if (one.code == diagnostics::Code::E0303) label_stage(one, place, scope);
    scope.cx.report(std::move(one));
  }
  return fits;
}

void label_layer(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Scope& scope) {
  const Context& cx = scope.cx;
  if (!value.type.is_tensor() || cx.is_trying) return;
  if (const auto* op = value.get<node::Op>()) {
    // Of two the one that has the size of the result.
    std::optional<ExprId> from;
    for (const ExprId id : op->args) {
      const Type& type = cx.at(id).type;
      if (!type.is_tensor() || (from && type.dims != value.type.dims)) continue;
      if (!from || cx.at(*from).type.dims != value.type.dims) from = id;
    }
    if (from) label_layer(diagnostic, cx.at(*from), scope);
    return;
  }
  if (const auto* call = value.get<node::CallMethod>()) {
    const auto* member = cx.at(call->object).get<node::Member>();
    if (member == nullptr || !cx.at(member->object).is<node::Self>()) return;
    const bool keeps = call->args.size() == 1 && cx.at(call->args[0]).type.is_tensor() &&
                       cx.at(call->args[0]).type.dims == value.type.dims;
    if (keeps) return label_layer(diagnostic, cx.at(call->args[0]), scope);
    const auto built = built_at(scope.owner, member->name, cx);
    if (built) label_built(diagnostic, member->name, *built);
    return;
  }
  const Assigned assigned = find_assigned(value, scope);
  if (assigned.value == nullptr || assigned.part) return;
  const size_t labels = diagnostic.labels.size();
  label_builder(diagnostic, assigned.value->span, false, cx);
  const bool is_new = diagnostic.labels.size() == labels && cx.line_of(assigned.name) != cx.line_of(diagnostic.span);
  if (is_new) diagnostic.label(assigned.value->span, "`{}` is given here", value.get<node::Local>()->name);
}

void label_batches(diagnostics::Diagnostic& diagnostic, Span stage, const Scope& scope) {
  const ast::Expr* first = stage_before(stage, {library::Id::Collate}, scope);
  if (first != nullptr) diagnostic.tie(diagnostics::Tie::Batches, first->span, "batches are made here");
}

const ast::Expr* cut_of(Span use, const Scope& scope) {
  if (scope.info == nullptr || scope.info->ast == nullptr) return nullptr;
  FindReads reads{.place = use, .names = {}};
  for (const ast::Stmt& stmt : scope.info->ast->body) reads(stmt);
  for (const ast::Name* name : reads.names) {
    FindLast find{.name = name->text, .use = name->span, .found = {}};
    for (const ast::Stmt& stmt : scope.info->ast->body) find(stmt);
    const ast::Expr* value = find.found.part ? find.found.value : nullptr;
    const auto* call = value != nullptr ? value->get<ast::Call>() : nullptr;
    const auto* method = call != nullptr ? call->callee->get<ast::Field>() : nullptr;
    const bool is_cut =
        method != nullptr && method->name.text == "chunk" && call->arguments.size() == 1 && !call->arguments[0].name;
    if (is_cut) return value;
  }
  return nullptr;
}

void label_cut(diagnostics::Diagnostic& diagnostic, Span use, const Type& have, const Type& wanted,
               const Scope& scope) {
  const Context& cx = scope.cx;
  if (have.dims.size() < 2 || wanted.dims.empty() || have.dims[0].group != 0 || wanted.dims[0].group != 0) return;
  const ast::Expr* cut = cut_of(use, scope);
  if (cut == nullptr) return;
  const auto& call = *cut->get<ast::Call>();
  const std::string parts = cx.source_text(call.arguments[0].value->span);
  if (cx.text(have.dims[0].size) != "(" + cx.operand(wanted.dims[0].size) + " / " + parts + ")") return;
  const Span method = call.callee->get<ast::Field>()->name.span;
  diagnostic.tie(diagnostics::Tie::Cut, {method.source, method.begin, cut->span.end}, "cuts the first axis")
      .help("did you mean `chunk({}, dim = 1)`?", parts)
      .guess({cut->span.source, cut->span.end - 1, cut->span.end - 1}, ", dim = 1");
}

void label_given(diagnostics::Diagnostic& diagnostic, Span use, const Type& have, const Type& wanted,
                 const Scope& scope) {
  label_builder(diagnostic, use, false, scope.cx);
  label_cut(diagnostic, use, have, wanted, scope);
}

Assigned find_assigned(const ExprView& local, const Scope& scope) {
  const auto* named = local.get<node::Local>();
  if (named == nullptr || scope.info == nullptr || scope.info->ast == nullptr) return {};
  FindLast find{.name = named->name, .use = local.span, .found = {}};
  for (const ast::Stmt& stmt : scope.info->ast->body) find(stmt);
  return find.found;
}

std::string maker_of(const ExprView& value, const Scope& scope) {
  if (const auto* op = value.get<node::Op>()) return std::string(library::info(op->op).name);
  const Assigned assigned = find_assigned(value, scope);
  return assigned.value != nullptr && !assigned.part ? maker_in(*assigned.value) : "";
}

}  // namespace ltr::check
