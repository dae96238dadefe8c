#include <algorithm>

#include "dsl/ast/assigned.h"
#include "dsl/ast/walk.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// Whether a variable gets other values in a branch or a loop of the function that is read.
bool may_change(const std::string& name, const Scope& scope) {
  if (scope.info == nullptr || scope.info->ast == nullptr) return false;
  auto& names = scope.info->assigned_inside;
  if (!names) names = ast::assigned_inside(*scope.info->ast);
  return names->contains(name);
}

/// The locals around a function that its code reads.
struct FindRead {
  const Scope& scope;
  std::map<std::string, LocalId> found = {};
  std::set<std::string> params = {};  ///< of the function, and of others in it
  bool has_unknown = false;           ///< a name that nothing has

  /// Those frames with what is read alone. A name that nothing has is told with those near it, and needs all, unless they are
  /// too many for a copy in each function.
  std::vector<std::map<std::string, LocalId>> frames() const {
    constexpr size_t kMostLocals = 1'000;
    if (has_unknown && scope.locals.size() <= kMostLocals) return scope.frames;
    std::vector<std::map<std::string, LocalId>> read(scope.frames.size());
    for (size_t i = 0; i < read.size(); ++i) {
      for (const auto& [name, local] : found) {
        if (const auto at = scope.frames[i].find(name); at != scope.frames[i].end()) read[i].insert(*at);
      }
    }
    return read;
  }

  void operator()(const auto& node) { ast::for_each_child(node, *this); }
  void operator()(const ast::Expr& expr) {
    if (const auto* lambda = expr.get<ast::Lambda>()) params.insert(lambda->param.text);
    if (const auto* ref = expr.get<ast::NameRef>()) {
      const std::string& name = ref->name.text;
      if (const auto local = scope.find_local(name)) {
        found.emplace(name, *local);
      } else {
        const bool is_own = params.contains(name) || (scope.owner != nullptr && scope.owner->members.contains(name));
        has_unknown = has_unknown || (!is_own && scope.cx.graph.find(scope.module, name) == nullptr);
      }
    }
    ast::for_each_child(expr, *this);
  }
};

/// A copy of a local; `copies` takes it.
LocalId copy_of(LocalId local, Span span, Scope& scope, std::vector<std::pair<LocalId, Expr>>& copies) {
  const LocalId copy = scope.hidden_local(scope.local(local).type);
  scope.local(copy).name = scope.local(local).name;
  copies.emplace_back(copy, local_expr(local, scope, span));
  return copy;
}

/// A function keeps the values that it reads: those of variables that a branch or a loop may change are copied where it is
/// made. Its code is read where it is applied, and would read the changed ones.
Expr closure_value(Closure closure, std::string name, Span span, Scope& scope) {
  closure.module = scope.module;
  closure.fn = scope.fn;
  closure.owner = scope.owner;
  std::vector<std::pair<LocalId, Expr>> copies;
  if (closure.frozen) {
    if (const auto* local = closure.frozen->get<node::Local>(); local != nullptr && may_change(local->name, scope))
      closure.frozen = local_expr(copy_of(local->local, span, scope, copies), scope, closure.frozen->span);
  } else {
    FindRead read{.scope = scope};
    read(*closure.code);
    closure.frames = read.frames();
    closure.frames.emplace_back();
    for (const auto& [text, local] : read.found) {
      const Type& type = scope.local(local).type;
      if (type.is_error() || type.kind == Kind::Function || !may_change(text, scope)) continue;
      closure.frames.back()[text] = copy_of(local, span, scope, copies);
    }
  }
  scope.cx.closures.all.push_back(std::move(closure));
  Type type = Type::of(Kind::Function);
  type.name = std::move(name);
  type.decl = DeclIndex(scope.cx.closures.all.size());
  Expr value = {std::move(type), span, node::FnValue{}};
  for (auto& [local, old] : copies) value = let_in(local, std::move(old), std::move(value), span, scope.cx);
  return value;
}

/// The object whose member a function is, or stands in: `net` of `net.body[1]`.
std::optional<ExprId> object_of_member(const ExprView& callee, const Context& cx) {
  if (const auto* member = callee.get<node::Member>()) return member->object;
  if (const auto* part = callee.get<node::ListElement>()) return object_of_member(cx.at(part->list), cx);
  if (const auto* part = callee.get<node::TupleElement>()) return object_of_member(cx.at(part->tuple), cx);
  if (const auto* part = callee.get<node::RecordField>()) return object_of_member(cx.at(part->record), cx);
  return std::nullopt;
}

/// Code of another object's member speaks of that object.
ExprId with_self(ExprId id, ExprId object, Context& cx) {
  if (cx.at(id).is<node::Self>()) return object;
  bool is_changed = false;
  Expr changed = with_children(cx.at(id), [&](ExprId child) {
    const ExprId other = with_self(child, object, cx);
    is_changed = is_changed || other != child;
    return other;
  });
  return is_changed ? cx.keep(std::move(changed)) : id;
}

