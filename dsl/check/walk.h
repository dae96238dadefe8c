#pragma once

// What stands in a node, whatever its kind: the fields of its struct are read, so that a node has no second list of
// its operands.

#include <functional>

#include "dsl/check/typed.h"

namespace ltr::check {

/// The operands of an expression or statement in the order of its fields; not what a body in it reads.
void for_each_child(const ExprView& expr, const std::function<void(ExprId)>& visit);
void for_each_child(const Stmt& stmt, const std::function<void(ExprId)>& visit);
/// The bodies in a statement; that of a `scan`.
void for_each_body(const ExprView& expr, const std::function<void(const Body&)>& visit);
void for_each_body(const Stmt& stmt, const std::function<void(const Body&)>& visit);
void for_each_body(Stmt& stmt, const std::function<void(Body&)>& visit);
/// All expressions in a body, those within others and within its bodies, too.
void for_each_expr(const Body& body, const Program& program, const std::function<void(const ExprView&)>& visit);
/// The same in the code of a function and of all that it calls, each once.
void for_each_reached(FnId fn, const Program& program, const std::function<void(const ExprView&)>& visit);
/// Whether one of the operands fulfils `test`; `expr` itself is not asked.
bool any_child(const ExprView& expr, const std::function<bool(ExprId)>& test);
/// `expr` with `map(operand)` in place of each operand.
Expr with_children(Expr expr, const std::function<ExprId(ExprId)>& map);
/// Whether an expression reads something of the experiment's data.
bool needs_data(const ExprView& expr, const Program& program);
/// Whether `expr` builds blocks, itself or in its parts. Then what it builds lies at a place of its own below that of the
/// list (its number), the record (its field) or the block (the param) that it is handed to.
bool builds_blocks(const ExprView& expr, const Program& program);
/// Whether `expr`, or a part of it, is a block that was built elsewhere.
bool takes_blocks(const ExprView& expr, const Program& program);
/// A param of a block or model that takes a block by its signature: what is built for it stands under its name.
bool is_block_param(const ExprView& expr);
/// Whether two expressions are alike but for their types, places and operands, of which there are equally many.
bool is_like(const ExprView& left, const ExprView& right);

}  // namespace ltr::check
