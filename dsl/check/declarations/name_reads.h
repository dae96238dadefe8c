#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "dsl/ast/decl.h"

namespace ltr::check {

using Names = std::unordered_set<std::string_view>;  // of the tree

/// What a part of the program reads.
struct Reads {
  Names names;
  Names values;              ///< of those, the ones that are not only called
  Names fields;              ///< behind a `.`
  Names followers;           ///< what `ema_update` writes
  std::vector<Names> owned;  ///< the members whose weights each optimizer is given

  void take(const std::optional<ast::Name>& name) {
    if (name) names.insert(name->text);
  }
  void take_type(std::string_view name) { names.insert(name.substr(0, name.find('.'))); }

  void operator()(const ast::Expr& expr);
  void operator()(const ast::TypeExpr& type);
  void operator()(const ast::Stmt& stmt);
  void operator()(const ast::Item& item);
  void operator()(const ast::Decl& decl);

 private:
  /// What `n = n + 1` reads of `n` is for `n` alone.
  void take_assigned(const ast::Assign& assign, std::string_view target);
  /// The `net` of `net` and `net.weights`.
  static const ast::Name* whole_member(const ast::Expr& expr);
  void take_weights(const ast::Expr& expr);
  /// What a function calls its params and locals: of those, what nothing before it reads. What it reads by such a name is its own.
  std::vector<std::string> own_names(const ast::Fn& fn) const;
};

}  // namespace ltr::check
