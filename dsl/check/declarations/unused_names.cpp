#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "dsl/ast/assigned.h"
#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/scope/places.h"
#include "dsl/diagnostics/suggest.h"

// Names by their text: a name that is read anywhere where it could be meant counts as read. So nothing is said of one that is used,
// and of two with one name at most too little.
namespace ltr::check {

namespace {

using Names = std::unordered_set<std::string_view>;  // of the tree

/// What a part of the program reads.
struct Reads {
  Names names;
  Names values;              ///< of those, the ones that are not only called
  Names fields;              ///< behind a `.`
  Names patterns;            ///< of `init` and `group`
  std::vector<Names> owned;  ///< the members whose weights each optimizer is given

  void take(const std::optional<ast::Name>& name) {
    if (name) names.insert(name->text);
  }
  void take_type(std::string_view name) { names.insert(name.substr(0, name.find('.'))); }

  void operator()(const ast::Expr& expr) {
    if (const auto* ref = expr.get<ast::NameRef>()) {
      names.insert(ref->name.text);
      values.insert(ref->name.text);
    }
    const auto* call = expr.get<ast::Call>();
    if (const auto* called = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr) {
      names.insert(called->name.text);
      for (const ast::Argument& argument : call->arguments) (*this)(*argument.value);
      return;
    }
    if (const auto* field = expr.get<ast::Field>()) fields.insert(field->name.text);
    if (const auto* scan = expr.get<ast::Scan>()) {
      for (const ast::ScanCarry& carry : scan->carried) names.insert(carry.name.text);
    }
    ast::for_each_child(expr, *this);
  }
  void operator()(const ast::TypeExpr& type) {
    if (const auto* named = type.get<ast::NamedType>()) take_type(named->name.text);
    ast::for_each_child(type, *this);
  }
  void operator()(const ast::Stmt& stmt) {
    if (const auto* assign = stmt.get<ast::Assign>(); assign && assign->target.get<ast::NameRef>() != nullptr)
      return take_assigned(*assign, assign->target.get<ast::NameRef>()->name.text);
    if (const auto* log = stmt.get<ast::Log>()) {
      if (!log->value) names.insert(log->name.text);
      take(log->merge);
    }
    ast::for_each_child(stmt, *this);
  }
  void operator()(const ast::Item& item) {
    if (const auto* state = item.get<ast::State>()) take(state->merge);
    if (const auto* step = item.get<ast::Step>()) take(step->copy_of);
    if (const auto* init = item.get<ast::Init>()) patterns.insert(init->pattern);
    if (const auto* optimizer = item.get<ast::Optimizer>()) {
      for (const ast::Group& group : optimizer->groups) patterns.insert(group.pattern);
      // `net.weights` names weights, and does not read what they belong to.
      if (const auto* call = optimizer->value.get<ast::Call>(); call != nullptr) {
        owned.emplace_back();
        for (const ast::Argument& argument : call->arguments) take_weights(*argument.value);
        (*this)(*call->callee);
        for (const ast::Setting& setting : optimizer->settings) (*this)(setting.value);
        for (const ast::Group& group : optimizer->groups) {
          for (const ast::Setting& setting : group.settings) (*this)(setting.value);
        }
        return;
      }
    }
    ast::for_each_child(item, *this);
  }
  void operator()(const ast::Decl& decl) {
    if (const auto* callback = decl.get<ast::Callback>(); callback != nullptr && callback->model)
      take_type(callback->model->text);
    if (const auto* topology = decl.get<ast::Topology>()) {
      for (const ast::Shard& shard : topology->shards) take(shard.at);
      for (const ast::Recompute& recompute : topology->recomputes) names.insert(recompute.at.text);
    }
    ast::for_each_child(decl, *this);
  }

