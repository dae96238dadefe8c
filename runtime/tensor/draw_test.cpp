#include "runtime/tensor/draw.h"

#include <doctest/doctest.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>

#include "ltr/ops.h"
#include "runtime/api/error.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/philox.h"
#include "runtime/tensor/random.h"

namespace ltr {

TEST_CASE("Philox gives the published answers, block by block and in groups") {
  CHECK(philox(0, 0, 0) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~0ull, ~0ull, ~0ull) == PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  uint32_t words[3 * kPhiloxGroup];
  philox_words(5, 7, 10, 3, words);
  for (const uint64_t block : {0, 5, 15, 16, 47}) {
    const PhiloxBlock expected = philox(5, 160 + block, 7);
    for (size_t word = 0; word < 4; word++) {
      CHECK(words[block / 16 * kPhiloxGroup + 16 * word + block % 16] == expected[word]);
    }
  }
}

TEST_CASE("draws hang on key and place alone: neither on threads nor on how much is drawn") {
  const auto drawn = [](int threads, int64_t count) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    seed_random(42);
    const std::vector<at::Tensor> all = {fill_uniform(at::empty({count}), -1, 1),
                                         fill_normal(at::empty({count}), 0, 1),
                                         fill_normal(at::empty({count}, at::kDouble), 0, 1),
                                         fill_kept(at::empty({count}), 0.75, 4.0 / 3),
                                         fill_whole(at::empty({count}, at::kLong), -5, 1000),
                                         draw_permutation(count)};
    at::set_num_threads(before);
    return all;
  };
  const auto one = drawn(1, 100003), two = drawn(2, 100003), shorter = drawn(1, 1000);
  for (size_t i = 0; i < one.size(); i++) {
    CAPTURE(i);
    CHECK(at::equal(one[i], two[i]));
    if (i < 5) CHECK(at::equal(one[i].narrow(0, 0, 1000), shorter[i]));
  }
}

TEST_CASE("numbers have the distribution that was asked for") {
  seed_random(1);
  const int64_t n = 1 << 20;
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor u = fill_uniform(at::empty({n}, type), -2, 3);
    CHECK(u.min().item<double>() >= -2);
    CHECK(u.max().item<double>() < 3);
    CHECK(u.mean().item<double>() == doctest::Approx(0.5).epsilon(0.01));
    CHECK(u.var().item<double>() == doctest::Approx(25.0 / 12).epsilon(0.01));
    const at::Tensor z = fill_normal(at::empty({n}, type), 1, 2);
    CHECK(z.mean().item<double>() == doctest::Approx(1).epsilon(0.01));
    CHECK(z.std().item<double>() == doctest::Approx(2).epsilon(0.01));
    const at::Tensor unit = (z - 1) / 2;
    CHECK((unit.abs() < 1).to(at::kDouble).mean().item<double>() == doctest::Approx(0.682689).epsilon(0.005));
    CHECK((unit.abs() > 3).to(at::kDouble).mean().item<double>() == doctest::Approx(0.0026998).epsilon(0.1));
    // Neighbours, and the two halves of a pair, know nothing of each other.
    for (const int64_t lag : {1, 16, 32, 64}) {
      const at::Tensor product = unit.narrow(0, 0, n - lag) * unit.narrow(0, lag, n - lag);
      CHECK(std::abs(product.mean().item<double>()) < 0.005);
    }
  }
  const at::Tensor kept = fill_kept(at::empty({n}), 0.9, 1);
  CHECK(kept.mean().item<double>() == doctest::Approx(0.9).epsilon(0.005));
  CHECK(at::equal(fill_kept(at::empty({100}), 1, 1), at::ones({100})));
  CHECK(at::equal(fill_kept(at::empty({100}), 0, 1), at::zeros({100})));
  const at::Tensor whole = at::bincount(fill_whole(at::empty({n}, at::kLong), 0, 10));
  CHECK(whole.size(0) == 10);
  CHECK((whole.to(at::kDouble) / double(n) - 0.1).abs().max().item<double>() < 0.003);
}

TEST_CASE("an index is drawn in proportion to its weight") {
  seed_random(3);
  const at::Tensor weights = at::tensor({0.0, 1.0, 0.0, 3.0, 0.0}).repeat({1 << 16, 1});
  const at::Tensor counts = at::bincount(draw_index(weights).flatten(), {}, 5);
  CHECK(counts[0].item<int64_t>() == 0);
  CHECK(counts[2].item<int64_t>() == 0);
  CHECK(counts[4].item<int64_t>() == 0);
  CHECK(counts[3].item<double>() / counts[1].item<double>() == doctest::Approx(3).epsilon(0.03));
  CHECK_THROWS_AS(draw_index(at::zeros({3})), Error);
  CHECK_THROWS_AS(draw_index(at::tensor({1.0, -1.0, 1.0})), Error);
  const at::Tensor order = draw_permutation(1000);
  CHECK(at::equal(std::get<0>(order.sort()), at::arange(1000)));
  CHECK_FALSE(at::equal(order, at::arange(1000)));
}

}  // namespace ltr
