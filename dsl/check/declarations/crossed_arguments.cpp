// W0312: arguments that have the names of each other's params.

#include <algorithm>

#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/doubtful.h"

namespace ltr::check {

namespace {

/// A call whose params are known, and what is given to them by its place.
struct PlacedCall {
  std::string callee;
  const std::vector<ParamInfo>* params = nullptr;
  std::vector<const ast::Expr*> given;
  const ObjectInfo* built = nullptr;  ///< of a layer or metric that it builds
  bool is_of_library = false;
  bool is_passed_on = false;  ///< it is all that its function does
};

/// `std` of `std` and of `seen.price.std`.
std::string_view name_given(const ast::Expr& expr) {
  if (const auto* ref = expr.get<ast::NameRef>()) return ref->name.text;
  if (const auto* field = expr.get<ast::Field>()) return field->name.text;
  return {};
}

/// The part of `seen.price.std` that has the name of a param, if need be in the plural; empty if none has. One letter says nothing.
std::string_view name_like(const ast::Expr& expr, const std::string& param) {
  if (param.size() <= 1) return {};
  const auto* field = expr.get<ast::Field>();
  for (const std::string_view name :
       {name_given(expr), field != nullptr ? name_given(*field->base) : std::string_view()}) {
    const bool is_plural = field != nullptr && name.size() > 1 && param == std::string(name) + "s";
    if (name == param || is_plural) return name;
  }
  return {};
}

/// The call that is all that a function does, if it is that.
const ast::Call* call_passed_on(const ast::Fn& fn) {
  if (fn.value) return fn.value->get<ast::Call>();
  const auto* result = fn.body.size() == 1 ? fn.body.front().get<ast::Return>() : nullptr;
  return result != nullptr && result->value ? result->value->get<ast::Call>() : nullptr;
}

/// Finds the calls of one function, or of one line outside of functions.
class Calls {
 public:
  Calls(Context& cx, uint32_t module, const ObjectInfo* owner) : cx_(cx), module_(module), owner_(owner) {}

  std::vector<PlacedCall> found;

  void operator()(const ast::Expr& expr) {
    const auto* pipe = expr.get<ast::Pipe>();
    const auto* target = pipe != nullptr ? pipe->target->get<ast::Call>() : nullptr;
    if (target != nullptr) {
      take(*target, &*pipe->value);
      (*this)(*pipe->value);
      for (const ast::Argument& argument : target->arguments) (*this)(*argument.value);
      return;
    }
    if (const auto* call = expr.get<ast::Call>()) take(*call, nullptr);
    ast::for_each_child(expr, *this);
  }
  void operator()(const auto& node) { ast::for_each_child(node, *this); }

  void of(const ast::Fn& fn) {
    passed_on_ = call_passed_on(fn);
    for (const ast::Stmt& stmt : fn.body) (*this)(stmt);
    if (fn.value) (*this)(*fn.value);
  }

 private:
  Context& cx_;
  uint32_t module_;
  const ObjectInfo* owner_;
  const ast::Call* passed_on_ = nullptr;

  /// What the code of a member of that type is called as.
  const FnInfo* function_of(const Type& type, const std::string& name) {
    if (type.kind != Kind::Block && type.kind != Kind::Metric) return nullptr;
    const ObjectInfo* object = find_object(cx_, type.kind, type.decl);
    if (object == nullptr) return nullptr;
    const auto fn = object->fns.find(name);
    return fn != object->fns.end() ? fn->second.get() : nullptr;
  }

  /// A function or member of the object around it.
  const FnInfo* own_function(const ast::Expr& callee) {
    if (owner_ == nullptr) return nullptr;
    const auto* field = callee.get<ast::Field>();
    const auto* ref = (field != nullptr ? *field->base : callee).get<ast::NameRef>();
    if (ref == nullptr) return nullptr;
    const auto member = owner_->members.find(ref->name.text);
    if (member != owner_->members.end()) {
      const Type& type = member->second.type;
      return function_of(type, field != nullptr            ? field->name.text
                               : type.kind == Kind::Metric ? std::string("update")
                                                           : std::string("forward"));
    }
    const auto fn = field == nullptr ? owner_->fns.find(ref->name.text) : owner_->fns.end();
    return fn != owner_->fns.end() ? fn->second.get() : nullptr;
  }