 private:
  /// What `n = n + 1` reads of `n` is for `n` alone.
  void take_assigned(const ast::Assign& assign, std::string_view target) {
    const bool was_read = names.contains(target);
    (*this)(assign.value);
    if (!was_read) names.erase(target);
  }
  void take_weights(const ast::Expr& expr) {
    if (const auto* list = expr.get<ast::List>()) {
      for (const ast::Expr& element : list->elements) take_weights(element);
      return;
    }
    const auto* field = expr.get<ast::Field>();
    const auto* member = field != nullptr ? field->base->get<ast::NameRef>() : nullptr;
    if (member == nullptr || field->name.text != "weights") return (*this)(expr);
    owned.back().insert(member->name.text);
  }
};

/// What a body assigns, in order; of the names that take a tuple apart only where all of them are meant.
struct Assigned {
  std::vector<const ast::Name*> names;
  std::vector<const std::vector<ast::Name>*> groups;

  void operator()(const ast::Stmt& stmt) {
    if (const auto* assign = stmt.get<ast::Assign>()) {
      if (const auto* target = assign->target.get<ast::NameRef>()) names.push_back(&target->name);
    }
    if (const auto* declare = stmt.get<ast::Declare>()) names.push_back(&declare->name);
    if (const auto* unpack = stmt.get<ast::Unpack>()) groups.push_back(&unpack->names);
    ast::for_each_child(stmt, *this);
  }
  void operator()(const ast::Expr& expr) { ast::for_each_child(expr, *this); }
  void operator()(const auto&) {}
};

bool is_meant_unused(std::string_view name) { return name.empty() || name.starts_with("_"); }

void warn(Context& cx, const ast::Name& name, const std::string& what, const std::vector<std::string>& near = {}) {
  diagnostics::Diagnostic diagnostic = diag::unused_name(name.span, what + " `" + name.text + "`");
  if (const auto meant = diagnostics::suggest(name.text, near)) {
    add_near(diagnostic, name.text, name.span, *meant);
  } else if (what.find("import") != std::string::npos) {
    diagnostic.help("take it away");
  } else {
    diagnostic.help("take it away, or call it `_{}` if it is meant to be unused", name.text);
  }
  cx.report(std::move(diagnostic));
}

/// The names that are whole dims of a tensor.
Names dim_names(const ast::TypeExpr& type) {
  Names names;
  const auto* named = type.get<ast::NamedType>();
  if (named == nullptr) return names;
  for (const ast::Dim& dim : named->dims) {
    const auto* name = dim.value ? (*dim.value)->get<ast::NameRef>() : nullptr;
    if (name != nullptr) names.insert(name->name.text);
  }
  return names;
}

/// Params of a function that only its own kind calls: what a map, a schedule or a scan is given is decided there.
void check_params(Context& cx, const ast::Fn& fn, const Reads& body, const Names& values) {
  Reads own = body;
  const bool has_body = fn.value || !fn.body.empty();
  const auto is = [](const ast::TypeExpr& type, std::string_view name) {
    const auto* named = type.get<ast::NamedType>();
    return named != nullptr && named->name.text == name;
  };
  // What a schedule is called with is given.
  const bool may_be_schedule = fn.params.size() >= 2 && is(fn.params[0].type, "int") && is(fn.params[1].type, "int") &&
                               fn.result && is(*fn.result, "float");
  // Sizes and rules read params, too.
  if (fn.result) own(*fn.result);
  if (fn.where) own(*fn.where);
  std::map<std::string_view, size_t> bound;  // by how many params
  for (const ast::Param& param : fn.params) {
    own(param.type);
    if (param.initial) own(*param.initial);
    for (const std::string_view name : dim_names(param.type)) ++bound[name];
  }
  // What brings a size is read for it.
  const auto brings_size = [&](const ast::Param& param) {
    return std::ranges::any_of(dim_names(param.type), [&](std::string_view name) { return bound[name] == 1; });
  };
  if (!has_body || may_be_schedule || fn.params.size() < 2 || values.contains(fn.name.text)) return;
  for (const ast::Param& param : fn.params) {
    if (!is_meant_unused(param.name.text) && !own.names.contains(param.name.text) && !brings_size(param))
      warn(cx, param.name, "the parameter");
  }
}

/// Locals of one function. `owner` has members, whose buffers and states are assigned, too. `values` are the names that the
/// program reads otherwise than by a call, of a function whose params are looked at.
void check_locals(Context& cx, const ast::Fn& fn, const ObjectInfo* owner, const Names* values, bool is_hook = false) {
  Reads reads;
  if (fn.value) reads(*fn.value);
  Assigned assigned;
  for (const ast::Stmt& stmt : fn.body) {
    reads(stmt);
    assigned(stmt);
  }
  if (values != nullptr) check_params(cx, fn, reads, *values);
  const auto is_read = [&](const ast::Name& name) {
    return is_meant_unused(name.text) || reads.names.contains(name.text) ||
           (owner != nullptr && owner->members.contains(name.text));
  };
  std::vector<std::string> near;
  if (owner != nullptr) {
    for (const auto& [name, member] : owner->members) {
      if (member.kind == MemberKind::State || member.kind == MemberKind::Buffer) near.push_back(name);
    }
  }
  for (const ast::Name* name : assigned.names) {
    if (reads.names.contains(name->text)) near.push_back(name->text);
  }
  Names told;
  // W0303 speaks of a local that hides these.
  for (const PlaceName& brought : kPlaceNames) {
    if (is_hook || brought.reach != Reach::SomeHooks) told.emplace(brought.name);
  }
  for (const ast::Name* name : assigned.names) {
    const Symbol* symbol = cx.graph.find(cx.graph.module_of(name->span.source), name->text);
    if (symbol != nullptr && symbol->kind == SymbolKind::Const) told.insert(name->text);
  }
  for (const ast::Name* name : assigned.names) {
    if (!is_read(*name) && told.insert(name->text).second) warn(cx, *name, "the local", near);
  }
  for (const std::vector<ast::Name>* group : assigned.groups) {
    const bool is_any_read = std::any_of(group->begin(), group->end(), is_read);
    if (!is_any_read && told.insert(group->front().text).second) warn(cx, group->front(), "the local", near);
  }
}

/// Whether a member keeps weights of its own.
bool holds_weights(const Type& type, const Context& cx) {
  if (type.kind == Kind::Block) {
    const std::vector<Member>& members = cx.program.blocks[type.decl].members;
    return std::any_of(members.begin(), members.end(), [&](const Member& member) {
      return member.kind == MemberKind::Weight || holds_weights(member.type, cx);
    });
  }
  const bool has_parts = type.kind == Kind::List || type.kind == Kind::Tuple || type.kind == Kind::Record;
  return has_parts && std::any_of(type.fields.begin(), type.fields.end(),
                                  [&](const TypeField& field) { return holds_weights(field.type, cx); });
}

const std::vector<ast::Item>* items_in(const ast::Decl& decl) {
  if (const auto* block = decl.get<ast::Block>()) return &block->items;
  if (const auto* model = decl.get<ast::Model>()) return &model->items;
  if (const auto* metric = decl.get<ast::Metric>()) return &metric->items;
  if (const auto* data = decl.get<ast::Data>()) return &data->items;
  if (const auto* callback = decl.get<ast::Callback>()) return &callback->items;
  return nullptr;
}

/// The names that functions, steps and hooks assign.
std::set<std::string> assigned_in(const std::vector<ast::Item>& items) {
  std::set<std::string> assigned;
  for (const ast::Item& item : items) {
    const auto* fn = item.get<ast::Fn>();
    const auto* step = item.get<ast::Step>();
    const auto* hook = item.get<ast::Hook>();
    const ast::Body* body = fn != nullptr     ? &fn->body
                            : step != nullptr ? &step->fn.body
                            : hook != nullptr ? &hook->body
                                              : nullptr;
    if (body != nullptr) assigned.merge(ast::assigned_names(*body));
  }
  return assigned;
}

/// W0305: a state that nothing of its object assigns. Where something assigns a name that is nearly it, that is said.
void check_changed(Context& cx, const ast::Name& state, const std::set<std::string>& assigned) {
  const std::vector<std::string> names(assigned.begin(), assigned.end());
  if (assigned.contains(state.text) || is_meant_unused(state.text) || diagnostics::suggest(state.text, names)) return;
  cx.report(diag::never_changed(state.span, "the state `" + state.text + "`")
                .help("`{} = …` where it changes, or a `let`, which stays as it is", state.text));
}

/// Params and members of a block, model, metric, data or callback, and the locals of its functions.
void check_items(Context& cx, const ast::Decl& decl, const std::vector<ast::Item>& items, const Reads& own,
                 const Reads& program) {
  const auto found = cx.declared.objects.find(&decl);
  if (found == cx.declared.objects.end()) return;
  const ObjectInfo& object = *found->second;
  // Whether `compute_each` is asked, `average` says.
  const bool has_each = object.kind == Kind::Metric && object.fns.contains(kComputeEach);
  for (const ast::Param& param : written_params(decl)) {
    const bool is_read = own.names.contains(param.name.text) || (has_each && param.name.text == kAverage);
    if (!is_meant_unused(param.name.text) && !is_read) warn(cx, param.name, "the parameter");
  }
  // Of an optimizer whose members are all unread the loss reaches nothing, or nothing is minimized with it, which is said.
  Names told;
  for (const Names& owned : own.owned) {
    const bool is_any_read =
        std::any_of(owned.begin(), owned.end(), [&](std::string_view name) { return own.names.contains(name); });
    if (!is_any_read) told.insert(owned.begin(), owned.end());
  }
  const auto is_named = [&](std::string_view name) {
    const auto names_it = [&](std::string_view pattern) { return pattern.find(name) != std::string_view::npos; };
    return is_meant_unused(name) || told.contains(name) || object.fns.empty() || own.names.contains(name) ||
           program.fields.contains(name) || std::any_of(program.patterns.begin(), program.patterns.end(), names_it);
  };
  const std::set<std::string> assigned = assigned_in(items);
  for (const ast::Item& item : items) {
    const auto* member = item.get<ast::Member>();
    const auto* weight = item.get<ast::Parameter>();
    if (member != nullptr && !member->source && !is_named(member->name.text)) {
      const auto info = object.members.find(member->name.text);
      const bool is_block = info != object.members.end() && holds_weights(info->second.type, cx);
      if (is_block)
        cx.report(diag::dead_weights(member->name.span, member->name.text).help("apply it, or take it away"));
      else
        warn(cx, member->name, "the member");
    }
    if (const auto* state = item.get<ast::State>()) {
      check_changed(cx, state->name, assigned);
      if (object.kind == Kind::Metric && assigned.contains(state->name.text) && !is_named(state->name.text))
        warn(cx, state->name, "the state");
    }
    const auto* let = item.get<ast::Let>();
    const bool is_direction = let != nullptr && object.kind == Kind::Metric && let->name.text == "better";
    if (let != nullptr && !is_direction && !is_meant_unused(let->name.text) && !own.names.contains(let->name.text) &&
        !program.fields.contains(let->name.text))
      warn(cx, let->name, "the `let`");
    if (weight != nullptr && !weight->is_buffer && !is_named(weight->name.text))
      cx.report(diag::dead_weights(weight->name.span, weight->name.text).help("use it, or take it away"));
    if (const auto* fn = item.get<ast::Fn>()) check_locals(cx, *fn, &object, &program.values);
    if (const auto* step = item.get<ast::Step>(); step != nullptr && !step->copy_of)
      check_locals(cx, step->fn, &object, nullptr);
    if (const auto* hook = item.get<ast::Hook>()) {
      ast::Fn fn;
      fn.body = hook->body;
      check_locals(cx, fn, &object, nullptr, true);
    }
  }
}

/// The name of a declaration that is there for others, and what it is.
std::pair<const ast::Name*, const char*> named_by(const ast::Decl& decl) {
  if (const auto* hparam = decl.get<ast::Hparam>()) return {&hparam->name, "the hparam"};
  if (const auto* constant = decl.get<ast::Const>()) return {&constant->name, "the constant"};
  if (const auto* type = decl.get<ast::TypeName>()) return {&type->name, "the type"};
  if (const auto* fn = decl.get<ast::Fn>()) return {&fn->name, "the function"};
  if (const auto* block = decl.get<ast::Block>()) return {&block->name, "the block"};
  if (const auto* metric = decl.get<ast::Metric>()) return {&metric->name, "the metric"};
  if (const auto* callback = decl.get<ast::Callback>()) return {&callback->name, "the callback"};
  return {nullptr, ""};
}

/// The params of a declaration, which hide what the file calls the same, except in what they are if nothing is given.
Names hidden_in(const ast::Decl& decl) {
  const auto* fn = decl.get<ast::Fn>();
  Names hidden;
  Reads defaults;
  if (fn == nullptr && items_in(decl) == nullptr) return hidden;
  for (const ast::Param& param : fn != nullptr ? fn->params : written_params(decl)) {
    hidden.insert(param.name.text);
    if (param.initial) defaults(*param.initial);
  }
  for (const std::string_view name : defaults.names) hidden.erase(name);
  return hidden;
}

/// The declarations that read a name: the first of them, and whether there are others.
struct Readers {
  const ast::Decl* first = nullptr;
  bool are_several = false;
};

/// What the main file declares or imports for an experiment of its own.
void check_module(Context& cx, const std::vector<ast::Decl>& decls,
                  const std::unordered_map<const ast::Decl*, Reads>& reads) {
  std::unordered_map<std::string_view, Readers> readers;
  for (const auto& [decl, one] : reads) {
    const Names hidden = hidden_in(*decl);
    for (const std::string_view name : one.names) {
      if (hidden.contains(name)) continue;
      const auto [place, is_new] = readers.try_emplace(name, Readers{decl, false});
      if (!is_new) place->second.are_several = true;
    }
  }
  const auto is_read = [&](const ast::Name& name, const ast::Decl& own) {
    if (is_meant_unused(name.text)) return true;
    const auto found = readers.find(name.text);
    return found != readers.end() && (found->second.are_several || found->second.first != &own);
  };
  const bool has_experiment = std::any_of(decls.begin(), decls.end(),
                                          [](const ast::Decl& decl) { return decl.get<ast::Experiment>() != nullptr; });
  for (const ast::Decl& decl : decls) {
    if (const auto* import = decl.get<ast::Import>()) {
      for (const ast::Name& name : import->names) {
        const Symbol* symbol = cx.graph.find(0, name.text);
        const bool is_flag = symbol == nullptr || symbol->kind == SymbolKind::Hparam ||
                             symbol->kind == SymbolKind::Topology || symbol->kind == SymbolKind::Experiment;
        if (!is_flag && !is_read(name, decl)) warn(cx, name, "the import");
      }
    }
    const auto [name, what] = named_by(decl);
    if (has_experiment && name != nullptr && !is_read(*name, decl)) warn(cx, *name, what);
  }
}

}  // namespace

void check_unused_names(Context& cx) {
  // What could not be read may have read anything.
  if (cx.sink->has_errors()) return;
  std::unordered_map<const ast::Decl*, Reads> reads;
  Reads program;  // what may be read from elsewhere: fields and patterns
  for (const resolve::Module& module : cx.graph.modules) {
    if (module.is_library) continue;
    for (const ast::Decl& decl : module.ast.decls) {
      Reads& own = reads[&decl];
      own(decl);
      program.fields.insert(own.fields.begin(), own.fields.end());
      program.patterns.insert(own.patterns.begin(), own.patterns.end());
      program.values.insert(own.values.begin(), own.values.end());
    }
  }
  for (const resolve::Module& module : cx.graph.modules) {
    if (module.is_library) continue;
    for (const ast::Decl& decl : module.ast.decls) {
      if (const std::vector<ast::Item>* items = items_in(decl)) check_items(cx, decl, *items, reads[&decl], program);
      if (const auto* fn = decl.get<ast::Fn>()) check_locals(cx, *fn, nullptr, &program.values);
    }
  }
  if (!cx.graph.modules[0].is_library) check_module(cx, cx.graph.modules[0].ast.decls, reads);
}

}  // namespace ltr::check
