#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "codegen/ir/builder.h"
#include "codegen/lower/shared.h"

namespace ltr::lower {

/// Lowers the code of one IR function. Who makes one sets what the code can see: `self`, `scope`, params, locals.
class BodyLowerer {
 public:
  BodyLowerer(Shared& shared, ir::Function& function) : b(function), shared_(shared) {}

  ir::Builder b;
  const check::Fn* fn = nullptr;              ///< whose locals have declared types; null in initialisers
  std::map<check::LocalId, ir::ValueId> env;  ///< value of each local now
  const ObjectRef* owner = nullptr;
  std::optional<ir::ValueId> self;
  std::optional<ir::ValueId> data;                ///< the wired data, in an experiment
  std::optional<ir::ValueId> model;               ///< what `model` is in a hook
  std::optional<ir::ValueId> world;               ///< in a constructor of a model
  std::optional<ir::ValueId> place;               ///< where the next block is built
  std::optional<ir::ValueId> shape;               ///< in an init rule: stands for its empty list of dims
  std::map<std::string, ir::ValueId> own_params;  ///< in a constructor: params and members made so far
  std::map<std::string, ir::ValueId> own_members;
  std::pair<check::ExprId, ir::ValueId> list;  ///< of which an element was taken last

  ir::ValueId expr(const check::ExprView& expr);
  ir::ValueId expr(check::ExprId id) { return expr(at(id)); }
  /// As a `Value` of a setting: `200 steps`, `max`, `cosine(…)`, or a plain host value.
  ir::ValueId setting(const check::ExprView& expr);
  /// A host value of type `type` as `Value`, and back.
  ir::ValueId to_value(ir::ValueId id);
  ir::ValueId from_value(ir::ValueId id, const ir::Type& type);
  /// A value as a place of type `wanted` holds it; `convert` where the two are stored differently.
  ir::ValueId fit(ir::ValueId value, const ir::Type& wanted);
  /// What `print` shows of a value: text of a list, tuple, record, range or option, else the value itself.
  ir::ValueId text(ir::ValueId value, const check::Type& type);
  void body(std::span<const check::Stmt> body);
  /// `return` at the end, unless every path has left already.
  void finish();

 private:
  using Make = std::function<ir::ValueId()>;

  // What has an error of its own, in a module for analysis.
  ir::ValueId unknown(const ir::Type& type);

  // Expressions: one function for each kind of node, `expr` the node with its type and place.
  ir::ValueId lower(const check::node::Error& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::IntConst& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::FloatConst& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::BoolConst& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::StrConst& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::NoneConst& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Quantity& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Symbol& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Series& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Local& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Self& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Member& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Hparam& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::DataMember& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Context& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::ModelOf& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::MetricSeries& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::FnValue& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Op& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::CallFn& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::CallMethod& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::CallMetric& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::CallValue& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::CallExtern& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Construct& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Call& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::MapStage& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::FilterStage& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::List& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Tuple& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Record& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::RecordField& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::TupleElement& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::ListElement& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::ListLength& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Comprehension& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::ApplyList& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Shape& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::If& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::And& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Or& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Not& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Host& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::In& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Range& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Equal& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Convert& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Interpolate& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::CheckShape& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::CheckResult& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Weights& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Frozen& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::LetIn& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Function& node, const check::ExprView& expr);
  ir::ValueId lower(const check::node::Scan& node, const check::ExprView& expr);
  /// The elements of a list, tuple or record; blocks among them are built below the place of the whole.
  std::vector<ir::ValueId> placed(const check::ExprIds& elements, const check::Type& type);
  ir::ValueId weights(const check::ExprView& of);
  /// The place of a list, tuple or record that is, or is in, a member; nothing where that is not known by its name.
  std::optional<ir::ValueId> place_below(const check::ExprView& expr);
  bool takes_blocks(const check::node::Member& member) const;
  /// The weights of all blocks in a value, of each element of a list.
  ir::ValueId weights_in(ir::ValueId value, const check::Type& type);
  ir::ValueId weights_of_each(ir::ValueId list, const check::Type& element);
  /// What `step predict` gave, in the hook behind it.
  ir::ValueId output(const check::Type& type);
  /// The row of `map` in the table of functions over records, made if it is not there.
  int64_t map_row(ir::MapInfo map, check::FnId fn, const check::Type& stream);
  /// The fields of `facts(stream)` that the program asks for, as a list of names.
  ir::ValueId fact_fields(const check::Type& facts);
  ir::ValueId typed_source(const check::node::Op& op, const check::ExprView& expr);
  ir::ValueId overfit(const check::node::Op& op, const check::ExprView& expr);
  ir::ValueId kept_call(const check::node::Call& call);
  /// The arguments of a call of `fn`, each as its param holds it.
  std::vector<ir::ValueId> arguments(check::FnId fn, const check::ExprIds& args);
  void note_written(const check::ExprIds& args);
  ir::ValueId lazy(bool is_and, check::ExprId left, check::ExprId right);
  ir::ValueId either(ir::ValueId condition, const ir::Type& type, const Make& then_value, const Make& else_value);
  ir::ValueId get_element(ir::ValueId base, ir::ValueId index, const ir::Type& type);
  ir::ValueId convert(ir::ValueId value, const ir::Type& to);
  ir::ValueId convert_list(ir::ValueId list, const ir::Type& to);
  ir::ValueId joined(std::vector<ir::ValueId> parts);
  /// Likewise inside of brackets, where texts have quotes.
  ir::ValueId element_text(ir::ValueId value, const check::Type& type);
  ir::ValueId list_text(ir::ValueId list, const check::Type& element);
  std::vector<ir::ValueId> exprs(const check::ExprIds& list);
  check::ExprView at(check::ExprId id) const { return shared_.program.exprs[id]; }

  // Statements, likewise.
  void lower(const check::stmt::Error& stmt);
  void lower(const check::stmt::Let& stmt);
  void lower(const check::stmt::Unpack& stmt);
  void lower(const check::stmt::SetMember& stmt);
  void lower(const check::stmt::Return& stmt);
  void lower(const check::stmt::Yield& stmt);
  void lower(const check::stmt::Assert& stmt);
  void lower(const check::stmt::Print& stmt);
  void lower(const check::stmt::Minimize& stmt);
  void lower(const check::stmt::Backward& stmt);
  void lower(const check::stmt::Log& stmt);
  void lower(const check::stmt::If& stmt);
  void lower(const check::stmt::For& stmt);
  void lower(const check::stmt::While& stmt);
  void lower(const check::stmt::Every& stmt);
  void lower(const check::stmt::NoGrad& stmt);
  void lower(const check::stmt::Eval& stmt);
  void lower(const check::stmt::HookCall& stmt);
  /// What a member becomes.
  ir::ValueId new_value(const check::stmt::SetMember& set);
  void let(check::LocalId local, ir::ValueId value);
  void branch(ir::ValueId condition, const check::Body* then_body, const check::Body* else_body);
  ir::Type local_type(check::LocalId local, ir::ValueId value) const;
  /// The locals that have a value already and get another one in a body.
  std::vector<check::LocalId> carried(const check::Body& body) const;
  void add_assigned(const check::Body& body, std::set<check::LocalId>& locals) const;
  void add_assigned(check::ExprId id, std::set<check::LocalId>& locals) const;

  Shared& shared_;
};

}  // namespace ltr::lower