  PlacedCall called_by(const ast::Expr& callee) {
    if (const FnInfo* own = own_function(callee)) return {own->name, &own->params, {}};
    const auto* ref = callee.get<ast::NameRef>();
    const Symbol* symbol = ref != nullptr ? cx_.graph.find(module_, ref->name.text) : nullptr;
    if (symbol == nullptr) return {};
    if (symbol->fn != nullptr) {
      // One that nothing calls is hidden by a local here.
      const auto known = cx_.declared.fns.find(symbol->fn);
      // Of the sides of a loss W0414 speaks.
      if (known == cx_.declared.fns.end() || library::is_loss(known->second->id)) return {};
      return {symbol->name, &known->second->params, {}, nullptr, cx_.graph.modules[symbol->module].is_library};
    }
    const bool builds_layer = symbol->kind == SymbolKind::Block || symbol->kind == SymbolKind::Metric;
    if (!builds_layer && symbol->kind != SymbolKind::Model && symbol->kind != SymbolKind::Data &&
        symbol->kind != SymbolKind::Callback)
      return {};
    const auto known = cx_.declared.objects.find(symbol->decl);
    if (known == cx_.declared.objects.end()) return {};
    const ObjectInfo* built = builds_layer ? known->second.get() : nullptr;
    return {symbol->name, &known->second->params, {}, built, cx_.graph.modules[symbol->module].is_library};
  }

