// What is done to the numbers of images: W0313, W0314.

#include <algorithm>
#include <cmath>

#include "dsl/check/expressions/operands.h"
#include "dsl/check/expressions/origins.h"

namespace ltr::check {

namespace {

/// W0313: pixels less a number, which start again at 255. Of labels, which have no axes of pixels, 1 is taken away on purpose.
void report_wrapped(ast::BinaryOp op, Span sign, const ExprView& left, const ExprView& right, Scope& scope) {
  const bool are_bytes = left.type.is_tensor() && left.type.element == Element::U8 && left.type.dims.size() >= 2;
  const auto* number = right.get<node::IntConst>();
  const bool is_less = right.type.is_tensor() || (number != nullptr && number->value > 0);
  if (op != ast::BinaryOp::Subtract || !are_bytes || !is_less || scope.cx.graph.modules[scope.module].is_library)
    return;
  scope.cx.report(diag::wrapped_bytes(sign)
                      .label(left.span, "{}", scope.cx.text(left.type))
                      .note("what is smaller goes on from 255 downwards, as in PyTorch")
                      .help("convert first: `{}.to(float)`", scope.cx.source_text(left.span)));
}

/// `to_float(image)` of `to_float(image) - 0.5`, moved by less than the numbers are wide.
ExprView without_shift(const ExprView& value, const Program& program) {
  const auto* op = value.get<node::Op>();
  const bool is_moved =
      op != nullptr && (op->op == library::Id::Sub || op->op == library::Id::Add) && op->args.size() == 2;
  const auto by = is_moved ? evaluate(program.exprs[op->args[1]], program) : std::nullopt;
  return by && by->kind == HostValue::Kind::Float && std::abs(by->real) <= 1
             ? without_shift(program.exprs[op->args[0]], program)
             : value;
}

/// W0314: `to_float(image) / 255`, or by half of that, which is for numbers from -1 to 1.
void report_scaled_twice(ast::BinaryOp op, Span sign, const ExprView& scaled, const ExprView& right, Scope& scope) {
  const auto* whole = right.get<node::IntConst>();
  const auto* real = right.get<node::FloatConst>();
  const double by = whole != nullptr ? double(whole->value) : real != nullptr ? real->value : 0;
  const bool is_half = by == 127.5;
  if (op != ast::BinaryOp::Divide || (by != 255 && !is_half)) return;
  const ExprView left = without_shift(scaled, scope.cx.program);
  const std::string maker = maker_of(left, scope);
  if (maker != library::info(library::Id::ToFloat).name && maker != library::info(library::Id::Normalize).name) return;
  // Of other types than bytes the numbers stay as they are.
  const auto* made = left.get<node::Op>();
  if (made != nullptr && !made->args.empty() && scope.cx.at(made->args[0]).type.element != Element::U8) return;
  scope.cx.report(diag::scaled_twice(sign, maker)
                      .note("what it gives of `u8` lies between 0 and 1")
                      .help("{}", is_half ? "twice of it less 1 lies between -1 and 1" : "leave the division out"));
}

}  // namespace

void report_whole_shares(Element element, Span place, const ExprView& value, const Scope& scope) {
  const auto* op = value.get<node::Op>();
  if (is_floating(element) || element == Element::Bool || op == nullptr || op->op != library::Id::ToFloat) return;
  const ExprView& bytes = scope.cx.program.exprs[op->args[0]];
  if (bytes.type.element != Element::U8) return;
  scope.cx.report(diag::scaled_twice(place, std::string(library::info(op->op).name))
                      .note("what it gives of `u8` lies between 0 and 1, of which whole numbers keep 0 and 1")
                      .help("`{}.to({})` keeps the numbers", scope.cx.source_text(bytes.span), to_text(element)));
}

void report_byte_means(const node::Op& normalize, const Scope& scope) {
  const ExprView& image = scope.cx.program.exprs[normalize.args[0]];
  const ExprView& means = scope.cx.program.exprs[normalize.args[1]];
  const auto* list = means.get<node::List>();
  if (image.type.element != Element::U8 || list == nullptr) return;
  const bool are_of_bytes = std::ranges::any_of(list->elements, [&](ExprId id) {
    const auto mean = evaluate(scope.cx.program.exprs[id], scope.cx.program);
    return mean && mean->real > 1;
  });
  if (!are_of_bytes) return;
  scope.cx.report(diag::scaled_twice(means.span, std::string(library::info(normalize.op).name))
                      .note("what it takes the mean from lies between 0 and 1")
                      .help("means and deviations of bytes are divided by 255, too"));
}

void report_pixels(ast::BinaryOp op, Span sign, const ExprView& left, const ExprView& right, Scope& scope) {
  report_wrapped(op, sign, left, right, scope);
  report_scaled_twice(op, sign, left, right, scope);
}

}  // namespace ltr::check
