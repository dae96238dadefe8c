#include "dsl/migrate/migrate.h"

#include <array>
#include <set>
#include <string_view>

#include "dsl/ast/walk.h"

namespace ltr::migrate {

namespace {

constexpr int64_t kTestEdition = 999;

struct Form {
  int64_t edition = 0;
  std::string_view function;
  std::string_view argument;  ///< empty: the function itself has a new name
  std::string_view replacement;
};

constexpr std::array kForms = {
#define LTR_RENAMED_FUNCTION(edition, old_name, new_name) Form{edition, old_name, "", new_name},
#define LTR_RENAMED_ARGUMENT(edition, function, old_name, new_name) Form{edition, function, old_name, new_name},
#include "dsl/migrate/form.def"
};

/// Every name that the module gives to something.
class OwnNames {
 public:
  explicit OwnNames(std::set<std::string>& names) : names_(names) {}

  void operator()(const ast::Expr& expr) {
    if (const auto* lambda = expr.get<ast::Lambda>()) names_.insert(lambda->param.text);
    if (const auto* list = expr.get<ast::Comprehension>()) names_.insert(list->variable.text);
    ast::for_each_child(expr, *this);
  }
  void operator()(const ast::TypeExpr& type) { ast::for_each_child(type, *this); }
  void operator()(const ast::Stmt& stmt) {
    if (const auto* unpack = stmt.get<ast::Unpack>()) {
      for (const ast::Name& name : unpack->names) names_.insert(name.text);
    } else if (const auto* assign = stmt.get<ast::Assign>()) {
      if (const auto* target = assign->target.get<ast::NameRef>()) names_.insert(target->name.text);
    } else if (const auto* declare = stmt.get<ast::Declare>()) {
      names_.insert(declare->name.text);
    } else if (const auto* loop = stmt.get<ast::For>()) {
      names_.insert(loop->variable.text);
    }
    ast::for_each_child(stmt, *this);
  }
  void operator()(const ast::Item& item) {
    if (const auto* let = item.get<ast::Let>()) names_.insert(let->name.text);
    if (const auto* member = item.get<ast::Member>()) names_.insert(member->name.text);
    if (const auto* parameter = item.get<ast::Parameter>()) names_.insert(parameter->name.text);
    if (const auto* state = item.get<ast::State>()) names_.insert(state->name.text);
    if (const auto* fn = item.get<ast::Fn>()) add(*fn);
    if (const auto* step = item.get<ast::Step>()) add(step->fn);
    ast::for_each_child(item, *this);
  }
  void operator()(const ast::Decl& decl) {
    if (const auto* fn = decl.get<ast::Fn>()) add(*fn);
    if (const auto* block = decl.get<ast::Block>()) add(block->name, block->params);
    if (const auto* model = decl.get<ast::Model>()) add(model->name, model->params);
    if (const auto* metric = decl.get<ast::Metric>()) add(metric->name, metric->params);
    if (const auto* data = decl.get<ast::Data>()) add(data->name, data->params);
    if (const auto* callback = decl.get<ast::Callback>()) add(callback->name, callback->params);
    if (const auto* hparam = decl.get<ast::Hparam>()) names_.insert(hparam->name.text);
    if (const auto* type = decl.get<ast::TypeName>()) names_.insert(type->name.text);
    if (const auto* constant = decl.get<ast::Const>()) names_.insert(constant->name.text);
    if (const auto* import = decl.get<ast::Import>()) {
      if (import->alias) names_.insert(import->alias->text);
      const bool is_library = !import->path.empty() && import->path[0].text == "std";
      for (const ast::Name& name : import->names) {
        if (!is_library) names_.insert(name.text);
      }
    }
    if (const auto* block = decl.get<ast::Extern>()) {
      for (const ast::ExternFn& fn : block->fns) names_.insert(fn.signature.name.text);
    }
    ast::for_each_child(decl, *this);
  }

 private:
  void add(const ast::Name& name, const std::vector<ast::Param>& params) {
    names_.insert(name.text);
    for (const ast::Param& param : params) names_.insert(param.name.text);
  }
  void add(const ast::Fn& fn) { add(fn.name, fn.params); }

  std::set<std::string>& names_;
};

class FindForms {
 public:
  FindForms(const ast::Module& module, int64_t target, diagnostics::Sink& sink)
      : module_(module), target_(target), sink_(sink) {
    OwnNames names(own_);
    ast::for_each_child(module, names);
  }

  void operator()(const auto& node) { ast::for_each_child(node, *this); }
  void operator()(const ast::Expr& expr) {
    if (const auto* call = expr.get<ast::Call>()) {
      const ast::Name* name = nullptr;
      if (const auto* ref = call->callee->get<ast::NameRef>()) name = &ref->name;
      if (const auto* field = call->callee->get<ast::Field>()) name = &field->name;
      if (name != nullptr) check(*name, call->arguments);
    } else if (const auto* pipe = expr.get<ast::Pipe>()) {
      if (const auto* ref = pipe->target->get<ast::NameRef>()) check(ref->name, {});
    } else if (const auto* list = expr.get<ast::List>()) {
      for (const ast::Expr& element : list->elements) {
        if (const auto* ref = element.get<ast::NameRef>()) check(ref->name, {});
      }
    }
    ast::for_each_child(expr, *this);
  }

 private:
  void check(const ast::Name& name, const std::vector<ast::Argument>& arguments) {
    for (const Form& form : kForms) {
      const bool is_gone = form.edition > module_.edition && form.edition <= target_;
      if (!is_gone || form.function != name.text) continue;
      if (form.argument.empty()) report(form, name);
      for (const ast::Argument& argument : arguments) {
        if (argument.name && argument.name->text == form.argument) report(form, *argument.name);
      }
    }
  }

  void report(const Form& form, const ast::Name& place) {
    diagnostics::Diagnostic diagnostic =
        diag::deprecated_form(place.span, place.text, std::string(form.replacement), std::to_string(form.edition));
    if (own_.contains(std::string(form.function))) {
      diagnostic.note("the program calls something of its own `{}`, so look whether the library's is meant",
                      std::string(form.function));
    } else {
      diagnostic.help("write `{}`", std::string(form.replacement)).fix(place.span, std::string(form.replacement));
    }
    sink_.report(std::move(diagnostic));
  }

  const ast::Module& module_;
  int64_t target_;
  diagnostics::Sink& sink_;
  std::set<std::string> own_;
};

}  // namespace

std::vector<int64_t> known_editions(bool with_test) {
  std::vector<int64_t> editions = {1};
  if (with_test) editions.push_back(kTestEdition);
  return editions;
}

void find_deprecated(const ast::Module& module, int64_t target, diagnostics::Sink& sink) {
  FindForms find(module, target, sink);
  ast::for_each_child(module, find);
}

}  // namespace ltr::migrate
