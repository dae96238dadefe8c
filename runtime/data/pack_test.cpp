// `pack`: the same windows whether ids are kept in memory or read again.

#include <doctest/doctest.h>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/block_cache.h"
#include "runtime/data/stages/pack.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

class NoFields : public Data {};
const NoFields kNoFields;

const Schema kIds = {{"ids", DType::I64, {-1}, ""}};

/// Record i has i % 4 ids, which are 100 i, 100 i + 1, …; that of 6 is bad.
void ids_of_number(const Data&, const Record& in, Record& out) {
  if (in[0].whole == 6) throw std::runtime_error("six");
  out[0].tensor = give(at::arange(in[0].whole % 4, at::kLong) + 100 * in[0].whole);
}

Stream documents(int64_t count) {
  return map(range(count), &kNoFields, {ids_of_number, kIds, false, "ids_of_number", {}}, 3);
}

std::vector<int64_t> tokens(const Stream& stream) {
  std::vector<int64_t> out;
  Record record;
  for (int64_t i = 0; i < stream.state()->size(); ++i) {
    REQUIRE(stream.state()->read({.index = i}, record));
    const at::Tensor& window = aten(record[0].tensor);
    out.insert(out.end(), window.const_data_ptr<int64_t>(), window.const_data_ptr<int64_t>() + window.numel());
  }
  return out;
}

class FakeBlock : public doors::RowBlock {
 public:
  int64_t rows() const override { return 1; }
  int64_t bytes() const override { return 40; }
  bool is_null(size_t, int64_t) const override { return false; }
  int64_t whole(size_t, int64_t) const override { return 0; }
  double real(size_t, int64_t) const override { return 0; }
  std::string_view bytes(size_t, int64_t) const override { return {}; }
  std::string_view path(size_t, int64_t) const override { return {}; }
  doors::StoredNumbers numbers(size_t, int64_t) const override { return {}; }
};

}  // namespace

TEST_CASE("pack puts `end` behind each record, and loses the tail alone") {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 40; ++i) {
    if (i == 6) continue;
    for (int64_t k = 0; k < i % 4; ++k) all.push_back(100 * i + k);
    all.push_back(7);
  }
  for (const int64_t n : {1, 3, 5, 64}) {
    std::vector<int64_t> whole(all.begin(), all.begin() + int64_t(all.size()) / n * n);
    for (const int64_t limit : {int64_t(1) << 30, int64_t(0)}) {
      CAPTURE(n);
      CAPTURE(limit);
      CHECK(tokens(pack_within(documents(40), n, 7, limit)) == whole);
    }
  }
  CHECK(pack(documents(40), 1000, 7).state()->size() == 0);
  CHECK(pack(documents(0), 2, 7).state()->size() == 0);
}

TEST_CASE("pack refuses what has no order of its own, or no end") {
  CHECK_THROWS_AS(pack(shuffle(documents(9), 1), 2, 0), Error);
  CHECK_THROWS_AS(pack(repeat(documents(9), std::nullopt), 2, 0), Error);
  CHECK_THROWS_AS(pack(documents(9), 0, 0), Error);
  CHECK_THROWS_AS(pack(documents(9), 2, -1), Error);
  CHECK(pack(documents(9), 2, 0).state()->name_of({.index = 0}) == "2 tokens from record 0");
}

TEST_CASE("blocks are kept while there is room, and what could not be read is read again") {
  BlockCache cache(100);
  std::vector<int64_t> reads;
  const auto get = [&](int64_t key) {
    return cache.get(key, [&]() -> BlockCache::Block {
      reads.push_back(key);
      return std::make_shared<FakeBlock>();
    });
  };
  for (const int64_t key : {1, 2, 1, 3, 1, 2, 1}) get(key);
  CHECK(reads == std::vector<int64_t>{1, 2, 3, 2});  // 2 was not used for longest when 3 came
  CHECK_THROWS_AS(cache.get(9, []() -> BlockCache::Block { throw std::runtime_error("damaged"); }), std::runtime_error);
  CHECK(get(9) != nullptr);
}

}  // namespace ltr
