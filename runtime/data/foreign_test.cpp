// What people give from outside: tensors as JSON, rows of `predict --read`.

#include <cmath>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "doors/json.h"
#include "doors/scratch.h"
#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/expected.h"
#include "runtime/data/foreign_tensor.h"
#include "runtime/data/left_out.h"
#include "runtime/data/rows_source.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

using testing::error_of, testing::kData;

at::Tensor read(const Str& text, at::ScalarType type = at::kLong) {
  return tensor_of_json(doors::parse_json(text, "--v"), type);
}

Str fault(const Str& text, at::ScalarType type = at::kLong) {
  try {
    read(text, type);
  } catch (const Misfit& misfit) {
    return misfit.text;
  }
  return "";
}

const Schema kPoint = {
    {"width", DType::Float, {}, "float"}, {"height", DType::Float, {}, "float"}, {"kind", DType::I64, {}, "int"}};

/// {width, height, kind} -> {x: float[2], y: i64}
void split_point(const Data&, const Record& in, Record& out) {
  out[0].tensor = give(at::tensor({in[0].real, in[1].real}, at::kFloat));
  out[1].tensor = give(at::scalar_tensor(in[2].whole, at::kLong));
}

/// Kinds are 0 and 1, widths not negative.
void refuse_kind(const Data& data, const Record& in, Record& out) {
  if (in[2].whole > 1) throw Error(err::value_out_of_range.code, "no such kind");
  if (in[0].real < 0) throw Error(err::value_out_of_range.code, "a negative width");
  split_point(data, in, out);
}

Stream points() {
  const testing::ScratchFile file(".csv", "width,height,kind\n1,2,0\n");
  return collate(map(csv(file.path, ",", {}, kPoint), &kData,
                     {split_point, {{"x", DType::F32, {2}, ""}, {"y", DType::I64, {}, ""}}, false, "split", {}}),
                 2, false);
}

}  // namespace

TEST_CASE("JSON gives its numbers in their order, past ten of them") {
  CHECK(at::equal(read("[0,1,2,3,4,5,6,7,8,9,10,11,12]"), at::arange(13, at::kLong)));
  CHECK(at::equal(read("[[0,1,2,3,4,5,6,7,8,9,10],[11,12,13,14,15,16,17,18,19,20,21]]"),
                  at::arange(22, at::kLong).view({2, 11})));
  CHECK(read("[]").sizes() == at::IntArrayRef({0}));
  CHECK(read("[[],[]]").sizes() == at::IntArrayRef({2, 0}));
  CHECK(read("[[[1.5],[true]]]", at::kFloat).sizes() == at::IntArrayRef({1, 2, 1}));
}

TEST_CASE("ragged lists and what is no number are refused with their place") {
  CHECK(fault("[[1],2]") == "[1] is 2, but those before it are lists");
  CHECK(fault("[1,[2]]") == "[1] is [2], but those before it are numbers");
  CHECK(fault("[[1,2],[3]]") == "[1] is [3], of 1 elements, but those before it have 2");
  CHECK(fault("[[1,2],[3,\"x\"]]") == "[1][1] is \"x\", which is no number");
  CHECK(fault("[[],1]") == "[1] is 1, but those before it are lists");
  CHECK(fault("[null]", at::kFloat) == "[0] is null, which is no number");
}

TEST_CASE("numbers are neither rounded nor wrapped") {
  CHECK(read("[9007199254740993]").item().toLong() == 9007199254740993);
  CHECK(read("[2.0]").item().toLong() == 2);
  CHECK(fault("[1.5]") == "[0] is 1.5, which is no i64");
  CHECK(fault("[300]", at::kByte) == "[0] is 300, which is no u8");
  CHECK(fault("[18446744073709551615]") == "[0] is 18446744073709551615, which is no i64");
  CHECK(fault("[2]", at::kBool) == "[0] is 2, which is no bool");
}

TEST_CASE("rows from outside: unknown fields are not read, and refused when strict, with the one that was meant") {
  const testing::ScratchFile csv_file(".csv", "widht,height,kind,colour\n1,2,3,4\n");
  const Error error = error_of([&] { read_rows(csv_file.path, kPoint, {true, true}); });
  CHECK(error.code == "R3002");
  CHECK(error.message.find("no field widht (did you mean width?), colour in the records") != Str::npos);
  CHECK(error.location.line == 0);
  const testing::ScratchFile json_file(
      ".jsonl", "{\"width\": 1, \"height\": 2, \"kind\": 3}\n{\"width\": 1, \"hieght\": 2, \"kind\": 3}\n");
  const Error second = error_of([&] { read_rows(json_file.path, kPoint, {true, true}); });
  CHECK(second.code == "R3002");
  CHECK(second.message.find(".jsonl:2: no field hieght (did you mean height?)") != Str::npos);
}

