#pragma once

#include <optional>
#include <unordered_map>

#include "codegen/emit/context.h"

namespace ltr::emit {

/// Turns the ops of one function into statements. A pure op that is read once becomes a part of its reader.
class FunctionEmitter {
 public:
  FunctionEmitter(const ir::Function& function, Context& cx) : function_(function), cx_(cx) {}
  cpp::Function run();

 private:
  using Operands = std::vector<ir::ValueId>;

  // Structure (emit_function.cpp).
  cpp::Function signature();
  void name_params(cpp::Function& out);
  void recompute(cpp::Function& out);
  void count_uses(const ir::Region& region, int depth);
  void region(const ir::Region& region);
  void op(const ir::Op& op, const ir::Op* next);
  void give(const ir::Op& op, cpp::Expr value, const ir::Op* next);
  bool may_inline(const ir::Op& op, const ir::Op* next) const;
  bool reuse(const ir::Op& op, cpp::Expr& value);
  void at(const ir::Op& op);
  void push(cpp::Stmt stmt, const ir::Loc& loc);
  std::string name_of(ir::ValueId id) const;
  cpp::Expr use(ir::ValueId id);
  /// As an argument of type `wanted`; a none and a constant take its form.
  cpp::Expr use_as(ir::ValueId id, const ir::Type& wanted);
  const ir::Type& type(ir::ValueId id) const { return function_.values[id].type; }
  bool is_none(ir::ValueId id) const;
  cpp::Expr constant(const ir::Constant& constant, const ir::Type& type);

  // Regions (emit_region.cpp).
  void if_op(const ir::Op& op);
  void for_op(const ir::Op& op);
  void while_op(const ir::Op& op);
  void guarded(const ir::Op& op, const char* guard);
  cpp::Expr list_end(const ir::Op& op);
  void comprehension(const ir::Op& op);
  void scan(const ir::Op& op);
  cpp::Expr function(const ir::Op& op);
  void leave(const ir::Op& op);
  void yield(const ir::Op& op);
  void declare_results(const ir::Op& op, size_t first_initial, bool has_initial);
  cpp::Body collect(const ir::Region& region);

  // Values of ops (emit_op.cpp, emit_host.cpp, emit_build.cpp).
  cpp::Expr value(const ir::Op& op);
  /// Whether what stands at `name` of `object` belongs to a block or model, and not to a metric or callback.
  static bool is_of_block(const ir::Type& object, std::string_view name);
  cpp::Expr read_buffer(const ir::Op& op);
  cpp::Expr library_call(const ir::Op& op);
  cpp::Expr call(const ir::Op& op);
  cpp::Expr call_extern(const ir::Op& op);
  cpp::Expr check_result(const ir::Op& op);
  cpp::Expr host(const ir::Op& op);
  // Conditions on counts of the run (emit_truth.cpp).
  bool is_count(const ir::Op& op) const;
  /// Whether it is computed of counts of the run, and beside them of what never changes: hparams, parameters of the object, constants.
  bool hangs_on_counts(ir::ValueId id) const;
  bool is_of_counts(ir::ValueId id, int& left, bool& has_count) const;
  cpp::Expr from_counts(ir::ValueId id);
  /// Of a bool that hangs on counts alone; nothing of others.
  std::optional<cpp::Expr> truth(const ir::Op& op);
  /// The line of the program that an error of `op` names; in the library that of its caller.
  cpp::Expr place_of(const ir::Op& op);
  cpp::Expr defined(ir::ValueId id);
  cpp::Expr convert(const ir::Op& op);
  cpp::Expr equal(const ir::Type& type, const cpp::Expr& left, const cpp::Expr& right);
  cpp::Expr in_list(const ir::Op& op);
  cpp::Expr text_of(ir::ValueId id, const std::string& format);
  std::vector<cpp::Expr> text_part(ir::ValueId id, const std::string& format);
  cpp::Expr joined_text(const std::vector<ir::ValueId>& ids, const ir::Texts& formats, const std::string& between);
  cpp::Expr make_value(const ir::Op& op);
  cpp::Expr make_tensor(const ir::Op& op, const std::string& kind);
  cpp::Expr weights_at(const ir::Op& op);
  cpp::Expr join_weights(const ir::Op& op);
  cpp::Expr choose(const ir::Op& op);
  cpp::Expr aggregate(const ir::Op& op);
  cpp::Expr item(const ir::Op& op);
  cpp::Expr check_shape(const ir::Op& op);
  cpp::Expr overfit(const ir::Op& op);
  /// `ltr::build::Arguments().add(…)…` of the operands from `first` on, one for each of the op's `names`.
  cpp::Expr arguments(cpp::Expr rows, const ir::Op& op, size_t first);
  cpp::Expr row(cpp::Expr rows, const std::string& name, const std::string& type_text, const ir::Loc& loc,
                ir::ValueId id);
  cpp::Expr call_rows(const ir::Op& call);
  cpp::Expr setting(const ir::Op& op, const ir::Type& wanted);
  const ir::Op* definition(ir::ValueId id) const;
  cpp::Expr make_optimizer(const ir::Op& op);
  cpp::Expr context(const ir::Op& op);
  cpp::Expr map_stream(const ir::Op& op);
  cpp::Expr filter_stream(const ir::Op& op);
  cpp::Expr typed_source(const ir::Op& op);
  /// A schema; `sizes` are those of each field's axes, else they are those of its type, -1 for any.
  cpp::Expr fields(const std::vector<ir::Field>& fields);
  cpp::Expr fields(const std::vector<ir::Field>& fields, std::vector<std::vector<cpp::Expr>> sizes);
  cpp::Expr slot(const ir::Op& op);
  std::vector<cpp::Expr> uses(const ir::Op& op, size_t from = 0);

  // Ops without a value (emit_statement.cpp, emit_build.cpp).
  void construct(const ir::Op& op, const ir::Op* next);
  void statement(const ir::Op& op);
  void on_context(const std::string& method, std::vector<cpp::Expr> args, const ir::Op& op);
  void on_settings(const std::string& method, std::vector<cpp::Expr> args, const ir::Op& op);
  void write_buffer(const ir::Op& op);
  void make_init(const ir::Op& op);
  void load_weights(const ir::Op& op);
  void check_hparam(const ir::Op& op);
  void check_setting(const ir::Op& op);
  void oblige(const ir::Op& op);
  void list_call(const ir::Op& op);
  void add_stream(const ir::Op& op);
  void log_value(const ir::Op& op);
  void call_metric(const ir::Op& op);
  void make_metric(const ir::Op& op);
  void set_batch(const ir::Op& op);

  const ir::Function& function_;
  Context& cx_;
  cpp::Body* body_ = nullptr;
  std::unordered_map<ir::ValueId, cpp::Expr> values_;  ///< how a value is written
  std::unordered_map<ir::ValueId, int> uses_;
  std::unordered_map<ir::ValueId, const ir::Op*> definitions_;
  std::unordered_map<ir::ValueId, int> use_depth_;      ///< of the region that reads it last
  std::unordered_map<ir::ValueId, std::string> owned_;  ///< tensor variables of the open region that may be reused
  int depth_ = 0;
  std::optional<ir::ValueId> self_;  ///< the object whose method it is
  bool is_in_truth_ = false;         ///< what is written is a condition on counts
  ir::Loc last_at_;
  std::vector<const ir::Op*> parents_;  ///< ops whose regions are open
  std::string collected_;               ///< the vector that a comprehension fills
};

}  // namespace ltr::emit
