#pragma once

#include <array>
#include <utility>

#include "dsl/parse/token_parser.h"

namespace ltr::parse::grammar {

struct OperatorInfo {
  TokenKind kind = TokenKind::Error;
  int level = 0;  ///< a higher one binds tighter
  ast::BinaryOp op = ast::BinaryOp::Error;
};

inline constexpr int kNotLevel = 3;
inline constexpr int kComparisonLevel = 4;
inline constexpr int kRangeLevel = 5;

/// The infix operators below unary minus, all left-associative; `not` is a prefix between `and` and comparisons.
inline constexpr std::array kOperators = {
    OperatorInfo{TokenKind::Or, 1, ast::BinaryOp::Or},
    OperatorInfo{TokenKind::And, 2, ast::BinaryOp::And},
    OperatorInfo{TokenKind::Equal, kComparisonLevel, ast::BinaryOp::Equal},
    OperatorInfo{TokenKind::NotEqual, kComparisonLevel, ast::BinaryOp::NotEqual},
    OperatorInfo{TokenKind::Less, kComparisonLevel, ast::BinaryOp::Less},
    OperatorInfo{TokenKind::LessEqual, kComparisonLevel, ast::BinaryOp::LessEqual},
    OperatorInfo{TokenKind::Greater, kComparisonLevel, ast::BinaryOp::Greater},
    OperatorInfo{TokenKind::GreaterEqual, kComparisonLevel, ast::BinaryOp::GreaterEqual},
    OperatorInfo{TokenKind::In, kComparisonLevel, ast::BinaryOp::In},
    OperatorInfo{TokenKind::Range, kRangeLevel, ast::BinaryOp::Range},
    OperatorInfo{TokenKind::Plus, 6, ast::BinaryOp::Add},
    OperatorInfo{TokenKind::Minus, 6, ast::BinaryOp::Subtract},
    OperatorInfo{TokenKind::Star, 7, ast::BinaryOp::Multiply},
    OperatorInfo{TokenKind::Slash, 7, ast::BinaryOp::Divide},
    OperatorInfo{TokenKind::Percent, 7, ast::BinaryOp::Remainder},
    OperatorInfo{TokenKind::At, 7, ast::BinaryOp::MatMul},
};

/// For each kind of token the row of `kOperators`, or its size.
inline constexpr auto kOperatorRows = [] {
  std::array<uint8_t, lex::kTokenKinds> rows{};
  for (auto& row : rows) row = static_cast<uint8_t>(kOperators.size());
  for (size_t i = 0; i < kOperators.size(); ++i) {
    rows[static_cast<size_t>(kOperators[i].kind)] = static_cast<uint8_t>(i);
  }
  return rows;
}();

inline const OperatorInfo* find_operator(TokenKind kind) {
  const uint8_t row = kOperatorRows[static_cast<size_t>(kind)];
  return row < kOperators.size() ? &kOperators[row] : nullptr;
}

/// Precedence climbing over `kOperators`. One parser for all levels and not a rule for each: a bracket then costs
/// the stack a few calls instead of dozens, which is what allows 256 of them on any stack.
template <class Operand>
struct Operators : x3::unary_parser<Operand, Operators<Operand>> {
  using attribute_type = ast::Expr;
  static const bool has_attribute = true;
  using x3::unary_parser<Operand, Operators<Operand>>::unary_parser;

  template <class C, class RContext>
  bool parse(Iter& first, const Iter& last, const C& context, RContext&&, ast::Expr& attribute) const {
    return parse_level(first, last, context, attribute, 1);
  }

 private:
  template <class C>
  bool parse_level(Iter& first, const Iter& last, const C& context, ast::Expr& left, int level) const {
    if (!parse_operand(first, last, context, left, level)) return false;
    State& state = state_of(context);
    bool is_compared = false;
    for (;;) {
      const OperatorInfo* row = find_operator(first->kind);
      if (row == nullptr || row->level < level) return true;
      // In an index the end of a range may be absent: `x[1 ..]`.
      if (row->level == kRangeLevel && is_open_range(std::next(first))) return true;
      if (row->level == kComparisonLevel && std::exchange(is_compared, true)) report_chain(state, first, left);
      const Span op_span = first->span;
      ++first;
      ast::Expr right;
      const int outer = std::exchange(state.height_, 0);
      if (!parse_level(first, last, context, right, row->level + 1)) throw Failure(first, "operand");
      state.height_ = std::max(outer, state.height_);
      grow(state, first);
      const Span span = source::join(left.span, right.span);
      // `//` was refused by the lexer, and is no division: what it gives is not judged.
      const bool is_refused = row->op == ast::BinaryOp::Divide && op_span.end - op_span.begin > 1;
      const ast::BinaryOp op = is_refused ? ast::BinaryOp::Error : row->op;
      left = ast::Expr{span, ast::Binary{op, op_span, std::move(left), std::move(right)}};
    }
  }

  template <class C>
  bool parse_operand(Iter& first, const Iter& last, const C& context, ast::Expr& out, int level) const {
    if (first->kind != TokenKind::Not || level > kNotLevel) {
      return this->subject.parse(first, last, context, x3::unused, out);
    }
    State& state = state_of(context);
    struct Frame {
      int& depth;
      ~Frame() { --depth; }
    } frame{state.depth_};
    if (++frame.depth > kMaxNesting) throw Failure(first, kNesting);
    const Span span = first->span;
    ++first;
    ast::Expr operand;
    if (!parse_level(first, last, context, operand, kNotLevel)) throw Failure(first, "operand");
    grow(state, first);
    const Span whole = source::join(span, operand.span);
    out = ast::Expr{whole, ast::Unary{ast::UnaryOp::Not, std::move(operand)}};
    return true;
  }

  static bool is_open_range(Iter next) {
    return next->kind == TokenKind::CloseBracket || next->kind == TokenKind::Comma;
  }

  static void report_chain(State& state, Iter op, const ast::Expr& left) {
    diagnostics::Diagnostic diagnostic = diag::chained_comparison(op->span);
    const auto* before = left.get<ast::Binary>();
    if (before != nullptr) {
      const Span middle = before->right->span;
      const std::string_view text = state.text().substr(middle.begin, middle.end - middle.begin);
      diagnostic.label(before->op_span, "after this one")
          .help("write `… and {} {} …`", text, lex::spelling(op->kind))
          .fix({op->span.source, op->span.begin, op->span.begin}, "and " + std::string(text) + " ");
    }
    state.report_at(op, std::move(diagnostic));
  }
};
template <class Operand>
auto operators(const Operand& operand) {
  return Operators<Operand>{operand};
}

}  // namespace ltr::parse::grammar