TEST_CASE("rows from outside: what is ignored, not finite, twice there or cut off is said with its place") {
  const testing::ScratchFile more(".csv", "width,colour,height,kind\n1,red,inf,0\n2,blue,,0\n");
  const ForeignRows rows = read_rows(more.path, kPoint, {});
  CHECK(rows.ignored == std::vector<Str>{"colour"});
  CHECK(rows.not_finite.ends_with(".csv:2: the field height is inf; 2 numbers of this file are not finite"));
  const testing::ScratchFile wide(".jsonl", "{\"width\": 1e400, \"height\": 1, \"kind\": 0}\n");
  const Str reason = read_rows(wide.path, kPoint, {}).faults[0];
  CHECK(reason.find("number overflow parsing '1e400'") != Str::npos);
  CHECK(reason.find("json.exception") == Str::npos);
  const testing::ScratchFile large(".csv", "width,height,kind\n1,1e400,0\n1,2,0\n");
  CHECK(read_rows(large.path, kPoint, {})
            .faults[0]
            .ends_with(".csv:2: the field height is \"1e400\", but float is wanted"));
  const testing::ScratchFile twice(
      ".jsonl",
      "{\"width\": 1, \"height\": 2, \"kind\": 3}\n{\"width\": 1, \"height\": 2, \"height\": 4, \"kind\": 3}\n");
  CHECK(read_rows(twice.path, kPoint, {})
            .faults[1]
            .ends_with(".jsonl:2: the name \"height\" stands twice in one object"));
  const testing::ScratchFile open(".csv", "width,height,kind\n1,2,3\n1,\"2,3\n");
  const Error error = error_of([&] { read_rows(open.path, kPoint, {}); });
  CHECK(error.message.find(open.path + ":3: ") != Str::npos);
}

TEST_CASE("rows from outside: a row that a map refuses has a fault of its own, but not for what nobody needs") {
  const testing::ScratchFile own(".csv", "width,height,kind\n1,2,0\n3,4,1\n");
  const Stream like =
      collate(map(csv(own.path, ",", {}, kPoint), &kData,
                  {refuse_kind, {{"x", DType::F32, {2}, ""}, {"y", DType::I64, {}, ""}}, false, "refuse", {}}),
              2, false);
  const testing::ScratchFile file(".csv", "width,height,kind\n1,2,9\n-1,2,0\n5,6,1\n");
  Record batch;
  take_left_out();
  ForeignRows labelled = read_rows(file.path, kPoint, {});
  const FieldUse use = use_of_fields(like, labelled, {"x"});
  CHECK(use.missed.empty());
  use.apply(labelled);
  const Stream stream = like.state()->rebuilt(labelled.stream);
  CHECK(stream.state()->read({0, 0}, batch));
  CHECK(aten(batch[0].tensor).size(0) == 1);
  const std::vector<LeftOut> refused = take_left_out();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].place == file.path + ":3");
  CHECK(refused[0].reason == "a negative width");

  ForeignRows needed = read_rows(file.path, kPoint, {});
  use_of_fields(like, needed, {"x", "y"}).apply(needed);
  like.state()->rebuilt(needed.stream).state()->read({0, 0}, batch);
  CHECK(take_left_out().size() == 2);
  const ForeignRows strict = read_rows(file.path, kPoint, {true, true});
  CHECK(error_of([&] { like.state()->rebuilt(strict.stream).state()->read({0, 0}, batch); }).code == "R3007");
}

TEST_CASE("rows from outside: a field may be missing only where the prediction does not hang on it") {
  const testing::ScratchFile file(".csv", "height\n2\n3\n");
  const ForeignRows rows = read_rows(file.path, kPoint, {});
  CHECK(rows.absent == std::vector<size_t>{0, 2});
  CHECK(use_of_fields(points(), rows, {"x"}).missed == std::vector<size_t>{0});
  CHECK(use_of_fields(points(), rows, {"x", "y"}).missed == std::vector<size_t>{0, 2});
  CHECK(use_of_fields(points(), rows, {"y"}).missed == std::vector<size_t>{2});
  const testing::ScratchFile whole(".csv", "width,height\nnan,2\n");
  CHECK(use_of_fields(points(), read_rows(whole.path, kPoint, {}), {"x"}).missed.empty());
}

TEST_CASE("rows from outside: a row that does not fit is a fault in its place, or an error when strict") {
  const testing::ScratchFile file(".csv", "width,height,kind\n1,2,3\n1,wide,3\n1,2\n4,5,6.5\n7,8,9\n");
  const ForeignRows rows = read_rows(file.path, kPoint, {});
  REQUIRE(rows.faults.size() == 5);
  CHECK(rows.faults[0].empty());
  CHECK(rows.faults[1].ends_with(".csv:3: the field height is \"wide\", but float is wanted"));
  CHECK(rows.faults[2].ends_with(".csv:4: 2 fields, but the header has 3"));
  CHECK(rows.faults[3].ends_with(".csv:5: the field kind is 6.5, which is no i64, but int is wanted"));
  const Stream stream = points().state()->rebuilt(rows.stream);
  Record batch;
  CHECK(stream.state()->read({0, 0}, batch));
  CHECK(aten(batch[0].tensor).size(0) == 1);
  CHECK_FALSE(stream.state()->read({0, 1}, batch));
  const Error error = error_of([&] { read_rows(file.path, kPoint, {true, true}); });
  CHECK(error.code == "R3003");
  CHECK(error.message.find(".csv:3: the field height is") != Str::npos);
  const testing::ScratchFile lines(
      ".jsonl",
      "{\"width\": 1, \"height\": 2, \"kind\": 3}\n[1]\n{\"width\": 1, \"kind\": 3}\n" + Str(100, '[') + "\n");
  const ForeignRows more = read_rows(lines.path, kPoint, {});
  CHECK(more.faults[1].ends_with(":2: no JSON object"));
  CHECK(more.faults[2].ends_with(":3: the field height is missing"));
  CHECK(more.faults[3].ends_with(":4: JSON nested deeper than 64"));
}

}  // namespace ltr
