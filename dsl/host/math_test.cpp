#include "dsl/host/math.h"

#include <doctest/doctest.h>

#include <cmath>

#include "dsl/check/types/dims/polynomial.h"

namespace ltr::host {

TEST_CASE("host math: quotients and remainders of whole numbers") {
  // a, b, floor, ceil, remainder, exact (99: none)
  const int64_t kRows[][6] = {{7, 2, 3, 4, 1, 99},    {-7, 2, -4, -3, 1, 99}, {7, -2, -4, -3, 1, 99},
                              {-7, -2, 3, 4, 1, 99},  {6, 3, 2, 2, 0, 2},     {-6, 3, -2, -2, 0, -2},
                              {6, -3, -2, -2, 0, -2}, {0, 5, 0, 0, 0, 0},     {1, 5, 0, 1, 1, 99},
                              {-1, 5, -1, 0, 4, 99},  {-1, -5, 0, 1, 4, 99}};
  for (const auto& row : kRows) {
    CHECK(floor_div(row[0], row[1]) == row[2]);
    CHECK(ceil_div(row[0], row[1]) == row[3]);
    CHECK(mod(row[0], row[1]) == row[4]);
    CHECK(exact_div(row[0], row[1]).value_or(99) == row[5]);
  }
}

TEST_CASE("host math: what the run would stop at has no value") {
  for (const Op op : {Op::Div, Op::FloorDiv, Op::CeilDiv, Op::Mod}) CHECK_FALSE(fold(op, int64_t(7), int64_t(0)));
  CHECK_FALSE(fold(Op::Div, int64_t(7), int64_t(2)));
  CHECK_FALSE(floor_div(INT64_MIN, -1));
  CHECK(mod(INT64_MIN, -1) == 0);
  CHECK_FALSE(check::AtomTable::divide(INT64_MIN, -1));
  CHECK_FALSE(fold(Op::Add, INT64_MAX, int64_t(1)));
  CHECK_FALSE(fold(Op::Neg, INT64_MIN));
  CHECK_FALSE(power(2, 63));
  CHECK_FALSE(power(2, -1));
  CHECK(power(-1, INT64_MAX) == -1);
  CHECK_FALSE(fold(Op::Floor, INFINITY));
  CHECK_FALSE(fold(Op::Round, double(NAN)));
  CHECK_FALSE(fold(Op::Ceil, 1e300));
}

TEST_CASE("every host op is found by its name") {
  for (const Op op : {
#define LTR_HOST_OP(op, name, ...) Op::op,
#include "dsl/host/ops.def"
       })
    CHECK(find(info(op).name) == op);
  CHECK_FALSE(find("no such op"));
}

TEST_CASE("host math: floats") {
  CHECK(mod(7.5, -2.0) == 1.5);
  CHECK(mod(-7.5, 2.0) == 0.5);
  CHECK(std::isnan(mod(1.0, 0.0)));
  CHECK(std::get<double>(*fold(Op::Mod, -7.5, int64_t(2))) == 0.5);
  CHECK(std::get<int64_t>(*fold(Op::Round, 2.5)) == 2);
  CHECK(std::get<bool>(*fold(Op::Less, int64_t(1) << 53, (int64_t(1) << 53) + 1)));
  CHECK(std::get<double>(*fold(Op::Div, int64_t(1), 4.0)) == 0.25);
}

}  // namespace ltr::host
