// What a plan for a CPU computes itself, forth and back: functions that are made of others, or came late to kernels. That they give what
// the reference gives is tested where their gradients are.

#include "runtime/plan/gradient_test.h"

namespace ltr::plan::gradient_test {

namespace {

void check_kernels(const Case& one) {
  CAPTURE(one.title);
  const PolicyScope floats(at::kFloat);
  const ModeScope mode(one.trains, true);
  const uint64_t key = random_key(1, "kernels", {});
  seed_random(key);
  Recorded of = recorded(one, 1, at::kFloat);
  static_cast<void>(referred(of, at::kFloat, key));
  std::vector<ValueId> results{of.loss_id};
  for (const ValueId id : of.gradients) {
    if (id != kNone) results.push_back(id);
  }
  const CpuPlan plan(of.graph, of.constants, {{0, of.graph.nodes.size(), results}}, one.given[0].sizes[0], 2);
  CAPTURE(plan.text());
  CHECK(plan.text().find("  LibTorch ") == Str::npos);
}

}  // namespace

TEST_CASE("products of every kind have kernels") {
  for (const char* pattern : {"bti,bsi->bts", "ij,jk,kl->il", "ii->i", "bij->bji", "bhtd,bhsd->bhts", "i,j->ij"}) {
    const Str text(pattern);
    std::vector<Given> given;
    for (size_t at = 0; at < text.find("->");) {
      const size_t end = std::min(text.find(',', at), text.find("->"));
      given.push_back({Ints(end - at, 4)});
      at = end + 1;
    }
    check_kernels({text, given, [=](const Tensors& x) { return einsum(text, x); }});
  }
  check_kernels({"bilinear", {{{5, 3}}, {{5, 4}}, {{2, 3, 4}}, {{2}}}, [](const Tensors& x) {
                   return bilinear(x[0], x[1], x[2], x[3]);
                 }});
  check_kernels({"conv3d", {{{2, 4, 3, 5, 4}}, {{6, 2, 2, 3, 2}}, {{6}}}, [](const Tensors& x) {
                   return conv3d(x[0], x[1], x[2], {1, 2, 1}, {1, 0, 1, 1, 0, 1}, {1, 1, 2}, 2);
                 }});
  check_kernels({"conv_transpose3d", {{{2, 4, 3, 2, 3}}, {{4, 2, 2, 3, 2}}, {{4}}}, [](const Tensors& x) {
                   return conv_transpose3d(x[0], x[1], x[2], {2, 1, 2}, {1, 1, 0}, {1, 0, 0}, 2, {1, 1, 1});
                 }});
  for (const char* form : {"tanh", "relu"}) {
    check_kernels({"rnn", {{{4, 5, 3}}, {{4, 6}}, {{6, 3}}, {{6, 6}}, {{6}}, {{6}}}, [=](const Tensors& x) {
                     return std::get<0>(rnn(x[0], x[1], x[2], x[3], x[4], x[5], form, false));
                   }});
  }
}

TEST_CASE("products of few columns are those by panels, to the last digit") {
  const kernels::ProductKernel& kernel = kernels::product_kernel();
  at::manual_seed(1);
  for (int64_t columns = 1; columns <= kernel.few; ++columns) {
    for (const auto& [rows, depth] : {std::pair<int64_t, int64_t>{1, 1}, {5, 7}, {16, 16}, {64, 64}, {33, 70}}) {
      for (const bool is_turned : {false, true}) {
        CAPTURE(fmt::format("[{}, {}] x [{}, {}], turned: {}", rows, depth, depth, columns, is_turned));
        const at::Tensor left = at::randn({rows, depth + 3}), bias = at::randn({columns});
        const at::Tensor right = is_turned ? at::randn({columns, depth}).t() : at::randn({depth, columns});
        const at::Tensor panel = at::zeros({depth, kernel.width});
        const kernels::Matrix of_right{right.const_data_ptr<float>(), right.stride(0), right.stride(1)};
        kernel.pack(of_right, depth, columns, panel.data_ptr<float>());
        kernels::PanelProduct product;
        product.left = {left.const_data_ptr<float>(), depth + 3, 1};
        product.rows = rows;
        product.depth = depth;
        product.columns = columns;
        product.out_row = columns + 2;
        product.bias = bias.const_data_ptr<float>();
        const at::Tensor wanted = at::zeros({rows, columns + 2}), found = at::zeros({rows, columns + 2});
        for (const bool adds : {false, true}) {
          product.adds = adds;
          product.panel = panel.const_data_ptr<float>();
          product.out = wanted.data_ptr<float>();
          kernel.multiply(product);
          product.panel = nullptr;
          product.out = found.data_ptr<float>();
          kernel.multiply_few(product, of_right);
          CHECK(at::equal(found, wanted));
        }
      }
    }
  }
}

TEST_CASE("losses of pairs, overlaps and sequences have kernels") {
  const std::vector<Given> rows = {{{4, 3}, 0.1, 0.9}, {{4, 3}, 0.1, 0.9}, {{4, 3}, 0.1, 0.9}};
  check_kernels({"dice", {rows[0], rows[1]}, [](const Tensors& x) { return dice(x[0], x[1], 1); }});
  check_kernels({"contrastive", {rows[0], rows[1]}, [](const Tensors& x) { return contrastive(x[0], x[1], 0.1); }});
  check_kernels({"cosine_embedding", {rows[0], rows[1]}, [](const Tensors& x) {
                   return cosine_embedding(x[0], x[1], floats(at::tensor({1., -1., 1., -1.})), 0.1, "mean");
                 }});
  check_kernels({"triplet_margin", rows, [](const Tensors& x) { return triplet_margin(x[0], x[1], x[2], 1, "mean"); }});
  check_kernels({"ctc", {{{6, 2, 4}, -2, 2}}, [](const Tensors& x) {
                   return square(ctc_each(log_softmax(x[0], 2), whole({1, 2, 3, 2, 2, 1}, {2, 3}), whole({6, 6}, {2}),
                                          whole({3, 3}, {2}), 0, false));
                 }});
}

TEST_CASE("what goes on along an axis has kernels") {
  for (const int64_t dim : {0, 1, 2}) {
    const std::vector<Given> given = {{{3, 4, 5}, 0.5, 2}};
    check_kernels({"cumsum", given, [=](const Tensors& x) { return cumsum(x[0], dim); }});
    check_kernels({"cumprod", given, [=](const Tensors& x) { return cumprod(x[0], dim); }});
    check_kernels({"logcumsumexp", given, [=](const Tensors& x) { return logcumsumexp(x[0], dim); }});
  }
}

TEST_CASE("what is left by a quotient, and norms of any power, have kernels") {
  const std::vector<Given> given = {{{3, 4}, -5, 5}, {{3, 4}, 0.5, 2}};
  check_kernels({"remainder", given, [](const Tensors& x) {
                   return add(remainder(x[0], x[1]), remainder(Scalar(1.5), add(x[1], remainder(x[0], Scalar(-0.7)))));
                 }});
  check_kernels(
      {"norm", given, [](const Tensors& x) { return add(norm(x[0], 3, 1, false), norm(x[1], 0.5, 1, false)); }});
  compare({"remainder of whole numbers", {{{4, 3}}}, [](const Tensors& x) {
             return mul(x[0], to(remainder(whole({-7, -3, 0, 3, 4, 7, 8, -9, 1, 2, -1, 6}, {4, 3}), Scalar(int64_t(3))),
                                 DType::F32));
           }});
}

TEST_CASE("numbers of other types have kernels") {
  compare({"doubles", {{{4, 3}}}, [](const Tensors& x) {
             const Tensor wide = to(stop_grad(x[0]), DType::F64), all = sum(wide, {}, false);
             const Tensor rest = sub(div(add(sum(wide, 1, false), Scalar(2.0)), Scalar(3.0)), all);
             return mul(x[0], to(mul(sum(mul(rest, rest), {}, false), tensor_of(0.25, DType::F64)), DType::F32));
           }});
  compare({"whole numbers", {{{4, 3}}}, [](const Tensors& x) {
             const Tensor large = gt(stop_grad(x[0]), Scalar(0.0));
             const Tensor counts = add(sum(large, 0, false), full({3}, Scalar(int64_t(2))));
             const Tensor many = mul(to(mul(stop_grad(x[0]), Scalar(10.0)), DType::I64), counts);
             return mul(x[0], to(add(many, tensor_of(Ints{1, 2, 3}, DType::I64)), DType::F32));
           }});
  check_kernels({"of sums", {{{4, 3}}}, [](const Tensors& x) {
                   const Tensor all = sum(to(stop_grad(x[0]), DType::F64), {}, false);
                   const Tensor wide = mul(add(all, Scalar(1.0)), tensor_of(0.5, DType::F64));
                   const Tensor count = sum(gt(stop_grad(x[0]), Scalar(0.0)), {}, false);
                   return mul(x[0], mul(to(wide, DType::F32), to(add(count, Scalar(int64_t(1))), DType::F32)));
                 }});
}

}  // namespace ltr::plan::gradient_test