  void take(const ast::Call& call, const ast::Expr* piped) {
    PlacedCall placed = called_by(*call.callee);
    if (placed.params == nullptr) return;
    if (piped != nullptr) placed.given.push_back(piped);
    for (const ast::Argument& argument : call.arguments) {
      if (argument.name) break;
      placed.given.push_back(&*argument.value);
    }
    placed.is_passed_on = &call == passed_on_;
    if (placed.given.size() <= placed.params->size()) found.push_back(std::move(placed));
  }
};

/// Whether the argument at `at` has the name of the param at `param`.
bool is_named(const PlacedCall& call, size_t at, size_t param) {
  return !name_like(*call.given[at], (*call.params)[param].name).empty();
}

/// Whether the argument at `at` has the name of the param at `param`, and not of its own.
bool strays(const PlacedCall& call, size_t at, size_t param) {
  return is_named(call, at, param) && !is_named(call, at, at);
}

/// Whether a dim of a type is computed of the size.
bool has_size(const Type& type, AtomId size, const Program& program) {
  const auto is_of_it = [&](const Dim& dim) {
    const std::vector<AtomId> atoms = program.atoms.deep_atoms(dim.size);
    return std::ranges::find(atoms, size) != atoms.end();
  };
  return std::ranges::any_of(type.dims, is_of_it) ||
         std::ranges::any_of(type.fields, [&](const TypeField& field) { return has_size(field.type, size, program); });
}

/// Whether what a layer or metric takes or gives has a size by one of two ints that it is built with; so it is taken of those
/// whose types are not known.
bool are_sizes(const PlacedCall& call, size_t first, size_t second, const Program& program) {
  const Type &one = (*call.params)[first].type, &other = (*call.params)[second].type;
  if (one.kind != Kind::Int || other.kind != Kind::Int) return false;
  for (const std::string name : {"forward", "update"}) {
    const auto fn = call.built->fns.find(name);
    if (fn == call.built->fns.end()) continue;
    for (const Type* size : {&one, &other}) {
      const auto atom = size->value ? size->value->single_atom() : std::nullopt;
      if (!atom || has_size(fn->second->result, *atom, program)) return true;
      for (const ParamInfo& param : fn->second->params) {
        if (has_size(param.type, *atom, program)) return true;
      }
    }
    return false;
  }
  return true;
}

/// Numbers that are no sizes, or lists of them.
bool is_plain_number(const Type& type) {
  return type.kind == Kind::Float ||
         (type.kind == Kind::List && type.fields.size() == 1 && is_plain_number(type.fields[0].type));
}

/// Two arguments in each other's place; or, of numbers that a function of the library takes, one in the place of another, where
/// something of another name stands in its own.
bool are_crossed(const PlacedCall& call, size_t first, size_t second, const Program& program) {
  // The way back through layers has their sizes the other way round.
  if (call.built != nullptr && are_sizes(call, first, second, program)) return false;
  const bool first_strays = strays(call, first, second), second_strays = strays(call, second, first);
  if (first_strays && second_strays) return true;
  if (!first_strays && !second_strays) return false;
  const std::string_view other = name_given(*call.given[first_strays ? second : first]);
  const bool is_other_param =
      std::ranges::any_of(*call.params, [&](const ParamInfo& param) { return param.name == other; });
  return call.is_of_library && call.built == nullptr && other.size() > 1 && !is_other_param &&
         is_plain_number((*call.params)[first].type) && is_plain_number((*call.params)[second].type);
}

/// What is called with two values both ways is the same both ways, or is meant to be.
bool is_called_straight(const std::vector<PlacedCall>& calls, const PlacedCall& call, size_t first, size_t second,
                        const Context& cx) {
  const auto is_same = [&](const ast::Expr* one, const ast::Expr* other) {
    return cx.source_text(one->span) == cx.source_text(other->span);
  };
  return std::ranges::any_of(calls, [&](const PlacedCall& other) {
    return other.params == call.params && other.given.size() > second &&
           is_same(other.given[first], call.given[second]) && is_same(other.given[second], call.given[first]);
  });
}

void judge(Context& cx, const std::vector<PlacedCall>& calls) {
  for (const PlacedCall& call : calls) {
    if (call.is_passed_on) continue;
    for (size_t first = 0; first < call.given.size(); ++first) {
      for (size_t second = first + 1; second < call.given.size(); ++second) {
        if (!are_crossed(call, first, second, cx.program) || is_called_straight(calls, call, first, second, cx))
          continue;
        const ast::Expr &one = *call.given[first], &other = *call.given[second];
        const std::string left = cx.source_text(one.span), right = cx.source_text(other.span);
        const std::string &param = (*call.params)[first].name, &later = (*call.params)[second].name;
        const auto shown = [](const ast::Expr& given, const std::string& named) {
          const std::string_view like = name_like(given, named);
          return std::string(like.empty() ? name_given(given) : like);
        };
        diagnostics::Diagnostic diagnostic =
            diag::crossed_arguments(one.span, shown(one, later), param, shown(other, param), later);
        diagnostic.label(other.span, "this is `{}` of `{}`", later, call.callee)
            .help("`{}` takes `{}` before `{}`: swap them, or say that it is meant: `{} = {}, {} = {}`", call.callee,
                  param, later, param, left, later, right)
            .guess(one.span, right)
            .guess(other.span, left);
        cx.report(std::move(diagnostic));
      }
    }
  }
}

}  // namespace

void check_crossed_arguments(Context& cx) {
  if (cx.sink->has_errors()) return;
  for (uint32_t module = 0; module < cx.graph.modules.size(); ++module) {
    if (cx.graph.modules[module].is_library) continue;
    for (const ast::Decl& decl : cx.graph.modules[module].ast.decls) {
      const auto object = cx.declared.objects.find(&decl);
      const std::vector<ast::Item>* items = items_in(decl);
      if (items == nullptr) {
        Calls calls(cx, module, nullptr);
        if (const auto* fn = decl.get<ast::Fn>())
          calls.of(*fn);
        else
          calls(decl);
        judge(cx, calls.found);
        continue;
      }
      if (object == cx.declared.objects.end()) continue;
      for (const ast::Item& item : *items) {
        Calls calls(cx, module, object->second.get());
        const auto* fn = item.get<ast::Fn>();
        const auto* step = item.get<ast::Step>();
        if (fn != nullptr || step != nullptr)
          calls.of(fn != nullptr ? *fn : step->fn);
        else
          calls(item);
        judge(cx, calls.found);
      }
    }
  }
}

}  // namespace ltr::check
