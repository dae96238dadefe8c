#include <doctest/doctest.h>

#include "ltr/streams.h"
#include "runtime/data/loader.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/handle.h"

namespace ltr {

TEST_CASE("mock data opens nothing and has the batch's types") {
  set_mock_data(true);
  const Stream stream = collate(mnist("/nowhere", true), 16, true);
  data::LoaderOptions options;
  options.batch = {{"image", DType::Float, {-1, 1, 28, 28}, ""}, {"label", DType::I64, {-1}, ""}};
  options.mock = true;
  data::Loader loader(stream, options);
  loader.start(0);
  Batch batch;
  CHECK(loader.next(batch));
  CHECK(batch.fields[0].shape() == Ints{16, 1, 28, 28});
  CHECK(batch.fields[1].dtype() == DType::I64);
  set_mock_data(false);
}

TEST_CASE("mock numbers are in [0, 1), as targets of a binary loss and rounded classes must be") {
  set_mock_data(true);
  const Stream stream = collate(mnist("/nowhere", true), 64, true);
  data::LoaderOptions options;
  options.batch = {{"image", DType::Float, {-1, 1, 28, 28}, ""}, {"target", DType::F64, {-1}, ""}};
  options.mock = true;
  data::Loader loader(stream, options);
  loader.start(0);
  Batch batch;
  CHECK(loader.next(batch));
  for (const Tensor& field : batch.fields) {
    const at::Tensor values = aten(field);
    CHECK(values.min().item<double>() >= 0);
    CHECK(values.max().item<double>() < 1);
    CHECK(values.std().item<double>() > 0.2);
  }
  set_mock_data(false);
}

TEST_CASE("mock lengths are of what is there: none is 0, none longer than the padded field") {
  set_mock_data(true);
  const Stream stream = collate(jsonl("/nowhere", {{"ids", DType::I64, {-1}, ""}}), 64, true, 0.0, {{"ids", "n"}});
  data::LoaderOptions options;
  options.batch = {{"ids", DType::I64, {-1, -1}, ""}, {"n", DType::I64, {-1}, ""}};
  options.mock = true;
  data::Loader loader(stream, options);
  loader.start(0);
  Batch batch;
  CHECK(loader.next(batch));
  const at::Tensor lengths = aten(batch.fields[1]);
  CHECK(lengths.min().item<int64_t>() == 1);
  CHECK(lengths.max().item<int64_t>() == batch.fields[0].shape()[1]);
  set_mock_data(false);
}

}  // namespace ltr
