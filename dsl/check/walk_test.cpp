#include "dsl/check/walk.h"

#include <doctest/doctest.h>

namespace ltr::check {
namespace {

Expr number(int64_t value) { return {Type::host_int(Polynomial(value)), {}, node::IntConst{value}}; }

std::vector<uint32_t> children_of(const Expr& expr) {
  std::vector<uint32_t> ids;
  for_each_child(expr, [&](ExprId id) { ids.push_back(id.index); });
  return ids;
}

}  // namespace

TEST_CASE("equal types are one; those that differ in what only messages read are not") {
  TypeStore types;
  Type block = Type::of(Kind::Block);
  block.name = "Linear";
  Type other = block;
  other.name = "Conv2d";
  const TypeId first = types.add(Type(block));
  CHECK(types.add(Type(block)) == first);
  CHECK_FALSE(types.add(Type(other)) == first);
  Type list = Type::of(Kind::List), other_list = list;
  list.fields.push_back({"", block});
  other_list.fields.push_back({"", other});
  CHECK(list == other_list);
  CHECK_FALSE(types.add(Type(list)) == types.add(Type(other_list)));
  CHECK(types[first].name == "Linear");
}

TEST_CASE("what stands in a store keeps its place while more is added") {
  ExprStore exprs;
  const ExprView first = exprs[exprs.add(number(7))];
  ExprId last;
  for (int64_t i = 0; i < 10'000; ++i) last = exprs.add(number(i));
  CHECK(first.get<node::IntConst>()->value == 7);
  CHECK(first.type.value == Polynomial(7));
  CHECK(exprs[last].get<node::IntConst>()->value == 9'999);
}

TEST_CASE("operands are visited in the order of the fields: one by one, in lists, options and parts") {
  const auto id = [](uint32_t index) { return ExprId{index}; };
  CHECK(children_of({{}, {}, node::If{id(1), id(2), id(3)}}) == std::vector<uint32_t>{1, 2, 3});
  CHECK(children_of({{}, {}, node::CallMethod{4, id(1), {id(2), id(3)}}}) == std::vector<uint32_t>{1, 2, 3});
  CHECK(children_of({{}, {}, node::Call{"AdamW", library::Id::None, {{"lr", id(5)}, {"eps", id(6)}}}}) ==
        std::vector<uint32_t>{5, 6});
  CHECK(children_of({{}, {}, node::MapStage{id(1), 2, "row", {}}}) == std::vector<uint32_t>{1});
  CHECK(children_of({{}, {}, node::MapStage{id(1), 2, "row", id(3)}}) == std::vector<uint32_t>{1, 3});
  CHECK(children_of({{}, {}, node::CheckResult{id(1), {id(2)}, node::Leading{id(3), id(4)}, ""}}) ==
        std::vector<uint32_t>{1, 2, 3, 4});
  CHECK(children_of({{}, {}, node::Self{}}).empty());
}

TEST_CASE("the body of a scan is no operand, and is visited as a body") {
  node::Scan scan{.sequence = {1}, .axis = 0, .element = 0, .carried = {{2, {3}}}, .body = {}};
  scan.body.push_back({{}, stmt::Yield{{4}}});
  const Expr expr{{}, {}, std::move(scan)};
  CHECK(children_of(expr) == std::vector<uint32_t>{1, 3});
  size_t statements = 0;
  for_each_body(expr, [&](const Body& body) { statements += body.size(); });
  CHECK(statements == 1);
}

TEST_CASE("both bodies of a branch are visited, the condition as an operand") {
  stmt::If branch{.condition = {9}, .then_body = {}, .else_body = {}};
  branch.then_body.push_back({{}, stmt::Eval{{1}}});
  const Stmt stmt{{}, std::move(branch)};
  std::vector<size_t> sizes;
  for_each_body(stmt, [&](const Body& body) { sizes.push_back(body.size()); });
  CHECK(sizes == std::vector<size_t>{1, 0});
  std::vector<uint32_t> operands;
  for_each_child(stmt, [&](ExprId id) { operands.push_back(id.index); });
  CHECK(operands == std::vector<uint32_t>{9});
}

TEST_CASE("expressions are alike if nothing but their operands differs") {
  const Expr sum{{}, {}, node::Host{host::Op::Add, {{1}, {2}}}};
  CHECK(is_like(sum, {{}, {}, node::Host{host::Op::Add, {{3}, {4}}}}));
  CHECK_FALSE(is_like(sum, {{}, {}, node::Host{host::Op::Sub, {{1}, {2}}}}));
  CHECK_FALSE(is_like(sum, {{}, {}, node::Host{host::Op::Add, {{1}}}}));
  CHECK_FALSE(is_like(sum, number(1)));
  CHECK_FALSE(is_like(number(1), number(2)));
}

TEST_CASE("operands are replaced, the rest stays") {
  const Expr sum{{}, {}, node::Host{host::Op::Add, {{1}, {2}}}};
  const Expr moved = with_children(sum, [](ExprId id) { return ExprId{id.index + 10}; });
  CHECK(children_of(moved) == std::vector<uint32_t>{11, 12});
  CHECK(is_like(sum, moved));
}

}  // namespace ltr::check
