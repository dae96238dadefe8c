#pragma once

#include <set>

#include "dsl/ast/walk.h"
#include "ltrc/language_server/index.h"

namespace ltr::language_server {

using Statements = std::map<Span, std::pair<const check::Fn*, const check::Stmt*>>;

/// The name of a declaration, and what stands in its braces, if it has such.
std::string name_of(const ast::Decl& decl);
const std::vector<ast::Item>* items_of(const ast::Decl& decl);

/// Follows the scopes of one module and notes what each name means. It looks names up as `check`
/// does, but goes on where that gives up, so that it serves programs with mistakes.
class NameWalk {
 public:
  NameWalk(Index& index, const driver::Compilation& compilation, const Statements& statements, uint32_t module);
  void run();

  void operator()(const ast::Decl& decl);
  void operator()(const ast::Item& item);
  void operator()(const ast::Stmt& statement);
  void operator()(const ast::TypeExpr& type);
  void operator()(const ast::Expr& expr);

 private:
  using Frame = std::map<std::string, EntityId>;

  template <class Node>
  void children(const Node& node) {
    ast::for_each_child(node, *this);
  }
  EntityId declare(EntityKind kind, const ast::Name& name, Span whole, const ast::TypeExpr* written = nullptr);
  void use(const ast::Name& name, EntityId entity, bool is_write = false);
  void define(EntityId entity);
  void plain(Span span, PlainKind kind) { index_.plain_.push_back({span, kind}); }
  std::optional<EntityId> find_local(const std::string& name) const;
  std::optional<EntityId> find_own(const std::string& name) const;
  std::optional<EntityId> find(const std::string& name) const;
  std::optional<EntityId> find_series(const std::string& role, const std::string& name) const;
  std::optional<EntityId> find_alias(const std::string& name) const;
  std::optional<EntityId> of_space(resolve::Space space, const std::string& name) const;
  std::optional<EntityId> of_symbols(const std::map<std::string, resolve::Symbol>& from, const std::string& name) const;

  void params(const std::vector<ast::Param>& params);
  void function(const ast::Fn& fn, Span whole);
  void body(const ast::Body& statements, Span region);
  void branch(const ast::If& branch, Span region);
  void assign(const ast::Stmt& statement, const ast::Assign& assign);
  void assigned(const ast::Name& name, const ast::Stmt& statement, const ast::TypeExpr* written = nullptr);
  void infer(const ast::Name& name, const ast::Stmt& statement, size_t position);
  void settings(const std::vector<ast::Setting>& settings, bool are_hparams = false);
  void section(const ast::Section& section);
  void imported(const ast::Import& import, Span whole);
  /// What is seen in all of `decl`: its params and its members.
  void object(const ast::Decl& decl, const std::vector<ast::Param>& list);
  void topology(const ast::Topology& topology);
  void experiment(const ast::Experiment& experiment);
  void arguments(const ast::Call& call);
  std::optional<EntityId> callee(const ast::Expr& expr);
  std::optional<EntityId> member(const ast::Expr& base, const std::string& name);
  std::optional<EntityId> member(const check::Type& type, const std::string& name);
  EntityId param(const ast::Param& param, uint32_t module, const std::string& container);
  std::optional<EntityId> written_field(const ast::Expr& base, const std::string& name) const;

  Index& index_;
  const driver::Compilation& compilation_;
  const Statements& statements_;
  const resolve::ModuleGraph& graph_;
  const resolve::Module& module_;
  uint32_t number_;
  std::vector<Frame> frames_;
  Frame members_;                      ///< of the declaration around
  Frame own_params_;                   ///< likewise
  const Frame* then_names_ = nullptr;  ///< in an else branch: what the other one declared
  std::string container_;
  check::Type data_ = check::Type::error();  ///< in an experiment: that of its `data`
  std::string initialised_;                  ///< the member whose value is walked: there its name is the parameter
  Span region_;                              ///< where what is declared now can be seen
};

}  // namespace ltr::language_server
