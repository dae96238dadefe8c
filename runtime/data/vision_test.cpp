#include <unistd.h>
#include <filesystem>

#include <doctest/doctest.h>

#include "doors/image_file.h"
#include "ltr/ops.h"
#include "runtime/data/image_colors.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/random.h"

namespace ltr {

TEST_CASE("an affine map without motion is the identity, and draws are keyed") {
  const Tensor image = give(at::arange(48, at::kFloat).view({3, 4, 4}));
  seed_random(1);
  CHECK(at::equal(aten(random_affine(image, 0, 0, {1.0, 1.0}, 0)), aten(image)));
  seed_random(2);
  const at::Tensor first = aten(random_affine(image, 30, 0.2, {0.8, 1.2}, 0));
  seed_random(2);
  CHECK(at::equal(first, aten(random_affine(image, 30, 0.2, {0.8, 1.2}, 0))));
  seed_random(3);
  CHECK_FALSE(at::equal(first, aten(random_affine(image, 30, 0.2, {0.8, 1.2}, 0))));
}

TEST_CASE("a turn of the whole circle leaves colours as they are, one of a third moves red to green") {
  const Tensor image = give(at::rand({3, 5, 4}));
  CHECK(at::allclose(hue_turned(aten(image), 1), aten(image), 0, 1e-5));
  const at::Tensor red = at::tensor({1.0F, 0.0F, 0.0F}).view({3, 1, 1});
  CHECK(at::allclose(hue_turned(red, 1.0 / 3), red.roll(1, 0), 0, 1e-5));
  CHECK(at::equal(hue_turned((red * 255).to(at::kByte), -1.0 / 3), (red * 255).to(at::kByte).roll(2, 0)));
  const at::Tensor gray = at::full({3, 2, 2}, 0.4F);
  CHECK(at::allclose(hue_turned(gray, 0.3), gray, 0, 1e-6));
}

TEST_CASE("doubling the size keeps the centre and blackens nothing inside") {
  const Tensor image = give(at::ones({1, 9, 9}));
  const at::Tensor out = aten(random_affine(image, 0, 0, {2.0, 2.0}, 0));
  CHECK(at::equal(out, at::ones({1, 9, 9})));
  const at::Tensor half = aten(random_affine(image, 0, 0, {0.5, 0.5}, 0));
  CHECK(half[0][4][4].item().toDouble() == 1);
  CHECK(half[0][0][0].item().toDouble() == 0);
}

TEST_CASE("a grid of images has two black pixels between them, and is written as PNG with its folders") {
  const Tensor images = give(at::ones({3, 1, 4, 5}));
  const Tensor grid = image_grid(images, 2);
  CHECK(grid.shape() == Ints{1, 2 * 6 + 2, 2 * 7 + 2});
  CHECK(aten(grid)[0][2][2].item().toDouble() == 1);
  CHECK(aten(grid)[0][6][2].item().toDouble() == 0);
  const Str folder = (std::filesystem::temp_directory_path() / ("ltr-png-" + std::to_string(::getpid()))).string();
  save_png(grid, folder + "/a/b.png");
  const doors::Image back = doors::read_image(folder + "/a/b.png", 1);
  CHECK(back.width == 16);
  CHECK(back.pixels[2 * 16 + 2] == 255);
  std::filesystem::remove_all(folder);
}

}  // namespace ltr
