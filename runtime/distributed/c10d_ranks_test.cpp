#include "runtime/distributed/c10d_ranks.h"

#include <doctest/doctest.h>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <array>
#include <thread>

#include "runtime/tensor/fake_accelerator.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/fake_program.h"
#include "runtime/train/trainer.h"

namespace ltr::fake {

TEST_CASE("a loss that is not finite on one rank travels with the gradients, where the host does not know it yet") {
  const OnFakeDevice there;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::array<Str, 2> errors;
  std::array<at::Tensor, 2> weights;
  const auto train = [&](int64_t rank) {
    distributed::Place place;
    place.rank = place.local_rank = rank;
    place.world = place.local_size = 2;
    const distributed::C10dRanks ranks(place, store, {20, 20});
    Run run;
    run.poison = rank == 0 ? -1 : 2;
    RunRequest request = run.request(ranks);
    try {
      fit(request);
    } catch (const Error& error) {
      errors[size_t(rank)] = error.code + ": " + error.message;
    }
    std::vector<at::Tensor> all;
    for (const Entry& entry : run.root.weights()) all.push_back(aten(entry.tensor).detach().flatten());
    weights[size_t(rank)] = at::cat(all);
  };
  std::thread other(train, 1);
  train(0);
  other.join();
  CHECK(errors[0] == "R4001: the loss is not finite on another rank at step 3");
  CHECK(errors[1] == "R4001: the loss is nan at step 3");
  CHECK(at::equal(weights[0], weights[1]));
  CHECK(weights[0].isfinite().all().item<bool>());
}

}  // namespace ltr::fake
