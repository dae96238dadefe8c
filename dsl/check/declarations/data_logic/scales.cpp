// W0516: `(x - seen.age.mean) / seen.price.std`.

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

ExprView without_conversion(const ExprView& expr, const Program& program) {
  const auto* convert = expr.get<node::Convert>();
  return convert != nullptr ? without_conversion(program.exprs[convert->value], program) : expr;
}

/// The column that a fact is of, `age` of `seen.age.mean`; empty if it is none.
std::string column_of(const ExprView& expr, const Program& program) {
  const ExprView fact = without_conversion(expr, program);
  const auto* op = fact.get<node::Op>();
  if (op == nullptr || op->args.size() != 1) return "";
  const ExprView& column = program.exprs[op->args[0]];
  return column.type.kind == Kind::FieldFacts ? column.type.fields[0].name : "";
}

/// The sides of a difference or quotient, of numbers or, of windows, of tensors; empty if it is none.
ExprIds sides_of(const ExprView& expr, host::Op op, library::Id of_tensors, const Program& program) {
  const ExprView written = without_conversion(expr, program);
  const auto* host = written.get<node::Host>();
  const auto* tensors = written.get<node::Op>();
  if (host != nullptr && host->op == op && host->args.size() == 2) return host->args;
  return tensors != nullptr && tensors->op == of_tensors && tensors->args.size() == 2 ? tensors->args : ExprIds{};
}

}  // namespace

void check_scales(Context& cx, const DataObject& data) {
  const Program& program = cx.program;
  for (const FnId id : data.object.fns) {
    for_each_expr(program.fns[id].body, program, [&](const ExprView& expr) {
      const ExprIds quotient = sides_of(expr, host::Op::Div, library::Id::Div, program);
      const ExprIds moved =
          quotient.empty() ? ExprIds{} : sides_of(program.exprs[quotient[0]], host::Op::Sub, library::Id::Sub, program);
      if (moved.empty()) return;
      const ExprView &from = program.exprs[moved[1]], &by = program.exprs[quotient[1]];
      const std::string first = column_of(from, program), second = column_of(by, program);
      if (first.empty() || second.empty() || first == second) return;
      cx.report(diag::mixed_scale(by.span, first, second)
                    .label(from.span, "of `{}`", first)
                    .help("a column is moved by its own mean, and divided by its own deviation"));
    });
  }
}

}  // namespace ltr::check