/// Code of a closure that is being read. `may_go_on`: not within itself without end, nor too deep for the stack, nor more
/// often than fits into memory: each call has its own copy of the code.
class Application {
 public:
  Application(const ExprView& callee, const ast::Expr* code, Span span, Context& cx) : closures_(cx.closures) {
    constexpr auto kMostWithin = 16;
    constexpr size_t kMostDeep = 200;
    constexpr size_t kMostCalls = 10'000;
    constexpr size_t kMostInAll = 100'000;
    const bool was_too_many = closures_.applied_in_all > kMostInAll;
    if (closures_.open.empty()) {
      closures_.applied = 0;
      closures_.outermost = span;
    }
    if (std::count(closures_.open.begin(), closures_.open.end(), code) == kMostWithin && !closures_.is_runaway) {
      cx.report(diag::recursion(span, callee.type.name).note("recursion is not part of edition 1"));
      closures_.is_runaway = true;
    } else if (closures_.open.size() == kMostDeep && !closures_.is_runaway) {
      cx.report(diag::nesting_too_deep(span, std::to_string(kMostDeep)));
      closures_.is_runaway = true;
    } else if (++closures_.applied == kMostCalls && !closures_.is_runaway) {
      cx.report(diag::stands_for_too_many(closures_.outermost, "10,000", "calls of lambdas")
                    .help("a `fn` is called, and is not copied"));
      closures_.is_runaway = true;
    } else if (++closures_.applied_in_all > kMostInAll && !was_too_many && !closures_.is_runaway) {
      cx.report(diag::stands_for_too_many(closures_.outermost, "100,000", "calls of lambdas, with all before it")
                    .help("a `fn` is called, and is not copied"));
    }
    closures_.is_runaway = closures_.is_runaway || closures_.applied_in_all > kMostInAll;
    closures_.open.push_back(code);
  }
  ~Application() {
    closures_.open.pop_back();
    if (closures_.open.empty()) closures_.is_runaway = false;
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  bool may_go_on() const { return !closures_.is_runaway; }

 private:
  Closures& closures_;
};

/// Whether a function speaks of locals that only its own expression makes: `f(x)` of
/// `f = x => y => x + y`.
bool makes_locals(const ExprView& callee, const Context& cx) {
  return callee.is<node::LetIn>() || any_child(callee, [&](ExprId id) { return makes_locals(cx.at(id), cx); });
}

}  // namespace

Expr let_in(LocalId local, Expr value, Expr result, Span span, Context& cx) {
  Type type = result.type;
  return {std::move(type), span, node::LetIn{local, cx.keep(std::move(value)), cx.keep(std::move(result))}};
}

Expr frozen_expr(Expr value, Expr block, Span span, Context& cx) {
  Type type = value.type;
  return {std::move(type), span, node::Frozen{cx.keep(std::move(value)), cx.keep(std::move(block))}};
}

Expr lambda_value(const ast::Expr& expr, Scope& scope) {
  return closure_value({.kind = Closure::Kind::Lambda, .code = &expr, .frozen = {}, .frames = {}},
                       scope.cx.source_text(expr.span), expr.span, scope);
}

Expr partial_value(const ast::Expr& expr, Scope& scope) {
  return closure_value({.kind = Closure::Kind::Partial, .code = &expr, .frozen = {}, .frames = {}},
                       scope.cx.source_text(expr.span), expr.span, scope);
}

Expr frozen_value(CallSite& site) {
  Scope& scope = site.scope;
  if (site.given.size() != 1) {
    scope.cx.report(diag::wrong_argument(site.name_span, "`frozen` is written `frozen(net)(x)`")
                        .note("it takes a block, and gives one whose weights get no gradient"));
    return error_at(site.span);
  }
  Expr block = check_given(site.given[0], scope);
  if (block.type.is_error()) return error_at(site.span);
  const bool is_list =
      block.type.kind == Kind::List && !block.type.fields.empty() && block.type.fields[0].type.kind == Kind::Block;
  if (block.type.kind != Kind::Block && !is_list && !is_block_param(block)) {
    scope.cx.report(diag::wrong_argument(block.span, "`frozen` takes a block, not " + scope.cx.text(block.type)));
    return error_at(site.span);
  }
  Closure closure{.kind = Closure::Kind::Frozen, .code = nullptr, .frozen = {}, .frames = {}};
  closure.frozen = std::move(block);
  return closure_value(std::move(closure), scope.cx.source_text(site.span), site.span, scope);
}

