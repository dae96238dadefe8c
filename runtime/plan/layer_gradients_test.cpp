// Every gradient rule of products, pools, attention, norms and recurrent layers.

#include "runtime/plan/gradient_test.h"

namespace ltr::plan::gradient_test {

TEST_CASE("gradients of products are autograd's") {
  for (const auto& given : std::vector<std::vector<Given>>{{{{3, 4}}, {{4, 5}}},
                                                           {{{2, 1, 3, 4}}, {{5, 4, 2}}},
                                                           {{{4}}, {{4}}},
                                                           {{{4}}, {{2, 4, 3}}},
                                                           {{{2, 3, 4}}, {{4}}}})
    compare({"matmul", given, [](const Tensors& x) { return matmul(x[0], x[1]); }});
  compare({"bmm", {{{2, 3, 4}}, {{2, 4, 5}}}, [](const Tensors& x) { return bmm(x[0], x[1]); }});
  compare({"linear", {{{2, 3, 4}}, {{5, 4}}, {{5}}}, [](const Tensors& x) { return linear(x[0], x[1], x[2]); }});
  compare({"linear of a row", {{{4}}, {{5, 4}}}, [](const Tensors& x) { return linear(x[0], x[1], {}); }});
  for (const Ints& front : std::vector<Ints>{{3}, {2, 3}, {}, {1}, {0}}) {
    const auto of = [&](int64_t size) {
      Ints sizes = front;
      sizes.push_back(size);
      return sizes;
    };
    const std::vector<Given> given = {{of(4)}, {of(5)}, {{2, 4, 5}}, {{2}}};
    compare({"bilinear", given, [](const Tensors& x) { return square(bilinear(x[0], x[1], x[2], x[3])); }});
    compare({"bilinear without bias", {given.begin(), given.begin() + 3}, [](const Tensors& x) {
               return square(bilinear(x[0], x[1], x[2], {}));
             }});
  }
  compare(
      {"bilinear of itself", {{{3, 1}}, {{1, 1, 1}}}, [](const Tensors& x) { return bilinear(x[0], x[0], x[1], {}); }});
  compare(
      {"embedding", {{{5, 3}}}, [](const Tensors& x) { return square(embedding(whole({1, 4, 1, 0}, {2, 2}), x[0])); }});
  compare({"conv1d", {{{2, 4, 9}}, {{6, 2, 3}}, {{6}}}, [](const Tensors& x) {
             return conv1d(x[0], x[1], x[2], 2, {1, 1}, 2, 2);
           }});
  compare({"conv2d", {{{2, 3, 6, 7}}, {{4, 3, 3, 3}}, {{4}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], x[2], {1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
           }});
  // By tiles: odd sizes and borders, images alone and together, groups, few inputs and few outputs. Sums and differences of elements
  // enter products there: a few last bits more.
  compare({"conv2d by tiles",
           {{{2, 20, 13, 30}}, {{17, 20, 3, 3}}, {{17}}},
           [](const Tensors& x) { return conv2d(x[0], x[1], x[2], {1, 1}, {0, 0, 0, 0}, {1, 1}, 1); },
           true,
           0,
           3e-5});
  compare({"conv2d by tiles, unequal ends",
           {{{7, 16, 8, 9}}, {{48, 16, 3, 3}}},
           [](const Tensors& x) { return conv2d(x[0], x[1], {}, {1, 1}, {2, 1, 0, 1}, {1, 1}, 1); },
           true,
           0,
           3e-5});
  compare({"conv2d by tiles, groups",
           {{{5, 64, 7, 7}}, {{32, 32, 3, 3}}, {{32}}},
           [](const Tensors& x) { return conv2d(x[0], x[1], x[2], {1, 1}, {1, 1, 1, 1}, {1, 1}, 2); },
           true,
           0,
           3e-5});
  // Vectors of tiles of one line, of two and of four; lines of one image after another; and what is not of whole vectors.
  for (const Ints& size : std::vector<Ints>{
           {3, 9, 31}, {1, 8, 64}, {3, 16, 16}, {5, 8, 15}, {9, 8, 8}, {1, 8, 24}, {1, 26, 40}, {1, 40, 41}}) {
    compare({fmt::format("conv2d by tiles, [{}]", fmt::join(size, ", ")),
             {{{size[0], 17, size[1], size[2]}}, {{18, 17, 3, 3}}, {{18}}},
             [](const Tensors& x) { return conv2d(x[0], x[1], x[2], {1, 1}, {1, 1, 1, 1}, {1, 1}, 1); },
             true,
             0,
             3e-5});
  }
  compare({"conv2d of small images", {{{23, 3, 5, 4}}, {{4, 3, 2, 3}}, {{4}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], x[2], {2, 1}, {1, 1, 0, 1}, {1, 1}, 1);
           }});
  compare({"conv2d of unequal ends", {{{2, 3, 6, 7}}, {{4, 3, 2, 4}}, {{4}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], x[2], {1, 2}, {0, 1, 2, 1}, {2, 1}, 1);
           }});
  compare({"conv1d of unequal ends", {{{2, 4, 9}}, {{6, 4, 4}}, {{6}}}, [](const Tensors& x) {
             return conv1d(x[0], x[1], x[2], 1, {3, 0}, 1, 1);
           }});
  // Samples side by side: by strides, dilation, borders that no element of the kernel leaves, and part of a vector.
  compare({"conv2d of small images", {{{16, 64, 2, 2}}, {{70, 64, 3, 3}}, {{70}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], x[2], {1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
           }});
  compare({"conv2d of small images by steps", {{{33, 66, 4, 5}}, {{64, 66, 3, 2}}, {{64}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], x[2], {2, 3}, {1, 0, 2, 1}, {1, 2}, 1);
           }});
  compare({"conv2d of places that nothing meets", {{{16, 64, 1, 3}}, {{64, 64, 1, 1}}, {{64}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], x[2], {2, 2}, {1, 1, 0, 0}, {1, 1}, 1);
           }});
  compare({"conv2d without bias", {{{2, 4, 6, 7}}, {{4, 1, 3, 3}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], {}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 4);
           }});
  compare({"conv3d", {{{1, 2, 4, 5, 4}}, {{3, 2, 2, 2, 2}}, {{3}}}, [](const Tensors& x) {
             return conv3d(x[0], x[1], x[2], {1, 1, 1}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}, 1);
           }});
  compare({"conv3d of unequal ends", {{{2, 4, 3, 5, 4}}, {{6, 2, 2, 3, 2}}, {{6}}}, [](const Tensors& x) {
             return conv3d(x[0], x[1], x[2], {1, 2, 1}, {1, 0, 1, 1, 0, 1}, {1, 1, 2}, 2);
           }});
  compare({"conv3d of whole tiles",
           {{{2, 16, 2, 10, 10}}, {{16, 16, 3, 3, 3}}},
           [](const Tensors& x) { return conv3d(x[0], x[1], {}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}, 1); },
           true,
           0,
           3e-5});
  compare({"conv_transpose3d", {{{2, 4, 3, 2, 3}}, {{4, 2, 2, 3, 2}}, {{4}}}, [](const Tensors& x) {
             return conv_transpose3d(x[0], x[1], x[2], {2, 1, 2}, {1, 1, 0}, {1, 0, 0}, 2, {1, 1, 1});
           }});
  compare({"conv_transpose1d", {{{2, 4, 5}}, {{4, 3, 3}}, {{3}}}, [](const Tensors& x) {
             return conv_transpose1d(x[0], x[1], x[2], 2, 1, 1, 1, 1);
           }});
  compare({"conv_transpose2d", {{{2, 4, 3, 4}}, {{4, 2, 3, 3}}, {{4}}}, [](const Tensors& x) {
             return conv_transpose2d(x[0], x[1], x[2], {2, 2}, {1, 1}, {1, 1}, 2, {1, 1});
           }});
  compare({"max_pool", {{{2, 3, 7}}}, [](const Tensors& x) { return square(max_pool1d(x[0], 3, 2, 1, 1, false)); }});
  compare({"max_pool2d", {{{2, 3, 7, 6}}}, [](const Tensors& x) {
             return square(max_pool2d(x[0], {2, 3}, {2, 1}, {0, 1}, {1, 1}, false));
           }});
  compare({"max_pool2d of equal ones", {{{2, 3, 7, 6}, -2, 2}}, [](const Tensors& x) {
             return add(square(max_pool2d(round(x[0]), {2, 2}, {2, 2}, {0, 0}, {1, 1}, false)),
                        max_pool2d(x[0], {2, 2}, {2, 2}, {0, 0}, {1, 1}, false));
           }});
  for (const int64_t width : {2, 4, 9, 11, 26, 35, 70}) {
    compare({"max_pool2d of squares", {{{2, 2, 5, width}, -2, 2}}, [](const Tensors& x) {
               const Tensor ties = mul(x[0], gt(x[0], Scalar(0.0)));  // half of it is equal
               return square(max_pool2d(ties, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false));
             }});
  }
  // Windows by vectors: lines longer than one, every column or every second.
  for (const int64_t stride : {1, 2}) {
    for (const int64_t width : {5, 16, 33, 70}) {
      for (const int64_t reach : {1, 2, 3, 5}) {
        compare({"max_pool2d of lines", {{{2, 2, 7, width}, -2, 2}}, [=](const Tensors& x) {
                   const Tensor ties = mul(x[0], gt(x[0], Scalar(0.0)));
                   return square(max_pool2d(ties, {3, reach}, {2, stride}, {1, reach / 2}, {1, 1}, false));
                 }});
      }
    }
  }
  compare({"max_pool2d with borders", {{{2, 3, 7, 6}}}, [](const Tensors& x) {
             return square(max_pool2d(x[0], {3, 3}, {2, 2}, {1, 1}, {1, 1}, false));
           }});
  compare({"max_pool1d of pairs", {{{3, 2, 9}}}, [](const Tensors& x) {
             return square(max_pool1d(x[0], 2, 2, 0, 1, false));
           }});
  compare({"avg_pool", {{{2, 3, 7}}}, [](const Tensors& x) { return square(avg_pool1d(x[0], 3, 2, 1, true, false)); }});
  compare({"avg_pool2d", {{{2, 3, 7, 6}}}, [](const Tensors& x) {
             return square(avg_pool2d(x[0], {2, 3}, {2, 1}, {1, 0}, true, false));
           }});
  compare({"adaptive_avg_pool", {{{2, 3, 7}}}, [](const Tensors& x) { return square(adaptive_avg_pool1d(x[0], 3)); }});
  compare({"avg_pool2d of squares", {{{2, 3, 8, 40}}}, [](const Tensors& x) {
             return square(avg_pool2d(x[0], {2, 2}, {2, 2}, {0, 0}, true, false));
           }});
  compare({"adaptive_avg_pool2d of all", {{{2, 3, 7, 37}}}, [](const Tensors& x) {
             return square(adaptive_avg_pool2d(x[0], {1, 1}));
           }});
  compare({"adaptive_avg_pool2d of more", {{{2, 3, 3, 4}}}, [](const Tensors& x) {
             return square(adaptive_avg_pool2d(x[0], {5, 4}));
           }});
  // Windows beyond the end, elements that lie apart, borders that do not count.
  for (const int64_t width : {6, 7, 11, 34, 71}) {
    for (const int64_t stride : {2, 3}) {
      compare({"max_pool2d that rounds up", {{{2, 2, 8, width}, -2, 2}}, [=](const Tensors& x) {
                 const Tensor ties = mul(x[0], gt(x[0], Scalar(0.0)));
                 return square(max_pool2d(ties, {3, 2}, {2, stride}, {1, 1}, {1, 1}, true));
               }});
      for (const bool counts : {true, false}) {
        compare({"avg_pool2d that rounds up", {{{2, 2, 8, width}}}, [=](const Tensors& x) {
                   return square(avg_pool2d(x[0], {3, 2}, {2, stride}, {1, 1}, counts, true));
                 }});
        compare({"avg_pool1d that rounds up", {{{2, 3, width}}}, [=](const Tensors& x) {
                   return square(avg_pool1d(x[0], 4, stride, 2, counts, true));
                 }});
      }
    }
    compare({"max_pool1d that rounds up", {{{2, 3, width}}}, [](const Tensors& x) {
               return square(max_pool1d(x[0], 2, 2, 0, 1, true));
             }});
    compare({"max_pool2d with gaps", {{{2, 2, 8, width}}}, [](const Tensors& x) {
               return square(max_pool2d(x[0], {2, 3}, {1, 2}, {1, 1}, {3, 2}, false));
             }});
    compare({"max_pool1d with gaps that rounds up", {{{2, 3, width}}}, [](const Tensors& x) {
               return square(max_pool1d(x[0], 3, 2, 1, 2, true));
             }});
  }
  compare({"avg_pool2d without its border", {{{2, 3, 7, 6}}}, [](const Tensors& x) {
             return square(avg_pool2d(x[0], {2, 3}, {2, 1}, {1, 1}, false, false));
           }});
  compare({"adaptive_avg_pool2d", {{{2, 3, 7, 6}}}, [](const Tensors& x) {
             return square(adaptive_avg_pool2d(x[0], {3, 2}));
           }});
}

