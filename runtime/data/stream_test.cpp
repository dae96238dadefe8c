#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <doctest/doctest.h>

#include "doors/scratch.h"
#include "ltr/ops.h"
#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/expected.h"
#include "runtime/data/known.h"
#include "runtime/data/loader.h"
#include "runtime/data/permutation.h"
#include "runtime/data/rows_source.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/fake_accelerator.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

using testing::error_of, testing::kData;

const Schema kNumber = {{"i", DType::I64, {}, "int"}};

/// i -> {x: i64[2]} = [i, i * i]
void square(const Data&, const Record& in, Record& out) {
  out[0].tensor = give(at::tensor({in[0].whole, in[0].whole * in[0].whole}, at::kLong));
}
const Schema kSquare = {{"x", DType::I64, {2}, ""}};

/// x -> x + noise, keyed by the record
void jitter(const Data&, const Record& in, Record& out) {
  out[0].tensor = give(*In(in[0].tensor) + int64_t(random_bits() % 1000));
}

void rename(const Data&, const Record& in, Record& out) { out[0].tensor = in[0].tensor; }

void fail_on_7(const Data&, const Record& in, Record& out) {
  if (in[0].whole % 10 == 7) throw std::runtime_error("seven");
  out[0].whole = in[0].whole;
}

std::vector<int64_t> numbers(const Stream& stream, int64_t epoch = 0) {
  std::vector<int64_t> out;
  Record record;
  for (int64_t i = 0; i < stream.state()->size(); ++i) {
    if (stream.state()->read({epoch, i}, record)) out.push_back(record[0].whole);
  }
  return out;
}

std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

/// All values of field `x` over two epochs.
std::vector<int64_t> drain(const Stream& stream, int workers, int64_t first = 0) {
  data::LoaderOptions options;
  options.batch = {{"x", DType::I64, {-1, 2}, ""}};
  options.workers = workers;
  options.seed = 5;
  data::Loader loader(stream, options);
  std::vector<int64_t> out;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.start(epoch, epoch == 0 ? first : 0);
    Batch batch;
    while (loader.next(batch)) {
      const at::Tensor flat = aten(batch.fields[0]).flatten();
      out.insert(out.end(), flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel());
      out.push_back(-batch.size);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a permutation is a bijection for every size, and keys give different ones") {
  for (int64_t n = 0; n < 300; ++n) {
    const Permutation permutation(n, uint64_t(n) * 17);
    std::set<int64_t> seen;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t to = permutation(i);
      CHECK(to >= 0);
      CHECK(to < n);
      seen.insert(to);
    }
    CHECK(int64_t(seen.size()) == n);
  }
  std::set<std::vector<int64_t>> orders;
  for (uint64_t key = 0; key < 600; ++key) {
    const Permutation permutation(3, key);
    orders.insert({permutation(0), permutation(1), permutation(2)});
  }
  CHECK(orders.size() == 6);
}

TEST_CASE("every place of a permutation is equally likely") {
  constexpr int64_t kSize = 10;
  std::vector<int64_t> counts(kSize, 0);
  for (uint64_t key = 0; key < 10000; ++key) ++counts[size_t(Permutation(kSize, key)(3))];
  for (const int64_t count : counts) {
    CHECK(count > 850);
    CHECK(count < 1150);
  }
}

TEST_CASE("shuffle keeps every record and differs between epochs") {
  const Stream stream = shuffle(range(100), 3);
  CHECK(sorted(numbers(stream, 0)) == numbers(range(100)));
  CHECK(numbers(stream, 0) != numbers(stream, 1));
  CHECK(numbers(stream, 0) == numbers(shuffle(range(100), 3), 0));
  CHECK(numbers(stream, 0) != numbers(shuffle(range(100), 4), 0));
}

