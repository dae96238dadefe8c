#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/scope/reported.h"

namespace ltr::check {

namespace {

/// The one member that is such a block or metric, where the call gives what it is applied to; empty if it does not.
std::string member_of_kind(const ObjectInfo& object, CallSite& site) {
  if (site.scope.owner == nullptr || site.given.empty()) return "";
  std::string found;
  for (const auto& [name, member] : site.scope.owner->members) {
    if (member.type.kind != object.kind || member.type.decl != object.index) continue;
    if (!found.empty()) return "";
    found = name;
  }
  const auto called = object.fns.find(object.kind == Kind::Metric ? "update" : "forward");
  if (found.empty() || called == object.fns.end() || called->second->params.size() != site.given.size()) return "";
  return check_given(site.given[0], site.scope).type.is_tensor() ? found : "";
}

/// `max_pool2d` of `MaxPool2d`.
std::string function_of(const std::string& block) {
  std::string name;
  for (const char c : block) {
    const bool is_large = c >= 'A' && c <= 'Z';
    if (is_large && !name.empty()) name += '_';
    name += is_large ? char(c - 'A' + 'a') : c;
  }
  return name;
}

bool is_function(const std::string& name, const Scope& scope) {
  const Symbol* symbol = scope.cx.graph.find(scope.module, name);
  return symbol != nullptr && (symbol->kind == SymbolKind::Op || symbol->kind == SymbolKind::Fn);
}

/// Reports where code builds what must be a member.
bool may_build(const Symbol& symbol, const ObjectInfo& object, CallSite& site) {
  const Place place = site.scope.place;
  const bool builds_once = place == Place::Member || place == Place::Test || place == Place::Experiment;
  if ((builds_once && !site.scope.in_function_value) || symbol.kind == SymbolKind::Data) return true;
  Context& cx = site.scope.cx;
  const Span built = {site.span.source, site.name_span.begin, site.span.end};
  const bool has_tensors = std::any_of(object.members.begin(), object.members.end(), [](const auto& one) {
    const MemberKind kind = one.second.kind;
    return kind != MemberKind::Let && kind != MemberKind::Optimizer;
  });
  diagnostics::Diagnostic diagnostic = diag::block_built_in_code(built, symbol.name,
                                                                 !has_tensors                  ? ""
                                                                 : object.kind == Kind::Metric ? ", with new states,"
                                                                                               : ", with new weights,");
  const bool is_piped = !site.given.empty() && site.given[0].value == nullptr;
  if (const std::string member = member_of_kind(object, site); !member.empty()) {
    diagnostic.help("`{}` is one: call it", member).fix(site.name_span, member);
  } else if (const std::string function = function_of(symbol.name); !has_tensors && is_function(function, site.scope)) {
    diagnostic.help("`{}` is the function that it applies", function);
  } else {
    diagnostic.help("make it a member: `NAME = {}` outside of the function{}", cx.source_text(built),
                    is_piped ? ", and pipe into `NAME`" : "");
  }
  cx.report(std::move(diagnostic));
  return false;
}

/// The arguments of a constructor in declared order, and what its sizes stand for; unset where one is wrong.
std::optional<std::vector<Expr>> constructor_arguments(const ObjectInfo& object, CallSite& site, Binding& binding) {
  Context& cx = site.scope.cx;
  const auto bound = bind_arguments(object.params, site, object.name);
  if (!bound) return std::nullopt;
  std::vector<Expr> args;
  args.reserve(object.params.size());
  const auto label = [&](size_t i) { return "`" + object.params[i].name + "`"; };
  const auto is_function = [&](size_t i) {
    return object.params[i].type.kind == Kind::Function && (*bound)[i] != nullptr;
  };
  bool has_error = false;
  std::vector<size_t> words;  // which stand for what the other arguments say
  for (size_t i = 0; i < object.params.size(); ++i) {
    const ParamInfo& param = object.params[i];
    if (is_function(i)) {
      const Given& given = *(*bound)[i];
      args.push_back(given.checked ? *given.checked : check_function(*given.value, site.scope));
    } else if ((*bound)[i] == nullptr) {
      args.push_back(default_of(object.params, i, args, object.module, site.scope));
    } else if (is_padding_word(param, *(*bound)[i])) {
      words.push_back(i);
      args.push_back({param.type, (*bound)[i]->value->span, node::NoneConst{}});
    } else {
      const Type wanted = substitute(param.type, binding, cx);
      args.push_back(check_given_as(*(*bound)[i], wanted, site.scope, label(i).c_str()));
      if ((*bound)[i]->value != nullptr && !args.back().type.is_error())
        look_at_fields(*(*bound)[i]->value, wanted, site.scope);
    }
    has_error = has_error || args.back().type.is_error();
    bind_sizes(param.type, args.back(), binding, cx);
  }
  for (size_t i = 0; i < words.size() && !has_error; ++i) {
    Expr& word = args[words[i]];
    word = padding_of_word(*object.params[words[i]].padding, args, word.span, site.scope);
    has_error = word.type.is_error();
    bind_sizes(object.params[words[i]].type, word.type, binding, cx);
  }
  // What a block parameter must accept may hang on all other arguments.
  for (size_t i = 0; i < object.params.size() && !has_error; ++i) {
    if (!is_function(i)) continue;
    const Type wanted = substitute(object.params[i].type, binding, cx);
    args[i] = convert(std::move(args[i]), wanted, site.scope, label(i).c_str());
    has_error = args[i].type.is_error();
  }
  if (has_error) return std::nullopt;
  // Types that mention other params, such as a shared weight, are compared once all are known.
  for (size_t i = 0; i < object.params.size(); ++i) {
    if ((*bound)[i] == nullptr || is_function(i)) continue;
    if (!match(object.params[i].type, args[i].type, binding, {}, args[i].span, site.scope, label(i), false))
      return std::nullopt;
  }
  return args;
}

/// E0339 of a weight or buffer whose bytes 64 bits do not count. Sizes that only a run knows are 1 at least.
bool are_weights_counted(const ObjectInfo& object, const Binding& binding, CallSite& site) {
  Context& cx = site.scope.cx;
  for (const auto& [name, member] : object.members) {
    const bool is_made = member.kind == MemberKind::Weight || member.kind == MemberKind::Buffer;
    if (!is_made || !member.type.is_tensor()) continue;
    const Element element = member.type.element;
    int64_t bytes = element == Element::F64 ? 8 : element == Element::F16 || element == Element::BF16 ? 2 : 4;
    for (const Dim& dim : substitute(member.type, binding, cx).dims) {
      const auto size = dim.size.constant();
      if (!size || !__builtin_mul_overflow(bytes, *size, &bytes)) continue;
      cx.report(diag::dim_overflow(site.span, "the size in bytes of the weight `" + name + "` of `" + object.name + "`",
                                   "does not fit into 64 bits"));
      return false;
    }
  }
  return true;
}

/// W0429: a recurrent block has drop-out between its layers, and one layer has nothing behind it.
void check_dropout_between_layers(const ObjectInfo& object, const std::vector<Expr>& args, Context& cx) {
  // A block of the program may do otherwise with parameters of these names.
  if (!cx.graph.modules[object.module].is_library) return;
  const auto given = [&](const char* name) -> const Expr* {
    const auto at = std::ranges::find(object.params, name, &ParamInfo::name);
    return at != object.params.end() ? &args[size_t(at - object.params.begin())] : nullptr;
  };
  const Expr *layers = given("layers"), *dropout = given("dropout");
  if (layers == nullptr || dropout == nullptr || given("directions") == nullptr) return;
  const auto* count = layers->get<node::IntConst>();
  const auto* share = dropout->get<node::FloatConst>();
  if (count == nullptr || share == nullptr || count->value != 1 || share->value == 0) return;
  if (is_reported(cx, diagnostics::Code::W0429, dropout->span)) return;
  cx.report(diag::idle_setting(dropout->span, "dropout")
                .note("it lies between the layers of `{}`, and there is one", object.name)
                .help("`layers = 2`, or a `Dropout` of its own behind it"));
}

}  // namespace

Expr construct(const Symbol& symbol, CallSite& site) {
  Context& cx = site.scope.cx;
  ObjectInfo& object = object_of(cx, symbol);
  if (object.is_checking) {
    cx.report(diag::recursion(site.name_span, object.name).note("it is being declared here"));
    return error_at(site.span);
  }
  complete(cx, object);
  if (!may_build(symbol, object, site)) return error_at(site.span);
  if (has_broken_param(object.params)) return ignore_arguments(site);
  Binding binding;
  std::optional<std::vector<Expr>> args;
  read_or_blame_order(site, object.params, Type::of(object.kind), [&](CallSite& given) {
    binding = {};
    args = constructor_arguments(object, given, binding);
    return args.has_value();
  });
  if (!args) return error_at(site.span);
  const bool holds = put_requirements(object.requirements, binding, {object.params, *args}, site.span, site.scope);
  // A layer of values that it does not take has sizes of its own, which nobody asks for.
  const auto is_rule = [](const Requirement& one) { return one.is_where; };
  // Nor has one with a weight that has no elements, whatever its sizes are.
  const auto lacks_elements = [&](const Requirement& one) {
    Requirement given = one;
    given.right = cx.program.atoms.substitute(one.right, binding.dims);
    return one.is_of_weight && decide(given, cx) == Truth::False;
  };
  const bool is_made_for_model = object.kind == Kind::Block || object.kind == Kind::Metric;
  if (!holds && is_made_for_model &&
      (std::ranges::any_of(object.requirements, is_rule) || std::ranges::any_of(object.requirements, lacks_elements)))
    return error_at(site.span);
  if (holds && !are_weights_counted(object, binding, site)) return error_at(site.span);
  check_dropout_between_layers(object, *args, cx);
  Type type = Type::of(object.kind);
  type.decl = object.index;
  type.name = object.name;
  for (const ParamInfo& param : object.params) {
    for (const AtomId size : param.sizes) type.arguments.emplace_back(size, binding.dims[size]);
  }
  if (object.kind == Kind::Metric) {
    const std::optional<bool> is_each = gives_each(object, *args, cx);
    if (!is_each) return error_at(site.span);
    type.gives_each = *is_each;
  }
  return {std::move(type), site.span, node::Construct{cx.keep(std::move(*args))}};
}

}  // namespace ltr::check
