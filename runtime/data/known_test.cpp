// Facts and vocabularies of streams: by hand, from a checkpoint, and kept.

#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <cmath>

#include "ltr/operators.h"
#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/known.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

Data no_maps;

const Schema kHome = {{"age", DType::Float, {}, "float", FieldForm::Option},
                      {"rooms", DType::I64, {}, "int"},
                      {"town", DType::U8, {}, "str", FieldForm::Option},
                      {"text", DType::U8, {}, "str"}};

/// Ages 1, 2, 4, 8, one nan and one that is missing; rooms 2, 3, 2, 3, 2, 3; towns Ulm, Bonn, Ulm, Bonn, Ulm and none.
void home(const Data&, const Record& in, Record& out) {
  const auto i = size_t(in[0].whole);
  constexpr double kAges[] = {4, 1, 8, 2, NAN, 0};
  constexpr const char* kTexts[] = {"b a", "a  b", "c", "", "ü a", "d"};
  out.resize(4);
  out[0].real = kAges[i];
  out[0].is_missing = i == 5;
  out[1].whole = int64_t(2 + i % 2);
  out[2].text = i % 2 == 0 ? "Ulm" : "Bonn";
  out[2].is_missing = i == 5;
  out[3].text = kTexts[i];
}

Stream homes() { return map(range(6), &no_maps, {home, kHome, false, "home", {}}); }

struct Forget {
  Forget() { set_known(nlohmann::json::object(), ""); }
  ~Forget() { set_known(nlohmann::json::object(), ""); }
};

}  // namespace

TEST_CASE("facts of numbers leave out what is missing and nan, and count it") {
  const Forget forget;
  Data data;
  const Facts* seen = facts(data, homes(), "seen", {"age", "rooms", "town"});
  const FieldFacts* age = field_facts(seen, "age");
  CHECK(fact_count(age) == 4);
  CHECK(fact_missing(age) == 2);
  CHECK(fact_mean(age) == 3.75);
  CHECK(fact_std(age) == doctest::Approx(3.0956959368344519).epsilon(1e-15));
  CHECK(fact_min(age) == 1);
  CHECK(fact_max(age) == 8);
  CHECK(fact_median(age) == 3);
  const FieldFacts* rooms = field_facts(seen, "rooms");
  CHECK(fact_unique(rooms) == 2);
  CHECK((fact_ints(rooms) == Ints{2, 3}));
  CHECK(fact_mean(rooms) == 2.5);
}

TEST_CASE("classes stand in order, and rare ones weigh more") {
  const Forget forget;
  Data data;
  const FieldFacts* town = field_facts(facts(data, homes(), "seen", {"town"}), "town");
  CHECK((fact_texts(town) == std::vector<Str>{"Bonn", "Ulm"}));
  CHECK((fact_counts(town) == Ints{2, 3}));
  CHECK(fact_missing(town) == 1);
  CHECK(fact_class_weights(town)[0] == 5.0 / 4);
  CHECK(fact_class_weights(town)[1] == 5.0 / 6);
}

TEST_CASE("facts of nothing are no numbers") {
  const auto refused = [](auto asked) -> Str {
    try {
      asked();
    } catch (const Error& error) {
      return Str(error.what());
    }
    return "";
  };
  const Forget forget;
  Data data;
  const FieldFacts* of_none = field_facts(facts(data, take(homes(), 0), "seen", {"age"}), "age");
  CHECK(refused([&] { fact_count(of_none); }).find("seen is of a stream without records") != Str::npos);
  const FieldFacts* missing = field_facts(facts(data, skip(homes(), 5), "gaps", {"age"}), "age");
  CHECK(fact_count(missing) == 0);
  CHECK(fact_missing(missing) == 1);
  CHECK(refused([&] { fact_median(missing); }).find("no record has a value of the field age") != Str::npos);
  const FieldFacts* one = field_facts(facts(data, take(homes(), 1), "first", {"age"}), "age");
  CHECK(fact_mean(one) == fact_max(one));
  CHECK(refused([&] { fact_std(one); }).find("one record has a value of the field age") != Str::npos);
}

TEST_CASE("words: special ones, then by falling count, equal counts by code point") {
  const Forget forget;
  Data data;
  const Vocabulary* all = vocab(data, homes(), Str("text"), {}, 1, {"<pad>", "<unk>"}, "special", "all");
  CHECK((decode_words(all, tensor_of(Ints{0, 1, 2, 3, 4, 5, 6}, DType::I64)) ==
         std::vector<Str>{"<pad>", "<unk>", "a", "b", "c", "d", "ü"}));
  CHECK(vocab_size(all) == 7);
  CHECK(aten(encode_words(all, {"b", "zebra", "<pad>"})).equal(at::tensor({3, 1, 0}, at::kLong)));
  CHECK(word_id(all, "ü") == 6);
  CHECK_THROWS_AS(word_id(all, "zebra"), Error);
  CHECK_THROWS_AS(decode_words(all, tensor_of(Ints{7}, DType::I64)), Error);
  const Vocabulary* few = vocab(data, homes(), Str("text"), {}, 2, {}, "skip", "few");
  CHECK(vocab_size(few) == 2);
  CHECK(aten(encode_words(few, {"c", "b", "d"})).equal(at::tensor({1}, at::kLong)));
  CHECK(vocab_size(vocab(data, homes(), Str("text"), 3, 1, {"<unk>"}, "special", "cut")) == 3);
  CHECK_THROWS_AS(vocab(data, homes(), Str("text"), 1, 1, {"<unk>"}, "special", "none"), Error);
}

TEST_CASE("what a checkpoint says holds, and its files need not be there") {
  const Forget forget;
  nlohmann::json kept;
  {
    Data data;
    facts(data, homes(), "seen", {"age"});
    vocab(data, homes(), Str("text"), {}, 1, {}, "skip", "words");
    kept = known_of(data);
  }
  set_known(nlohmann::json::parse(kept.dump()), "");
  Data data;
  const Stream gone = csv("no-such-file.csv", ",", {}, kHome);
  CHECK(gone.state()->is_absent());
  const std::vector<Stream> parts = split(gone, Floats{0.5, 0.5}, 1, {});
  const FieldFacts* age = field_facts(facts(data, parts[0], "seen", {"age"}), "age");
  CHECK(fact_mean(age) == 3.75);
  CHECK(vocab_size(vocab(data, parts[0], Str("text"), {}, 1, {}, "skip", "words")) == 5);
  Record out;
  CHECK_THROWS_AS(gone.state()->read({}, out), Error);
  CHECK_THROWS_AS(collate(parts[0], 2, false).state()->check(), Error);
  set_known(nlohmann::json::object(), "");
  CHECK_THROWS_AS(csv("no-such-file.csv", ",", {}, kHome), Error);
}

}  // namespace ltr
