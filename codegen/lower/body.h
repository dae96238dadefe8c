#pragma once

#include <functional>
#include <map>
#include <optional>

#include "codegen/ir/builder.h"
#include "codegen/lower/shared.h"

namespace ltr::lower {

/// Lowers the code of one IR function. Who makes one sets what the code can see: `self`, `scope`, params, locals.
class BodyLowerer {
 public:
  BodyLowerer(Shared& shared, ir::Function& function) : b(function), shared_(shared) {}

  ir::Builder b;
  const check::Fn* fn = nullptr;               ///< whose locals have declared types; null in initialisers
  std::map<check::LocalId, ir::ValueId> env;   ///< value of each local now
  const ObjectRef* owner = nullptr;
  std::optional<ir::ValueId> self;
  std::optional<ir::ValueId> data;             ///< the wired data, in an experiment
  std::optional<ir::ValueId> model;            ///< what `model` is in a hook
  std::optional<ir::ValueId> world;            ///< in a constructor of a model
  std::optional<ir::ValueId> place;            ///< where the next block is built
  std::optional<ir::ValueId> shape;            ///< in an init rule: stands for its empty list of dims
  std::map<std::string, ir::ValueId> own_params;   ///< in a constructor: params and members made so far
  std::map<std::string, ir::ValueId> own_members;

  ir::ValueId expr(const check::Expr& expr);
  /// As a `Value` of a setting: `200 steps`, `max`, `cosine(…)`, or a plain host value.
  ir::ValueId setting(const check::Expr& expr);
  /// A host value of type `type` as `Value`, and back.
  ir::ValueId to_value(ir::ValueId id);
  ir::ValueId from_value(ir::ValueId id, const ir::Type& type);
  /// A value as a place of type `wanted` holds it; `convert` where the two are stored differently.
  ir::ValueId fit(ir::ValueId value, const ir::Type& wanted);
  /// What `print` shows of a value: text of a list, tuple, record, range or option, else the value itself.
  ir::ValueId text(ir::ValueId value, const check::Type& type);
  void body(const check::Body& body);
  /// `return` at the end, unless every path has left already.
  void finish();

 private:
  using Make = std::function<ir::ValueId()>;

  // What has an error of its own, in a module for analysis.
  ir::ValueId unknown(const ir::Type& type);

  // Expressions.
  ir::ValueId constant(const check::Expr& expr);
  ir::ValueId member(const check::Expr& expr);
  ir::ValueId op(const check::Expr& expr);
  ir::ValueId call(const check::Expr& expr);
  ir::ValueId construct(const check::Expr& expr);
  ir::ValueId list(const check::Expr& expr);
  ir::ValueId record(const check::Expr& expr);
  /// What `step predict` gave, in the hook behind it.
  ir::ValueId output(const check::Type& type);
  /// The elements of a list, tuple or record; blocks among them are built below the place of the whole.
  std::vector<ir::ValueId> placed(const check::Expr& expr);
  ir::ValueId comprehension(const check::Expr& expr);
  ir::ValueId apply_list(const check::Expr& expr);
  ir::ValueId weights(const check::Expr& expr);
  /// The place of a list, tuple or record that is, or is in, a member; nothing where that is not known by its name.
  std::optional<ir::ValueId> place_below(const check::Expr& expr);
  /// The weights of all blocks in a value, of each element of a list.
  ir::ValueId weights_in(ir::ValueId value, const check::Type& type);
  ir::ValueId weights_of_each(ir::ValueId list, const check::Type& element);
  ir::ValueId frozen(const check::Expr& expr);
  ir::ValueId function(const check::Expr& expr);
  ir::ValueId scan(const check::Expr& expr);
  ir::ValueId map_stage(const check::Expr& expr);
  ir::ValueId typed_source(const check::Expr& expr);
  ir::ValueId overfit(const check::Expr& expr);
  ir::ValueId in_list(const check::Expr& expr);
  ir::ValueId kept_call(const check::Expr& expr);
  ir::ValueId lazy(const check::Expr& expr);
  ir::ValueId either(ir::ValueId condition, const ir::Type& type, const Make& then_value, const Make& else_value);
  ir::ValueId get_element(ir::ValueId base, ir::ValueId index, const ir::Type& type);
  ir::ValueId convert(ir::ValueId value, const ir::Type& to);
  ir::ValueId convert_list(ir::ValueId list, const ir::Type& to);
  ir::ValueId joined(std::vector<ir::ValueId> parts);
  /// Likewise inside of brackets, where texts have quotes.
  ir::ValueId element_text(ir::ValueId value, const check::Type& type);
  ir::ValueId list_text(ir::ValueId list, const check::Type& element);
  std::vector<ir::ValueId> exprs(const std::vector<check::Expr>& list, size_t from = 0);
  ir::ValueId host(const std::string& name, const ir::Type& type, std::vector<ir::ValueId> operands) {
    return b.op(ir::OpKind::HostOp, type, std::move(operands), name);
  }

  // Statements.
  void stmt(const check::Stmt& stmt);
  /// What a member becomes.
  ir::ValueId new_value(const check::Stmt& stmt);
  void let(check::LocalId local, ir::ValueId value);
  void if_stmt(const check::Stmt& stmt);
  void branch(ir::ValueId condition, const check::Body* then_body, const check::Body* else_body);
  void for_stmt(const check::Stmt& stmt);
  void while_stmt(const check::Stmt& stmt);
  void no_grad(const check::Stmt& stmt);
  ir::Type local_type(check::LocalId local, ir::ValueId value) const;
  std::vector<check::LocalId> carried(const std::vector<const check::Body*>& bodies) const;

  Shared& shared_;
};

}  // namespace ltr::lower
