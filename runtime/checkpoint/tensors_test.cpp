#include "runtime/checkpoint/tensors.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "runtime/checkpoint/shelf.h"

namespace ltr {

TEST_CASE("a tensor in parts gives any stretch of its elements") {
  const at::Tensor all = at::arange(12, at::kFloat);
  const PartedTensor parted{{3, 4}, {{7, all.narrow(0, 7, 5)}, {0, all.narrow(0, 0, 3)}, {3, all.narrow(0, 3, 4)}}};
  CHECK(at::equal(parted.whole(), all.view({3, 4})));
  for (int64_t begin = 0; begin <= 12; begin++) {
    for (int64_t end = begin; end <= 12; end++)
      CHECK(at::equal(parted.elements(begin, end), all.narrow(0, begin, end - begin)));
  }
}

TEST_CASE("tensors of a file outlive its name") {
  char folder[] = "/tmp/ltr-tensors-XXXXXX";
  const Str file = Str(::mkdtemp(folder)) + "/a.safetensors";
  const at::Tensor values = at::randn({50, 40});
  write_tensors(file, {{"values", values}, {"none", at::empty({0, 4})}});
  at::Tensor found = read_tensors(file).at("values");
  std::filesystem::remove_all(folder);
  CHECK(at::equal(found, values));
}

TEST_CASE("a shelf keeps what tensors were, in the memory of the time before") {
  Shelf shelf;
  const at::Tensor weight = at::ones({100}), state = at::ones({7});
  const void* place = nullptr;
  for (int turn = 0; turn < 3; turn++) {
    CheckpointData data;
    data.weights = {{"w", weight}};
    data.train = {{"w", state}};
    // Of what another rank writes nothing is copied.
    data.share.slices = {{"own", state, {0, 7, {7}}}, {"other", state, {0, 7, {7}, at::kFloat, false}}};
    shelf.put(data);
    weight.add_(1);
    state.add_(1);
    CHECK(data.weights[0].tensor.sum().item<double>() == 100 * (turn + 1));
    CHECK(data.train[0].tensor.sum().item<double>() == 7 * (turn + 1));
    CHECK(data.share.slices[0].tensor.sum().item<double>() == 7 * (turn + 1));
    CHECK(data.share.slices[1].tensor.is_same(state));
    if (turn > 0) CHECK(data.weights[0].tensor.const_data_ptr() == place);
    place = data.weights[0].tensor.const_data_ptr();
  }
}

}  // namespace ltr