TEST_CASE("gradients of Einstein's sums are autograd's") {
  struct Sum {
    const char* pattern;
    std::vector<Ints> sizes;
  };
  const Sum sums[] = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
      {" b i j , b j k -> k i b ", {{2, 3, 4}, {2, 4, 5}}},
      {"ij,jk", {{2, 3}, {3, 4}}},
      {"ba,ac", {{2, 3}, {3, 4}}},
      {"i,j", {{2}, {3}}},
      {"i,i->", {{4}, {4}}},
      {",ij->ji", {{}, {2, 3}}},
      {"ij->", {{2, 3}}},
      {"bij->i", {{2, 3, 4}}},
      {"ij->ji", {{2, 3}}},
      {"ni,oij,nj->no", {{3, 4}, {2, 4, 5}, {3, 5}}},
      {"ab,bc,cd,da->", {{2, 3}, {3, 4}, {4, 5}, {5, 2}}},
      // A letter that only one has, and one of a single factor.
      {"ij,kl->il", {{2, 3}, {4, 5}}},
      {"ij,j->", {{2, 3}, {3}}},
      // Diagonals.
      {"ii", {{4, 4}}},
      {"ii->i", {{4, 4}}},
      {"iji->j", {{3, 2, 3}}},
      {"iii->i", {{3, 3, 3}}},
      {"iijj->ij", {{2, 2, 3, 3}}},
      {"ii,ij->j", {{3, 3}, {3, 2}}},
      {"iij,j->i", {{3, 3, 2}, {2}}},
      // Dots: of as many axes in each, of fewer, of sizes of 1, in the middle, and of none.
      {"...ij->...ji", {{2, 5, 3, 4}}},
      {"...ij,...jk->...ik", {{2, 3, 4}, {2, 4, 5}}},
      {"...ij,...jk->...ik", {{6, 2, 3, 4}, {2, 4, 5}}},
      {"...ij,...jk->...ik", {{2, 1, 3, 4}, {5, 4, 3}}},
      {"i...j,j->...i", {{2, 3, 5, 4}, {4}}},
      {"...i,...i", {{2, 3, 4}, {3, 4}}},
      {"...i,i->...i", {{3}, {3}}},
      {"a...,b...->ab", {{2, 3}, {4, 3}}},
      // Axes of 1 that go with larger ones.
      {"ij,jk->ik", {{2, 1}, {3, 4}}},
      {"ij,ij->ij", {{2, 1}, {1, 3}}},
      {"ij,ij->i", {{2, 3}, {2, 1}}},
      {"ij,j->", {{2, 3}, {1}}},
      // Nothing.
      {"ij,jk->ik", {{2, 0}, {0, 4}}},
      {"ij,jk->ik", {{0, 3}, {3, 4}}},
      {"ij,j->j", {{0, 3}, {3}}},
  };
  for (const Sum& sum : sums) {
    std::vector<Given> given;
    for (const Ints& sizes : sum.sizes) given.push_back({sizes});
    compare({sum.pattern, given, [&](const Tensors& x) { return square(einsum(sum.pattern, x)); }});
  }
  compare({"the same factors", {{{3, 3}}}, [](const Tensors& x) { return einsum("ij,jk,ki->", {x[0], x[0], x[0]}); }});
  compare({"a factor without gradient", {{{2, 3}}}, [](const Tensors& x) {
             return einsum("ij,kj->ik", {stop_grad(x[0]), x[0]});
           }});
}

