#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "dsl/ast/assigned.h"
#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/doubtful.h"
#include "dsl/check/declarations/name_reads.h"
#include "dsl/check/scope/places.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/roles.h"

// Names by their text: a name that is read anywhere where it could be meant counts as read. So nothing is said of one that is used,
// and of two with one name at most too little.
namespace ltr::check {

namespace {

/// What a body assigns, in order; of the names that take a tuple apart mostly only where all of them are meant.
struct Assigned {
  std::vector<const ast::Name*> names;
  std::vector<const ast::Unpack*> unpacked;

  void operator()(const ast::Stmt& stmt) {
    if (const auto* assign = stmt.get<ast::Assign>()) {
      if (const auto* target = assign->target.get<ast::NameRef>()) names.push_back(&target->name);
    }
    if (const auto* declare = stmt.get<ast::Declare>()) names.push_back(&declare->name);
    if (const auto* unpack = stmt.get<ast::Unpack>()) unpacked.push_back(unpack);
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

/// Of `fn`, whose body reads `body`: the params that nothing reads, and whose sizes nothing reads that no other param brings.
std::vector<const ast::Param*> unread_params(const ast::Fn& fn, const Reads& body) {
  // Sizes and rules read params, too.
  Reads own = body;
  if (fn.result) own(*fn.result);
  if (fn.where) own(*fn.where);
  Reads sizes = own;
  for (const ast::Param& param : fn.params) {
    own(param.type);
    if (param.initial) own(*param.initial);
  }
  const auto is_read = [&](const ast::Param& param) {
    const std::string& name = param.name.text;
    return is_meant_unused(name) || own.names.contains(name) || own.followers.contains(name);
  };
  Names brought;
  for (const ast::Param& param : fn.params) {
    if (!is_read(param)) continue;
    sizes(param.type);
    brought.merge(dim_names(param.type));
  }
  std::vector<const ast::Param*> unread;
  for (const ast::Param& param : fn.params) {
    if (is_read(param)) continue;
    Names dims = dim_names(param.type);
    const bool brings_size = std::ranges::any_of(dims, [&](std::string_view name) {
      return std::ranges::find(fn.binders, name, &ast::Name::text) != fn.binders.end() && sizes.names.contains(name) &&
             !brought.contains(name);
    });
    if (brings_size)
      brought.merge(dims);
    else
      unread.push_back(&param);
  }
  return unread;
}

/// Params of a function that only its own kind calls: what a map, a schedule or a scan is given is decided there.
void check_params(Context& cx, const ast::Fn& fn, const Reads& body, const Names& values) {
  const bool has_body = fn.value || !fn.body.empty();
  const auto is = [](const ast::TypeExpr& type, std::string_view name) {
    const auto* named = type.get<ast::NamedType>();
    return named != nullptr && named->name.text == name;
  };
  // What a schedule is called with is given.
  const bool may_be_schedule = fn.params.size() >= 2 && is(fn.params[0].type, "int") && is(fn.params[1].type, "int") &&
                               fn.result && is(*fn.result, "float");
  if (!has_body || may_be_schedule || fn.params.size() < 2 || values.contains(fn.name.text)) return;
  for (const ast::Param* param : unread_params(fn, body)) warn(cx, param->name, "the parameter");
}

/// Params of a step: the trainer gives it those fields of the batch that it names.
void check_step_params(Context& cx, const ast::Fn& step, const Reads& body) {
  for (const ast::Param* param : unread_params(step, body)) {
    cx.report(diag::unused_name(param->name.span, "the parameter `" + param->name.text + "`")
                  .help("leave it out: `step {}` names what it reads", step.name.text));
  }
}

/// Whether it is a call of a function of the library that varies several tensors by the same random numbers.
bool draws_together(Context& cx, const ast::Expr& value) {
  const auto* call = value.get<ast::Call>();
  const auto* pipe = value.get<ast::Pipe>();
  if (call == nullptr && pipe != nullptr) call = pipe->target->get<ast::Call>();
  const auto* called = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (called == nullptr) return false;
  const Symbol* symbol = cx.graph.find(cx.graph.module_of(called->name.span.source), called->name.text);
  const auto known =
      symbol != nullptr && symbol->kind == SymbolKind::Op ? cx.declared.fns.find(symbol->fn) : cx.declared.fns.end();
  return known != cx.declared.fns.end() && library::is_augmentation(known->second->id);
}

/// Whether W0514 says of what is called there that it is varied apart from what belongs to it.
bool is_told_apart(const Context& cx, Span call) {
  return std::ranges::any_of(cx.sink->reported(), [&](const diagnostics::Diagnostic& one) {
    return one.code == diagnostics::Code::W0514 &&
           (one.span == call || std::ranges::find(one.labels, call, &diagnostics::Label::span) != one.labels.end());
  });
}

/// Locals of one function. `owner` has members, whose buffers and states are assigned, too. `values` are the names that the
/// program reads otherwise than by a call, of a function whose params are looked at.
void check_locals(Context& cx, const ast::Fn& fn, const ObjectInfo* owner, const Names* values, FnRole role) {
  Reads reads;
  Assigned assigned;
  if (fn.value) {
    reads(*fn.value);
    assigned(*fn.value);
  }
  for (const ast::Stmt& stmt : fn.body) {
    reads(stmt);
    assigned(stmt);
  }
  if (role == FnRole::Step && is_role(fn.name.text))
    check_step_params(cx, fn, reads);
  else if (values != nullptr)
    check_params(cx, fn, reads, *values);
  const auto is_read = [&](const ast::Name& name) {
    return is_meant_unused(name.text) || reads.names.contains(name.text) || reads.followers.contains(name.text) ||
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
  // W0303 speaks of a local that hides these.
  const auto is_brought = [&](std::string_view name) {
    return std::ranges::any_of(kPlaceNames, [&](const PlaceName& brought) {
      return brought.name == name && (role == FnRole::Hook || brought.reach != Reach::SomeHooks);
    });
  };
  Names told;
  for (const ast::Name* name : assigned.names) {
    const Symbol* symbol = cx.graph.find(cx.graph.module_of(name->span.source), name->text);
    if (symbol != nullptr && symbol->kind == SymbolKind::Const) told.insert(name->text);
  }
  const auto is_new = [&](std::string_view name) { return !is_brought(name) && told.insert(name).second; };
  for (const ast::Name* name : assigned.names) {
    if (!is_read(*name) && is_new(name->text)) warn(cx, *name, "the local", near);
  }
  for (const ast::Unpack* unpack : assigned.unpacked) {
    const std::vector<ast::Name>& group = unpack->names;
    const bool is_any_read = std::any_of(group.begin(), group.end(), is_read);
    if (!is_any_read && is_new(group.front().text)) warn(cx, group.front(), "the local", near);
    if (!is_any_read || !draws_together(cx, unpack->value) || is_told_apart(cx, unpack->value.span)) continue;
    for (const ast::Name& name : group) {
      if (is_read(name) || !is_new(name.text)) continue;
      cx.report(
          diag::unused_name(name.span, "the local `" + name.text + "`")
              .help("what is varied in one call belongs together: use it, or call it `_{}` if it is meant to be unused",
                    name.text));
    }
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
    const bool is_read = own.names.contains(param.name.text) || own.followers.contains(param.name.text) ||
                         (has_each && param.name.text == kAverage);
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
    return is_meant_unused(name) || told.contains(name) || object.fns.empty() || own.names.contains(name) ||
           program.fields.contains(name);
  };
  const std::set<std::string> assigned = assigned_in(items);
  for (const ast::Item& item : items) {
    const auto* member = item.get<ast::Member>();
    const auto* weight = item.get<ast::Parameter>();
    if (member != nullptr && !member->source && !is_named(member->name.text)) {
      const auto info = object.members.find(member->name.text);
      const bool is_block = info != object.members.end() && holds_weights(info->second.type, cx);
      if (is_block && own.followers.contains(member->name.text))
        cx.report(
            diag::dead_weights(member->name.span, member->name.text)
                .note("`ema_update` moves them, and nothing is computed with them")
                .help("`frozen({})(x)` computes with them; or take `{}` away", member->name.text, member->name.text));
      else if (is_block)
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
    // Tests call the functions of other objects.
    if (const auto* fn = item.get<ast::Fn>(); fn != nullptr && object.kind == Kind::Data &&
                                              !is_meant_unused(fn->name.text) && !own.names.contains(fn->name.text) &&
                                              !program.fields.contains(fn->name.text))
      warn(cx, fn->name, "the function");
    if (const auto* fn = item.get<ast::Fn>()) check_locals(cx, *fn, &object, &program.values, FnRole::Method);
    if (const auto* step = item.get<ast::Step>(); step != nullptr && !step->copy_of)
      check_locals(cx, step->fn, &object, &program.values, FnRole::Step);
    if (const auto* hook = item.get<ast::Hook>()) {
      ast::Fn fn;
      fn.body = hook->body;
      check_locals(cx, fn, &object, nullptr, FnRole::Hook);
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
  // What other files read by such a name is another one.
  for (const ast::Decl& decl : decls) {
    const Names hidden = hidden_in(decl);
    for (const std::string_view name : reads.at(&decl).names) {
      if (hidden.contains(name)) continue;
      const auto [place, is_new] = readers.try_emplace(name, Readers{&decl, false});
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
  Reads program;  // what may be read from elsewhere
  for (const resolve::Module& module : cx.graph.modules) {
    if (module.is_library) continue;
    for (const ast::Decl& decl : module.ast.decls) {
      Reads& own = reads[&decl];
      own(decl);
      program.fields.insert(own.fields.begin(), own.fields.end());
      program.values.insert(own.values.begin(), own.values.end());
    }
  }
  for (const resolve::Module& module : cx.graph.modules) {
    if (module.is_library) continue;
    for (const ast::Decl& decl : module.ast.decls) {
      if (const std::vector<ast::Item>* items = items_in(decl)) check_items(cx, decl, *items, reads[&decl], program);
      if (const auto* fn = decl.get<ast::Fn>()) check_locals(cx, *fn, nullptr, &program.values, FnRole::Free);
    }
  }
  if (!cx.graph.modules[0].is_library) check_module(cx, cx.graph.modules[0].ast.decls, reads);
}

}  // namespace ltr::check
