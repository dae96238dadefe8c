// `bucket` and batches of records of unequal length.

#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <map>
#include <set>

#include "ltr/streams.h"
#include "runtime/data/stream.h"
#include "runtime/data/texts.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

Data no_data;

/// Record i: `ids`, i % 7 + 1 times the number i, and a text as long.
void unequal(const Data&, const Record& in, Record& out) {
  const int64_t size = in[0].whole % 7 + 1;
  out.resize(2);
  out[0].tensor = give(at::full({size}, in[0].whole, at::kLong));
  out[1].text = Str(size_t(size), 'x');
}

const Schema kUnequal = {{"ids", DType::I64, {-1}, ""}, {"text", DType::U8, {}, "str"}};

Stream records(int64_t n) { return map(range(n), &no_data, {unequal, kUnequal, false, "unequal", {}}); }

std::vector<int64_t> lengths_at(const Stream& batches, const ReadAt& at) {
  Record out;
  REQUIRE(batches.state()->read(at, out));
  const at::Tensor lengths = aten(out[2].tensor);
  return {lengths.const_data_ptr<int64_t>(), lengths.const_data_ptr<int64_t>() + lengths.numel()};
}

}  // namespace

TEST_CASE("shorter records are filled up to the longest of the batch, and their lengths kept") {
  const Stream batches = collate(records(5), 3, false, -1.0, {{"ids", "n"}});
  Record out;
  REQUIRE(batches.state()->read({}, out));
  const at::Tensor wanted = at::tensor({0, -1, -1, 1, 1, -1, 2, 2, 2}, at::kLong).reshape({3, 3});
  CHECK(aten(out[0].tensor).equal(wanted));
  CHECK((unpack_texts(aten(out[1].tensor)) == std::vector<Str>{"x", "xx", "xxx"}));
  CHECK(aten(out[2].tensor).equal(at::tensor({1, 2, 3}, at::kLong)));
  CHECK(Str(batches.state()->schema()[2].name) == "n");
}

TEST_CASE("texts of a batch are what they were") {
  const std::vector<Str> texts = {"", "größe", "a"};
  CHECK(unpack_texts(pack_texts(texts)) == texts);
  CHECK(pack_texts({"", ""}).sizes() == at::IntArrayRef({2, 0}));
  CHECK((unpack_texts(pack_texts({"", ""})) == std::vector<Str>{"", ""}));
}

TEST_CASE("bucket puts records of like size together, each once, and begins anew in each epoch") {
  const int64_t n = 1003;
  const Stream batches = collate(bucket(records(n), "ids", 1), 8, false, 0.0, {{"ids", "n"}});
  std::multiset<int64_t> seen;
  int64_t mixed = 0;
  for (int64_t i = 0; i < batches.state()->size(); ++i) {
    const std::vector<int64_t> lengths = lengths_at(batches, {.epoch = 0, .index = i, .seed = 5});
    if (std::set<int64_t>(lengths.begin(), lengths.end()).size() > 1) ++mixed;
    seen.insert(lengths.begin(), lengths.end());
  }
  CHECK(int64_t(seen.size()) == n);
  for (int64_t size = 1; size <= 7; ++size) CHECK(int64_t(seen.count(size)) == (n - size + 7) / 7);
  // Three runs of 50 batches, of at most 6 borders each.
  CHECK(mixed <= 18);
  const auto order = [&](int64_t epoch, uint64_t seed) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < 20; ++i) {
      for (const int64_t length : lengths_at(batches, {.epoch = epoch, .index = i, .seed = seed}))
        all.push_back(length);
    }
    return all;
  };
  CHECK(order(1, 5) == order(1, 5));
  CHECK(order(1, 5) != order(2, 5));
  CHECK(order(1, 5) != order(1, 6));
}

TEST_CASE("what does not fill the last batch is of other sizes in each epoch") {
  const Stream batches = collate(bucket(records(23), "ids", 1), 4, true, 0.0, {{"ids", "n"}});
  REQUIRE(batches.state()->size() == 5);
  std::map<int64_t, int64_t> seen;
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    for (int64_t i = 0; i < 5; ++i) {
      for (const int64_t length : lengths_at(batches, {.epoch = epoch, .index = i, .seed = 5})) ++seen[length];
    }
  }
  // Three of each length, or four, of which 20 in 23 come.
  for (int64_t size = 1; size <= 7; ++size) {
    const int64_t all = (23 - size + 7) / 7 * 40;
    CHECK(seen[size] > all / 2);
    CHECK(seen[size] < all);
  }
}

TEST_CASE("bucket leaves the order of the file where order is wanted, and without collate") {
  const Stream stream = bucket(records(20), "text", 2);
  Record out;
  REQUIRE(stream.state()->read({.index = 3}, out));
  CHECK(aten(out[0].tensor)[0].item<int64_t>() == 3);
  const Stream batches = collate(stream, 4, false, 0.0);
  REQUIRE(batches.state()->read({.index = 0, .ordered = true}, out));
  CHECK(aten(out[0].tensor).select(1, 0).equal(at::tensor({0, 1, 2, 3}, at::kLong)));
}

}  // namespace ltr