Expr apply_closure(const ExprView& callee, std::vector<Given> given, Span span, Scope& scope) {
  Context& cx = scope.cx;
  const Closure closure = cx.closures.all[callee.type.decl - 1];
  const bool is_here = closure.fn == scope.fn && closure.owner == scope.owner;
  std::optional<ExprId> object = object_of_member(callee, cx);
  if (object && cx.at(*object).is<node::Self>()) object.reset();
  // What it is given speaks of the caller's object, and stays out of the code of the other one.
  std::vector<std::pair<LocalId, Expr>> kept;
  const auto keep_apart = [&](Expr value) {
    if (!object) return value;
    const LocalId local = scope.hidden_local(value.type);
    kept.emplace_back(local, std::move(value));
    return local_expr(local, scope, span);
  };
  Expr result;
  if (closure.kind == Closure::Kind::Frozen) {
    for (size_t i = 0; object && i < given.size(); ++i) {
      Expr value = check_given(given[i], scope);
      if (value.type.is_error()) return error_at(span);
      given[i].checked = keep_apart(std::move(value));
    }
    result = apply(*closure.frozen, std::move(given), span, scope);
    if (result.type.is_error()) return result;
    result = frozen_expr(std::move(result), *closure.frozen, span, cx);
  } else {
    if (given.size() != 1 || given[0].name) {
      cx.report(diag::wrong_argument(span, "`" + callee.type.name + "` takes one value"));
      return error_at(span);
    }
    Expr value = check_given(given[0], scope);
    if (value.type.is_error()) return error_at(span);
    value = keep_apart(std::move(value));
    const Application application(callee, closure.code, span, cx);
    if (!application.may_go_on()) return error_at(span);
    // Not the frames of the caller, which may be many names.
    auto frames = std::exchange(scope.frames, {});
    Scope inner = scope;
    scope.frames = std::move(frames);
    inner.module = closure.module;
    inner.owner = closure.owner;
    inner.frames = is_here ? closure.frames : std::vector<std::map<std::string, LocalId>>(1);
    inner.frames.emplace_back();
    inner.rounds.clear();
    if (const auto* lambda = closure.code->get<ast::Lambda>()) {
      const LocalId param = inner.declare(lambda->param.text, value.type);
      Expr body = check_expr(*lambda->value, inner);
      if (body.type.is_error()) return error_at(span);
      result = let_in(param, std::move(value), std::move(body), span, cx);
    } else {
      result = check_call(*closure.code, *closure.code->get<ast::Call>(), inner, std::move(value));
      if (result.type.is_error()) return error_at(span);
      note_element(result, closure.code->span, cx);
    }
  }
  if (object) result = cx.at(with_self(cx.keep(std::move(result)), *object, cx));
  for (auto& [local, value] : kept) result = let_in(local, std::move(value), std::move(result), span, cx);
  if (makes_locals(callee, cx)) result = let_in(scope.hidden_local(callee.type), callee, std::move(result), span, cx);
  result.span = span;
  return result;
}

Expr call_value(Expr callee, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  const std::vector<TypeField>& signature = callee.type.fields;
  const size_t count = signature.size() - 1;
  if (site.given.size() != count) {
    cx.report(diag::wrong_argument(site.span, "`" + cx.source_text(callee.span) + "` takes " + std::to_string(count) +
                                                  " argument" + (count == 1 ? "" : "s") + ", not " +
                                                  std::to_string(site.given.size())));
    return error_at(site.span);
  }
  std::set<AtomId> free;
  for (const auto& [atom, value] : callee.type.arguments) free.insert(atom);
  Binding binding;
  std::vector<Expr> args;
  const std::string what = "the argument of `" + cx.source_text(callee.span) + "`";
  bool has_error = false;
  for (size_t i = 0; i < count; ++i) {
    args.push_back(check_given_as(site.given[i], signature[i].type, scope, what.c_str()));
    const ExprView& arg = args.back();
    has_error = has_error || arg.type.is_error() ||
                !match(signature[i].type, arg.type, binding, free, arg.span, scope, what, false);
  }
  if (has_error) return error_at(site.span);
  Type result = substitute(signature.back().type, binding, cx);
  return {std::move(result), site.span, node::CallValue{cx.keep(std::move(callee)), cx.keep(std::move(args))}};
}

Expr as_function(Expr value, const Type& wanted, Scope& scope, const char* what) {
  const Span span = value.span;
  node::Function function;
  function.local = scope.hidden_local(value.type);
  function.value = scope.cx.keep(value);
  scope.local(function.local).layers = function.value;
  // What has no value at run time, such as `relu`, is applied as it was written.
  Expr callee = value.is<node::FnValue>() ? value : local_expr(function.local, scope, span);
  std::vector<Given> given;
  for (size_t i = 0; i + 1 < wanted.fields.size(); ++i) {
    const LocalId param = scope.hidden_local(wanted.fields[i].type);
    function.params.push_back(param);
    given.push_back({std::nullopt, nullptr, local_expr(param, scope, span), span});
  }
  Scope inner = scope;
  inner.in_function_value = true;
  Expr body = apply(std::move(callee), std::move(given), span, inner);
  if (body.type.is_error()) return error_at(span);
  const Type& result = wanted.fields.back().type;
  body = convert(std::move(body), result, scope, what);
  Binding binding;
  const std::string label = std::string("the result of ") + what;
  if (body.type.is_error() || !match(result, body.type, binding, {}, span, scope, label, false)) {
    return error_at(span);
  }
  function.result = scope.cx.keep(std::move(body));
  return {wanted, span, std::move(function)};
}

}  // namespace ltr::check
