#include "dsl/check/declarations/given_numbers.h"

#include <algorithm>

#include "dsl/check/declarations/declarations.h"

namespace ltr::check {

namespace {

/// Whether an experiment sets the hparam to something of its own: then its default says little.
bool is_set(std::string_view hparam, const Context& cx) {
  return std::ranges::any_of(cx.graph.modules, [&](const auto& module) {
    return std::ranges::any_of(module.ast.decls, [&](const ast::Decl& decl) {
      const auto* experiment = decl.get<ast::Experiment>();
      return experiment != nullptr &&
             std::ranges::any_of(experiment->sets, [&](const auto& set) { return set.name.text == hparam; });
    });
  });
}

std::optional<int64_t> of_name(const std::string& name, uint32_t module, const Context& cx) {
  const Symbol* symbol = cx.graph.find(module, name);
  if (symbol == nullptr) return std::nullopt;
  const auto* constant = symbol->decl->get<ast::Const>();
  const auto* hparam = symbol->decl->get<ast::Hparam>();
  const auto* value = constant != nullptr ? &constant->value : hparam != nullptr ? &hparam->value : nullptr;
  const auto* literal = value != nullptr ? value->get<ast::IntLiteral>() : nullptr;
  if (literal == nullptr || (hparam != nullptr && is_set(name, cx))) return std::nullopt;
  return literal->value;
}

/// The number that a call gives a param, or its default.
std::optional<int64_t> given_to(const ast::Param& param, size_t at, const ast::Call& call, uint32_t module,
                                const Context& cx) {
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const ast::Argument& argument = call.arguments[i];
    if (argument.name ? argument.name->text == param.name.text : i == at)
      return whole_number(*argument.value, module, cx);
  }
  const auto* literal = param.initial ? param.initial->get<ast::IntLiteral>() : nullptr;
  return literal != nullptr ? std::optional(literal->value) : std::nullopt;
}

}  // namespace

std::optional<int64_t> whole_number(const ast::Expr& expr, uint32_t module, const Context& cx,
                                    const std::vector<ast::Param>* own, const GivenNumbers* given) {
  if (const auto* paren = expr.get<ast::Paren>()) return whole_number(*paren->inner, module, cx, own, given);
  if (const auto* literal = expr.get<ast::IntLiteral>()) return literal->value;
  if (const auto* ref = expr.get<ast::NameRef>()) {
    const auto is_it = [&](const ast::Param& param) { return param.name.text == ref->name.text; };
    if (own == nullptr || std::ranges::none_of(*own, is_it)) return of_name(ref->name.text, module, cx);
    const auto known = given != nullptr ? given->find(ref->name.text) : GivenNumbers::const_iterator{};
    return given != nullptr && known != given->end() ? std::optional(known->second) : std::nullopt;
  }
  const auto* both = expr.get<ast::Binary>();
  if (both == nullptr || (both->op != ast::BinaryOp::Add && both->op != ast::BinaryOp::Multiply)) return std::nullopt;
  const auto left = whole_number(*both->left, module, cx, own, given),
             right = whole_number(*both->right, module, cx, own, given);
  int64_t result = 0;
  if (!left || !right) return std::nullopt;
  const bool is_too_large = both->op == ast::BinaryOp::Add ? __builtin_add_overflow(*left, *right, &result)
                                                           : __builtin_mul_overflow(*left, *right, &result);
  return is_too_large ? std::nullopt : std::optional(result);
}

std::vector<GivenNumbers> given_numbers(const ast::Decl& model, const Context& cx) {
  std::vector<GivenNumbers> found;
  if (model.get<ast::Model>() == nullptr) return found;
  for (uint32_t module = 0; module < cx.graph.modules.size(); ++module) {
    for (const ast::Decl& decl : cx.graph.modules[module].ast.decls) {
      const auto* experiment = decl.get<ast::Experiment>();
      if (experiment == nullptr) continue;
      for (const ast::Setting& setting : experiment->settings) {
        const auto* call = setting.name.text == "model" ? setting.value.get<ast::Call>() : nullptr;
        const auto* called = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
        const Symbol* symbol = called != nullptr ? cx.graph.find(module, called->name.text) : nullptr;
        if (symbol == nullptr || symbol->decl != &model) continue;
        GivenNumbers& numbers = found.emplace_back();
        const std::vector<ast::Param>& params = written_params(model);
        for (size_t i = 0; i < params.size(); ++i) {
          if (const auto number = given_to(params[i], i, *call, module, cx))
            numbers.emplace(params[i].name.text, *number);
        }
      }
    }
  }
  return found;
}

}  // namespace ltr::check