TEST_CASE("split by counts, by shares, at random; parts are disjoint and whole") {
  const auto parts = split(range(10), Floats{0.9, 0.1}, std::nullopt, std::nullopt);
  CHECK(numbers(parts[0]) == std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(numbers(parts[1]) == std::vector<int64_t>{9});
  const auto random = split(range(50), Ints{30, 20}, 7, std::nullopt);
  auto all = numbers(random[0]);
  const auto rest = numbers(random[1]);
  all.insert(all.end(), rest.begin(), rest.end());
  CHECK(sorted(all) == numbers(range(50)));
  CHECK(numbers(random[0]) != numbers(split(range(50), Ints{30, 20}, 8, std::nullopt)[0]));
  CHECK(split(range(7), Floats{0.5, 0.5}, std::nullopt, std::nullopt)[0].state()->size() == 4);
  CHECK(error_of([] { split(range(5), Ints{4, 2}, std::nullopt, std::nullopt); }).code == "R3005");
  CHECK(error_of([] { split(range(5), Floats{0.9, 0.2}, std::nullopt, std::nullopt); }).code == "R2004");
}

TEST_CASE("a stratified split spreads every value evenly") {
  Str text = "n,kind\n";
  for (int i = 0; i < 60; ++i) text += std::to_string(i) + (i < 40 ? ",a\n" : ",b\n");
  const testing::ScratchFile file(".csv", text);
  const Stream rows = csv(file.path, ",", {}, {{"n", DType::I64, {}, "int"}, {"kind", DType::U8, {}, "str"}});
  const auto parts = split(rows, Floats{0.75, 0.25}, 1, Str("kind"));
  const auto small = numbers(parts[1]);
  CHECK(small.size() == 15);
  CHECK(std::count_if(small.begin(), small.end(), [](int64_t n) { return n < 40; }) == 10);
}

TEST_CASE("a stratified split keeps its sizes where classes do not divide") {
  Str text = "n,kind\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + ",c" + std::to_string(i % 33) + "\n";
  const testing::ScratchFile file(".csv", text);
  const Stream rows = csv(file.path, ",", {}, {{"n", DType::I64, {}, "int"}, {"kind", DType::U8, {}, "str"}});
  const auto of_classes = [](const std::vector<int64_t>& records) {
    std::vector<int64_t> counts(33);
    for (const int64_t n : records) ++counts[size_t(n % 33)];
    return counts;
  };
  for (const Option<int64_t>& seed : {Option<int64_t>(), Option<int64_t>(1)}) {
    const auto counted = split(rows, Ints{30, 10}, seed, Str("kind"));
    CHECK(numbers(counted[0]).size() == 30);
    CHECK(numbers(counted[1]).size() == 10);
    const auto shared = split(rows, Floats{0.8, 0.2}, seed, Str("kind"));
    const auto train = numbers(shared[0]), val = numbers(shared[1]);
    CHECK(train.size() == 80);
    CHECK(val.size() == 20);
    auto all = train;
    all.insert(all.end(), val.begin(), val.end());
    CHECK(sorted(all) == numbers(range(100)));
    // Of 3 or 4 records a class gives 2 or 3, or 3 or 4, and never more than one from its share.
    for (const int64_t count : of_classes(train)) CHECK((count >= 2 && count <= 4));
    for (const int64_t count : of_classes(val)) CHECK(count <= 1);
  }
  CHECK(error_of([&] { split(rows, Ints{90, 20}, 1, Str("kind")); }).code == "R3005");
  const auto one = split(take(rows, 1), Floats{0.5, 0.5}, 1, Str("kind"));
  CHECK(numbers(one[0]).size() == 1);
  CHECK(numbers(one[1]).empty());
}

TEST_CASE("take, skip, shard, concat, zip, repeat") {
  CHECK(numbers(take(range(5), 2)) == std::vector<int64_t>{0, 1});
  CHECK(numbers(skip(range(5), 3)) == std::vector<int64_t>{3, 4});
  CHECK(numbers(shard(range(7), 1, 3)) == std::vector<int64_t>{1, 4});
  CHECK(numbers(concat(range(2), range(2))) == std::vector<int64_t>{0, 1, 0, 1});
  CHECK(numbers(repeat(range(2), 2)) == std::vector<int64_t>{0, 1, 0, 1});
  CHECK(numbers(repeat(shuffle(range(40), 1), 2)).size() == 80);
  CHECK(repeat(range(2), std::nullopt).state()->size() == kEndless);
  CHECK(error_of([] { zip(range(2), range(3), "equal"); }).code == "R3005");
  CHECK(zip(range(2), range(3), "cycle").state()->size() == 3);
  CHECK(error_of([] { shuffle(repeat(range(2), std::nullopt), 1); }).code == "R3005");
}

TEST_CASE("selects over selects: what each leaves out has a place of its own") {
  // Each row is larger than what malloc keeps, so that a place given back is a place that is gone.
  const auto widen = [](const Data&, const Record& in, Record& out) {
    out[0].whole = in[0].whole;
    for (size_t i = 1; i < out.size(); ++i) out[i].tensor = give(at::full({int64_t(i) << 18}, int64_t(i), at::kByte));
  };
  const Schema wide = {{"i", DType::I64, {}, "int"},
                       {"a", DType::U8, {1 << 18}, ""},
                       {"b", DType::U8, {2 << 18}, ""},
                       {"c", DType::U8, {3 << 18}, ""}};
  const Stream mapped = map(range(6), &kData, {widen, wide, true, "widen", {}});
  const Stream one = select(select(select(mapped, {"i", "a", "b"}), {"i", "a"}), {"i"});
  Record record;
  for (int64_t batch = 0; batch < 3; ++batch) {
    CHECK(collate(one, 2, false).state()->read({0, batch}, record));
    CHECK(at::equal(aten(record[0].tensor), at::tensor({2 * batch, 2 * batch + 1}, at::kLong)));
  }
}

TEST_CASE("windows are neighbours") {
  const Stream stream = window(range(10), 3, 2);
  CHECK(stream.state()->size() == 4);
  Record record;
  stream.state()->read({0, 3}, record);
  CHECK(at::equal(aten(record[0].tensor), at::tensor({6, 7, 8}, at::kLong)));
  CHECK(window(range(2), 3, 1).state()->size() == 0);
}

TEST_CASE("collate: the last batch is smaller, or dropped") {
  const Stream mapped = map(range(10), &kData, {square, kSquare, false, "square", {}});
  CHECK(collate(mapped, 4, false).state()->size() == 3);
  CHECK(collate(mapped, 4, true).state()->size() == 2);
  Record record;
  collate(mapped, 4, false).state()->read({0, 2}, record);
  CHECK(at::equal(aten(record[0].tensor), at::tensor({8, 64, 9, 81}, at::kLong).view({2, 2})));
}

TEST_CASE("batches are equal for 0, 1 and 4 workers, with random maps, and when they come from memory") {
  const MapInfo pure{square, kSquare, false, "square", {}};
  const MapInfo random{jitter, kSquare, true, "jitter", {}};
  const Stream stream = collate(map(map(shuffle(range(101), 3), &kData, pure), &kData, random), 8, false);
  const auto expected = drain(stream, 0);
  CHECK(expected.size() == 2 * (202 + 13));
  CHECK(drain(stream, 1) == expected);
  CHECK(drain(stream, 4) == expected);
  set_known(nlohmann::json::object(), "");  // Another run, which numbers its stages from 0.
  const Stream anew = collate(map(map(shuffle(range(101), 3), &kData, pure), &kData, random), 8, false);
  CHECK(drain(anew, 4) == expected);
  const auto later = drain(anew, 2, 5);
  CHECK(std::equal(later.begin(), later.end(), expected.begin() + 5 * 17));
}

TEST_CASE("a record's augmentation hangs on the record and the epoch, not on its place") {
  const MapInfo pure{square, kSquare, false, "square", {}};
  const MapInfo random{jitter, kSquare, true, "jitter", {}};
  const Stream plain = map(map(range(20), &kData, pure), &kData, random);
  const Stream shuffled = map(map(shuffle(range(20), 3), &kData, pure), &kData, random);
  Record a;
  Record b;
  shuffled.state()->read({2, 4, 9}, b);
  const int64_t which = numbers(shuffle(range(20), 3), 2)[4];
  plain.state()->read({2, which, 9}, a);
  // Stage depths differ, so the keys do: what counts is that each stream agrees with itself in any order.
  Record again;
  shuffled.state()->read({2, 11, 9}, a);
  shuffled.state()->read({2, 4, 9}, again);
  CHECK(at::equal(aten(b[0].tensor), aten(again[0].tensor)));
  shuffled.state()->read({3, 4, 9}, again);
  CHECK_FALSE(at::equal(aten(b[0].tensor), aten(again[0].tensor)));
}

TEST_CASE("two maps draw apart, and so does one of a record that comes again") {
  const MapInfo pure{square, kSquare, false, "square", {}};
  const MapInfo random{jitter, kSquare, true, "jitter", {}};
  const MapInfo other{jitter, {{"y", DType::I64, {2}, ""}}, true, "jitter", {}};
  const Stream squares = map(range(10), &kData, pure);
  const auto value = [](const Stream& stream, int64_t index, size_t field = 0) {
    Record record;
    stream.state()->read({1, index, 9}, record);
    return aten(record[field].tensor).clone();
  };
  const Stream view = map(squares, &kData, random);
  const Stream both = zip(view, map(squares, &kData, other), "equal");
  CHECK_FALSE(at::equal(value(both, 3, 0), value(both, 3, 1)));
  // One map is one value, wherever it is read again.
  const Stream twice = zip(select(view, {"x"}),
                           map(view, &kData, MapInfo{rename, {{"y", DType::I64, {2}, ""}}, false, "", {}}), "equal");
  CHECK(at::equal(value(twice, 3, 0), value(twice, 3, 1)));
  const Stream after = concat(view, view);
  CHECK_FALSE(at::equal(value(after, 3), value(after, 13)));
  CHECK(at::equal(value(after, 3), value(view, 3)));
  const Stream mixed = mix({view, view}, {});
  CHECK_FALSE(at::equal(value(mixed, 6), value(mixed, 7)));
  const Stream again = map(map(sample(skip(range(2), 1), "i", 1, 4, true), &kData, pure), &kData, random);
  CHECK_FALSE(at::equal(value(again, 0), value(again, 1)));
  CHECK(at::equal(value(again, 1), value(again, 1)));
}

TEST_CASE("endless streams go on over epochs") {
  const Stream stream =
      collate(map(repeat(range(6), std::nullopt), &kData, {square, kSquare, false, "", {}}), 4, false);
  data::LoaderOptions options;
  options.batch = {{"x", DType::I64, {-1, 2}, ""}};
  CHECK(error_of([&] { data::Loader(stream, options).batches(0); }).code == "R3005");
  options.steps_per_epoch = 2;
  data::Loader loader(stream, options);
  CHECK(loader.batches(0) == 2);
  Batch batch;
  loader.start(1);
  loader.next(batch);
  CHECK(batch.fields[0].narrow(1, 0, 1).narrow(0, 0, 1).item_int() == 2);  // the ninth record of 0..5 repeated
}

TEST_CASE("bad records stop with their place, or are left out and counted") {
  const Schema out = {{"i", DType::I64, {}, "int"}};
  const MapInfo info{fail_on_7, out, false, "check", {"x.ltr", 3, 1}};
  const auto read_all = [&](const Option<int64_t>& skip_bad) { numbers(map(range(30), &kData, info, skip_bad)); };
  CHECK(error_of([&] { read_all(std::nullopt); }).message == "record 7: seven");
  CHECK(error_of([&] { read_all(std::nullopt); }).code == "R3003");
  const Stream skipping = map(range(30), &kData, info, 3);
  CHECK(numbers(skipping).size() == 27);
  CHECK(numbers(skipping).size() == 27);
  CHECK(take_left_out().size() == 6);  // each time that they come up
  data::LoaderOptions options;
  options.batch = {{"i", DType::I64, {-1}, ""}};
  options.workers = 2;
  data::Loader loader(collate(skipping, 10, false), options);
  loader.start(0);
  Batch batch;
  loader.next(batch);
  CHECK(batch.size == 9);
  CHECK(loader.take_left_out().size() == 1);  // of this batch alone, however far the workers are
  loader.next(batch);
  CHECK(loader.take_left_out().size() == 1);
}

/// i -> {x: float[2]} = [i, i / 3]
void third(const Data&, const Record& in, Record& out) {
  out[0].tensor = tensor_of(Floats{double(in[0].whole), double(in[0].whole) / 3}, DType::F32);
}

TEST_CASE(
    "who reads a batch narrows it, and lays it where a device copies from; what does not fit is told of the first "
    "one") {
  const Schema thirds = {{"x", DType::Float, {2}, ""}};
  const Stream stream = collate(map(range(12), &kData, {third, thirds, false, "", {}}), 4, false);
  for (const int workers : {0, 2}) {
    CAPTURE(workers);
    data::LoaderOptions options;
    options.batch = {{"x", DType::Float, {-1, 2}, ""}};
    options.workers = workers;
    Batch plain, narrow;
    data::Loader wide(stream, options);
    wide.start(0);
    REQUIRE(wide.next(plain));
    {
      fake::OnFakeDevice on;
      const DeviceScope elsewhere(
          c10::Device(c10::DeviceType::Meta));  // where the thread that runs the steps makes tensors
      set_precision("bf16_pure");
      data::Loader loader(stream, options);
      loader.start(0);
      for (int64_t i = 0; i < 3; i++) {
        REQUIRE(loader.next(narrow));
        CHECK(on.device.has_lent(In(narrow.fields[0])));
        if (i == 0) CHECK(In(narrow.fields[0])->equal(In(plain.fields[0])->to(at::kBFloat16)));
      }
      set_precision("f32");
    }
    options.batch = {{"x", DType::I64, {-1, 2}, ""}};
    data::Loader other(stream, options);
    other.start(0);
    CHECK(error_of([&] { other.next(plain); }).code == "R3002");
  }
}

TEST_CASE("limits, overfit, empty streams") {
  const Stream stream = collate(map(shuffle(range(100), 1), &kData, {square, kSquare, false, "", {}}), 10, false);
  data::LoaderOptions options;
  options.batch = {{"x", DType::I64, {-1, 2}, ""}};
  options.limit.batches = 3;
  CHECK(data::Loader(stream, options).batches(0) == 3);
  options.limit = {-1, 0.25};
  CHECK(data::Loader(stream, options).batches(0) == 2);
  CHECK(data::Loader(stream, options).samples() == 20);
  options.limit = {};
  options.overfit = 1;
  data::Loader loader(stream, options);
  loader.start(4);
  Batch batch;
  loader.next(batch);
  CHECK(batch.fields[0].narrow(0, 3, 1).narrow(1, 0, 1).item_int() == 3);
  CHECK_FALSE(loader.next(batch));
  CHECK(error_of([&] { data::Loader(collate(take(range(5), 0), 2, false), options).batches(0); }).code == "R3005");
  CHECK(error_of([&] { data::Loader(range(5), options); }).code == "R3002");
}

TEST_CASE("csv: columns by name, cells with their place") {
  const Schema schema = {{"b", DType::Float, {}, "float"}, {"a", DType::I64, {}, "int"}};
  const testing::ScratchFile good(".csv", "a,skipped,b\n1,x,2.5\n3,y,\n");
  Record record;
  const Stream stream = csv(good.path, ",", {}, schema);
  stream.state()->read({0, 1}, record);
  CHECK(std::isnan(record[0].real));
  CHECK(record[1].whole == 3);
  CHECK(error_of([&] {
          csv(testing::ScratchFile(".csv", "a,b\n1,2\nx,3\n").path, ",", {}, schema).state()->check();
        }).message.ends_with(".csv:3: the field a is \"x\", but int is wanted"));
  CHECK(error_of([&] {
          csv(testing::ScratchFile(".csv", "a,b\n1\n").path, ",", {}, schema).state()->check();
        }).message.ends_with(":2: 1 fields, but the header has 2"));
  CHECK(error_of([&] { csv(testing::ScratchFile(".csv", "a,c\n1,2\n").path, ",", {}, schema); }).code == "R3002");
  CHECK(error_of([&] { csv(testing::ScratchFile(".csv", "a,b\n,2\n").path, ",", {}, schema).state()->check(); }).code ==
        "R3003");
  CHECK(error_of([&] { csv("/nowhere/x.csv", ",", {}, schema); }).code == "R3001");
  CHECK(error_of([&] { csv(testing::ScratchFile(".csv", "a,b,a\n1,2,3\n").path, ",", {}, schema); }).code == "R3002");
  CHECK(error_of([&] { csv(testing::ScratchFile(".csv", "a,b\n\"1,2\n").path, ",", {}, schema); }).code == "R3003");
}

TEST_CASE("text_chars: ids by code point, vocabulary, windows") {
  const testing::ScratchFile file(".txt", "hé\nah");
  const Stream stream = text_chars(file.path);
  CHECK(character_count(stream) == 4);
  CHECK(stream.state()->size() == 5);
  Record record;
  window(stream, 5, 5).state()->read({0, 0}, record);
  CHECK(at::equal(aten(record[0].tensor), at::tensor({2, 3, 0, 1, 2}, at::kLong)));
  CHECK(error_of([] { text_chars(testing::ScratchFile(".txt", "a\xff").path); }).code == "R3003");
  CHECK(error_of([] { character_count(range(3)); }).code == "R3002");
}

TEST_CASE("named data: a missing file names all places and what belongs there") {
  try {
    mnist("/nowhere", true);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code == "R3001");
    CHECK(error.help.find("`ltrc data get mnist --to /nowhere` fetches them") != Str::npos);
    CHECK(error.help.find("/nowhere") != Str::npos);
  }
}

