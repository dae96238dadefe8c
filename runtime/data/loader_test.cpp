// Batches as workers read them: in order, epoch after epoch, as far ahead as the run goes.

#include <atomic>
#include <stdexcept>
#include <tuple>

#include <doctest/doctest.h>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/loader.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

class Nothing : public Data {};
const Nothing kNothing;

const Schema kIndex = {{"i", DType::I64, {}, "int"}};

void none_of_7(const Data&, const Record& in, Record& out) {
  if (in[0].whole % 10 == 7) throw std::runtime_error("seven");
  out[0].whole = in[0].whole;
}

}  // namespace

TEST_CASE("epochs that follow one another give what each gives alone") {
  const Stream stream = collate(
      map(shuffle(range(30), 1, std::nullopt), &kNothing, {none_of_7, kIndex, false, "check", {}}, 3), 4, false);
  using Given = std::vector<std::vector<int64_t>>;  // what was left out, the number, and the records of each batch
  const auto given = [&](data::Loader& loader, int64_t epoch, int64_t first, int64_t last) {
    loader.start(epoch, first);
    Given list;
    Batch batch;
    for (int64_t i = first; i < last && loader.next(batch); ++i) {
      const at::Tensor records = aten(batch.fields[0]);
      list.push_back({int64_t(loader.take_left_out().size()), loader.number()});
      list.back().insert(list.back().end(), records.const_data_ptr<int64_t>(),
                         records.const_data_ptr<int64_t>() + records.numel());
    }
    return list;
  };
  for (const int workers : {0, 1, 3}) {
    CAPTURE(workers);
    data::LoaderOptions options;
    options.batch = {{"i", DType::I64, {-1}, ""}};
    options.workers = workers;
    data::Loader loader(stream, options), alone(stream, options);
    loader.read_ahead_to(5);
    // The third one ends early, the fourth begins within, and the run goes on behind its last epoch.
    for (const auto& [epoch, first, last] :
         {std::tuple(0, 0, 9), {1, 0, 9}, {2, 0, 3}, {3, 2, 9}, {4, 0, 9}, {5, 0, 9}}) {
      CAPTURE(epoch);
      CHECK(given(loader, epoch, first, last) == given(alone, epoch, first, last));
    }
  }
}

TEST_CASE("the first batches of an epoch are read while the last ones of that before it are given") {
  static std::atomic<int64_t> read;
  read = 0;
  const auto counts = [](const Data&, const Record& in, Record& out) {
    ++read;
    out[0].whole = in[0].whole;
  };
  const Stream stream = collate(map(range(8), &kNothing, {counts, kIndex, true, "count", {}}), 2, false);
  data::LoaderOptions options;
  options.batch = {{"i", DType::I64, {-1}, ""}};
  options.workers = 1;
  data::Loader loader(stream, options);
  loader.read_ahead_to(3);
  const auto batches_read = [&](int64_t epoch, int64_t batches) {
    loader.start(epoch);
    Batch batch;
    for (int64_t i = 0; i < batches; ++i) loader.next(batch);
    loader.fill();
    return read / 2;
  };
  CHECK(batches_read(0, 4) == 8);
  CHECK(batches_read(1, 4) == 12);
  CHECK(batches_read(2, 4) == 12);  // none behind the last epoch
}

TEST_CASE("an error of a worker comes after the batches before it") {
  const Stream stream = collate(map(range(30), &kNothing, {none_of_7, kIndex, false, "check", {}}), 5, false);
  data::LoaderOptions options;
  options.batch = {{"i", DType::I64, {-1}, ""}};
  options.workers = 3;
  data::Loader loader(stream, options);
  loader.start(0);
  Batch batch;
  CHECK(loader.next(batch));
  Str code;
  try {
    loader.next(batch);
  } catch (const Error& error) {
    code = error.code;
  }
  CHECK(code == "R3003");
}

}  // namespace ltr