TEST_CASE("gradients of attention are autograd's") {
  const std::vector<Given> heads = {{{2, 4, 5, 6}}, {{2, 4, 5, 6}}, {{2, 4, 5, 6}}},
                           shared = {{{2, 4, 5, 6}}, {{2, 2, 5, 6}}, {{2, 2, 5, 6}}};
  const Tensor sees = give(at::ones({5, 5}, at::kBool).tril(1));
  for (const auto& given : {heads, shared}) {
    compare({"attention", given, [](const Tensors& x) { return attention(x[0], x[1], x[2], {}, false, 0, {}); }});
    compare({"causal", given, [](const Tensors& x) { return attention(x[0], x[1], x[2], {}, true, 0, 0.3); }});
    compare({"dropped", given, [](const Tensors& x) { return attention(x[0], x[1], x[2], {}, true, 0.3, {}); }});
  }
  compare({"masked", heads, [sees](const Tensors& x) { return attention(x[0], x[1], x[2], sees, false, 0, {}); }});
  compare({"biased", heads, [](const Tensors& x) {
             const Tensor added = floats(at::linspace(-1, 1, 25).reshape({5, 5}));
             return attention(x[0], x[1], x[2], added, true, 0, {});
           }});
  // A mask that is a weight, of all heads, of each, of each place and of everything; autograd takes another way through LibTorch.
  for (const Ints& sizes : std::vector<Ints>{{5, 5}, {4, 5, 5}, {2, 1, 1, 5}, {2, 4, 5, 5}}) {
    for (const auto& [causal, dropped] : {std::pair(false, 0.0), {true, 0.0}, {false, 0.3}}) {
      std::vector<Given> given = sizes.size() == 3 ? shared : heads;
      given.push_back({sizes});
      compare({"attention with a trained mask", given,
               [=](const Tensors& x) { return attention(x[0], x[1], x[2], x[3], causal, dropped, 0.4); }, true, 1e-14});
    }
  }
  // Padding: what a record sees is a row of it, which all heads and places share; the last record sees nothing of some rows.
  const Tensor words = give(at::tensor({1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, at::kLong).reshape({2, 1, 1, 5}).gt(0));
  const Tensor corner = give(at::arange(50).reshape({2, 1, 5, 5}).ge(12));
  for (const auto& given : {heads, shared}) {
    for (const double dropped : {0.0, 0.3}) {
      compare(
          {"padded", given, [=](const Tensors& x) { return attention(x[0], x[1], x[2], words, false, dropped, {}); }});
      compare({"causal and padded", given,
               [=](const Tensors& x) { return attention(x[0], x[1], x[2], words, true, dropped, {}); }});
      compare({"nothing seen", given,
               [=](const Tensors& x) { return attention(x[0], x[1], x[2], corner, false, dropped, {}); }});
    }
  }
  compare({"masked by column", heads, [](const Tensors& x) {
             const Tensor added = floats(at::linspace(-1, 1, 10).reshape({2, 1, 5, 1}));
             return attention(x[0], x[1], x[2], added, true, 0, {});
           }});
  // Learned queries, which all records share, and heads that lie across.
  compare({"queries of all", {{{3, 2, 7, 4}}, {{1, 2, 5, 4}}}, [](const Tensors& x) {
             const Tensor keys = transpose(transpose(x[0], 2, 3), 2, 3), across = flip(transpose(x[0], 1, 2), {1});
             return attention(expand(x[1], {3, 2, 5, 4}), keys, transpose(across, 1, 2), {}, false, 0, {});
           }});
  compare({"rope", {{{2, 3, 5, 6}}}, [](const Tensors& x) { return square(rope(x[0], 100, 2)); }});
}

TEST_CASE("gradients of norms are autograd's") {
  const std::vector<Given> rows = {{{2, 3, 6}}, {{6}}, {{6}}}, images = {{{3, 4, 2, 3}}, {{4}}, {{4}}};
  compare({"layer_norm", rows, [](const Tensors& x) { return square(layer_norm(x[0], x[1], x[2], 1e-5)); }});
  compare({"layer_norm alone", {{{2, 3, 6}}}, [](const Tensors& x) { return square(layer_norm(x[0], {}, {}, 1e-5)); }});
  compare({"layer_norm with a bias", {{{2, 3, 6}}, {{6}}}, [](const Tensors& x) {
             return square(layer_norm(x[0], {}, x[1], 1e-5));
           }});
  compare({"group_norm alone", {{{3, 4, 2, 3}}}, [](const Tensors& x) {
             return square(group_norm(x[0], 2, {}, {}, 1e-5));
           }});
  const std::vector<Given> added = {{{3, 4, 2, 3}}, {{4}}};
  compare(
      {"group_norm with a bias", added, [](const Tensors& x) { return square(group_norm(x[0], 2, {}, x[1], 1e-5)); }});
  compare({"group_norm by columns of weights", {{{3, 4, 2, 3}}, {{4, 2}}}, [](const Tensors& x) {
             return square(group_norm(x[0], 2, select(x[1], 1, 1), select(x[1], 1, 0), 1e-5));
           }});
  compare({"instance_norm with a bias", added,
           [](const Tensors& x) { return square(instance_norm(x[0], {}, x[1], 1e-5)); }});
  compare({"rms_norm", {{{2, 3, 6}}, {{6}}}, [](const Tensors& x) { return square(rms_norm(x[0], x[1], 1e-6)); }});
  compare({"rms_norm alone", {{{2, 3, 6}}}, [](const Tensors& x) { return square(rms_norm(x[0], {}, {})); }});
  compare({"group_norm", images, [](const Tensors& x) { return square(group_norm(x[0], 2, x[1], x[2], 1e-5)); }});
  compare({"instance_norm", images, [](const Tensors& x) { return square(instance_norm(x[0], x[1], x[2], 1e-5)); }});
  compare({"group_norm of rows", {{{5, 12}}, {{12}}, {{12}}}, [](const Tensors& x) {
             return square(group_norm(x[0], 3, x[1], x[2], 1e-5));
           }});
  compare({"group_norm of planes far from 0", {{{2, 4, 20, 33}, 3, 5}, {{4}}, {{4}}}, [](const Tensors& x) {
             return mul(group_norm(x[0], 2, x[1], x[2], 1e-5), Scalar(0.001));
           }});
  // Of five elements that lie close together LibTorch's gradient is 2e-5 off in f32 without vectors, the plan's 4e-6: it subtracts
  // the mean from sums of products, not from the elements.
  compare({"instance_norm alone",
           {{{3, 4, 5}}},
           [](const Tensors& x) { return square(instance_norm(x[0], {}, {}, 1e-5)); },
           true,
           0,
           3e-5});
  for (const auto& sizes : std::vector<Ints>{{7, 70}, {5, 3, 17}, {3, 2, 3, 20}}) {
    for (const bool trains : {true, false}) {
      compare({"batch_norm",
               {{sizes, -1, 3}, {{sizes[1]}}, {{sizes[1]}}},
               [](const Tensors& x) {
                 const auto buffer = [&](double value) {
                   return floats(at::full({In(x[0])->size(1)}, value, at::kDouble));
                 };
                 const auto normed = [&](const Tensor& y, const Tensor& weight, const Tensor& bias) {
                   return batch_norm(y, weight, bias, buffer(0.1), buffer(0.9), give(at::zeros({}, at::kLong)), 0.1,
                                     1e-5);
                 };
                 return add(relu(normed(x[0], x[1], x[2])), normed(square(x[0]), {}, {}));
               },
               trains});
    }
  }
  for (const bool trains : {true, false}) {
    compare({"batch_norm", images,
             [](const Tensors& x) {
               const auto buffer = [](double value) { return floats(at::full({4}, value, at::kDouble)); };
               return square(
                   batch_norm(x[0], x[1], x[2], buffer(0.1), buffer(0.9), give(at::zeros({}, at::kLong)), 0.1, 1e-5));
             },
             trains});
  }
}

TEST_CASE("gradients of batch norm are autograd's, with a bias alone and of images that lie across") {
  const auto normed = [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const auto buffer = [&](double value) { return floats(at::full({In(x)->size(1)}, value, at::kDouble)); };
    return batch_norm(x, weight, bias, buffer(0.1), buffer(0.9), give(at::zeros({}, at::kLong)), 0.1, 1e-5);
  };
  for (const bool trains : {true, false}) {
    compare(
        {"bias", {{{3, 4, 2, 3}}, {{4}}}, [&](const Tensors& x) { return square(normed(x[0], {}, x[1])); }, trains});
    // Of an axis of 1 the stride says nothing, and LibTorch takes it for one order here and for another one there.
    for (const Ints& sizes : std::vector<Ints>{{3, 6, 4, 1}, {3, 1, 4, 6}}) {
      const std::vector<Given> given = {{sizes}, {{4}}, {{4}}, {{3, 4, sizes[1], sizes[3]}}};
      compare({"across", given, [&](const Tensors& x) { return mul(normed(transpose(x[0], 1, 2), x[1], x[2]), x[3]); },
               trains});
      compare({"instances", {given.front(), given.back()}, [&](const Tensors& x) {
                 const Tensor y =
                     permute(instance_norm(reshape(x[0], In(x[1])->sizes().vec()), {}, {}, 1e-2), {2, 0, 3, 1});
                 return mul(y, reshape(x[1], In(y)->sizes().vec()));
               }});
      compare({"behind", given,
               [&](const Tensors& x) {
                 return mul(transpose(normed(reshape(x[0], In(x[3])->sizes().vec()), x[1], x[2]), 1, 2),
                            reshape(x[3], In(x[0])->sizes().vec()));
               },
               trains});
    }
  }
}

TEST_CASE("gradients of recurrent layers are autograd's") {
  const std::vector<Given> lstm_given = {{{2, 5, 3}}, {{2, 4}}, {{2, 4}}, {{16, 3}}, {{16, 4}}, {{16}}, {{16}}};
  const std::vector<Given> gru_given = {{{2, 5, 3}}, {{2, 4}}, {{12, 3}}, {{12, 4}}, {{12}}, {{12}}};
  // LibTorch fuses other ops where no gradient is asked for.
  constexpr double kLastBits = 1e-14;
  for (const bool reverse : {false, true}) {
    compare({"lstm", lstm_given,
             [=](const Tensors& x) {
               const auto [y, h, c] = lstm(x[0], x[1], x[2], x[3], x[4], x[5], x[6], reverse);
               return cat({flatten(y, 0, -1), flatten(mul(h, c), 0, -1)}, 0);
             },
             true, kLastBits});
    compare({"lstm of many units",
             {{{5, 3, 9}}, {{5, 21}}, {{5, 21}}, {{84, 9}, -0.3, 0.3}, {{84, 21}, -0.3, 0.3}, {{84}}, {{84}}},
             [=](const Tensors& x) {
               const auto [y, h, c] = lstm(x[0], x[1], x[2], x[3], x[4], x[5], x[6], reverse);
               const auto [z, last, cell] = lstm(y, h, c, slice(x[4], 1, {}, 21), x[4], {}, {}, !reverse);
               return add(mul(c, last), mul(h, select(z, 1, 1)));
             },
             true,
             kLastBits});
    compare({"gru of many units",
             {{{5, 3, 9}}, {{5, 21}}, {{63, 9}, -0.3, 0.3}, {{63, 21}, -0.3, 0.3}},
             [=](const Tensors& x) {
               const auto [y, h] = gru(x[0], x[1], x[2], x[3], {}, {}, reverse);
               return mul(std::get<1>(gru(y, h, x[3], x[3], {}, {}, !reverse)), select(y, 1, 1));
             },
             true,
             kLastBits});
    compare({"lstm without biases",
             {lstm_given.begin(), lstm_given.begin() + 5},
             [=](const Tensors& x) { return std::get<0>(lstm(x[0], x[1], x[2], x[3], x[4], {}, {}, reverse)); },
             true,
             kLastBits});
    const std::vector<Given> rnn_given = {{{2, 5, 3}}, {{2, 4}}, {{4, 3}}, {{4, 4}}, {{4}}, {{4}}};
    for (const char* form : {"tanh", "relu"}) {
      const bool bends = Str(form) == "relu";
      compare({"rnn", rnn_given,
               [=](const Tensors& x) {
                 const auto [y, h] = rnn(x[0], x[1], x[2], x[3], x[4], x[5], form, reverse);
                 return cat({flatten(y, 0, -1), flatten(square(h), 0, -1)}, 0);
               },
               true, kLastBits, 1e-5, bends});
      compare({"rnn without biases",
               {rnn_given.begin(), rnn_given.begin() + 4},
               [=](const Tensors& x) { return std::get<0>(rnn(x[0], x[1], x[2], x[3], {}, {}, form, reverse)); },
               true,
               kLastBits,
               1e-5,
               bends});
      compare({"the last of an rnn of one moment",
               {{{1, 1, 3}}, {{1, 1}}, {{1, 3}}, {{1, 1}}},
               [=](const Tensors& x) { return std::get<1>(rnn(x[0], x[1], x[2], x[3], {}, {}, form, reverse)); },
               true,
               kLastBits,
               1e-5,
               bends});
    }
    compare({"gru", gru_given,
             [=](const Tensors& x) {
               const auto [y, h] = gru(x[0], x[1], x[2], x[3], x[4], x[5], reverse);
               return cat({flatten(y, 0, -1), flatten(h, 0, -1)}, 0);
             },
             true, kLastBits});
  }
}

TEST_CASE("a gradient of a table may be sums for the rows that were read") {
  const PolicyScope floats(at::kFloat);
  const Case one{"embedding", {{{50, 3}}}, [](const Tensors& x) {
                   return square(embedding(whole({7, 49, 7, 0, 49, 7}, {2, 3}), x[0]));
                 }};
  Recorded of = recorded(one, 3, at::kFloat);
  const Reference reference = referred(of, at::kFloat, 1);
  const ValueId gradient = of.gradients[0];
  CpuPlan plan(of.graph, of.constants, {{0, of.graph.nodes.size(), {gradient}}}, 1, 2, std::make_shared<Arena>(),
               {gradient});
  for (int round = 0; round < 2; ++round) {
    plan.begin(1);
    plan.set(of.ids[0], of.inputs[0]);
    plan.set(of.seed_id, give(at::ones({}, at::kFloat)));
    REQUIRE(plan.run(0));
    const at::Tensor found = plan.view(gradient);
    CHECK(found.is_sparse());
    CHECK(found._values().size(0) == 3);
    CHECK(at::equal(found.to_dense(), aten(reference.value(gradient)).detach()));
    plan.end();
  }
}

}  // namespace ltr::plan::gradient_test