TEST_CASE("of the first records of a mix each stream has its share but for less than one") {
  const std::vector<std::vector<double>> all = {std::vector<double>{10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                                                {1, 1, 1},
                                                {0.7, 0.3},
                                                {1, 2, 4, 8, 16, 32, 64},
                                                {3, 3, 3, 1, 1, 17, 29}};
  for (const std::vector<double>& weights : all) {
    constexpr int64_t kEach = 400;  // Records of a stream, whose numbers say which one it is.
    std::vector<Stream> streams;
    double whole = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      streams.push_back(take(skip(range(100'000), int64_t(i) * kEach), kEach));
      whole += weights[i];
    }
    std::vector<int64_t> taken(weights.size(), 0);
    double worst = 0;
    int64_t place = 0;
    for (const int64_t number : numbers(mix(streams, weights))) {
      ++taken[size_t(number / kEach)];
      ++place;
      for (size_t i = 0; i < weights.size(); ++i)
        worst = std::max(worst, std::abs(double(taken[i]) - weights[i] / whole * double(place)));
    }
    CHECK(place >= kEach);
    CHECK(worst < 1);
  }
}

TEST_CASE("streams are one only if the forms of their fields are") {
  const Schema must = {{"s", DType::U8, {}, "str"}};
  Schema may = must;
  may[0].form = FieldForm::Option;
  CHECK(same_records(must, must));
  CHECK_FALSE(same_records(must, may));
  // An int is one, whoever makes it.
  Schema made = kNumber;
  made[0].dtype = DType::Float;
  CHECK(same_records(kNumber, made));
  Schema elements = kSquare;
  elements[0].dtype = DType::I32;
  CHECK_FALSE(same_records(kSquare, elements));
}

TEST_CASE("rows from outside pass through the maps of a stream") {
  const Stream stream = collate(map(shuffle(range(10), 1), &kData, {square, kSquare, false, "", {}}), 4, true);
  const testing::ScratchFile rows(".jsonl", "{\"i\": 3}\n\n{\"i\": 5}\n");
  const Stream replaced = stream.state()->rebuilt(read_rows(rows.path, stream.state()->source()->schema(), {}).stream);
  Record record;
  replaced.state()->read({0, 0}, record);
  CHECK(at::equal(aten(record[0].tensor), at::tensor({3, 9, 5, 25}, at::kLong).view({2, 2})));
}

}  // namespace ltr
