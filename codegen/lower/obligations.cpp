#include "codegen/lower/obligations.h"

#include <algorithm>

#include "dsl/check/walk.h"

namespace ltr::lower {

namespace {

bool are_equal(check::ExprId one, check::ExprId other, const check::Program& program) {
  const check::ExprView left = program.exprs[one], right = program.exprs[other];
  if (!check::is_like(left, right)) return false;
  check::ExprIds parts, others;
  check::for_each_child(left, [&](check::ExprId part) { parts.push_back(part); });
  check::for_each_child(right, [&](check::ExprId part) { others.push_back(part); });
  return std::equal(parts.begin(), parts.end(), others.begin(), others.end(),
                    [&](check::ExprId a, check::ExprId b) { return are_equal(a, b, program); });
}

bool ask_same(const check::Obligation& one, const check::Obligation& other, const check::Program& program) {
  if (one.fate != other.fate || one.of_data != other.of_data) return false;
  if (one.condition && other.condition) return are_equal(*one.condition, *other.condition, program);
  return !one.condition && !other.condition && one.text == other.text && one.span == other.span;
}

}  // namespace

std::vector<check::Obligation> distinct_obligations(const check::Program& program,
                                                    const check::Experiment* experiment) {
  std::vector<check::Obligation> distinct;
  for (const check::Obligation& one : program.obligations) {
    if (experiment != nullptr && !check::is_asked_of(one, *experiment)) continue;
    const bool is_asked = std::any_of(distinct.begin(), distinct.end(),
                                      [&](const check::Obligation& other) { return ask_same(one, other, program); });
    if (!is_asked) distinct.push_back(one);
  }
  return distinct;
}

}  // namespace ltr::lower
