// What each pass of a plan for CPUs makes of small graphs: text before, text after.

#include <doctest/doctest.h>

#include "runtime/plan/cpu/cpu_plan.h"
#include "runtime/plan/cpu/place.h"

namespace ltr::plan {

namespace {

/// The layouts of views, a line for each node that is one.
Str views_text(const Graph& graph) {
  std::deque<Layout> layouts;
  for (ValueId id = 0; id < graph.values.size(); ++id) layouts.push_back(dense(id, graph.values[id].sizes));
  Str text;
  for (const Node& node : graph.nodes) {
    const Option<std::vector<Layout>> views = views_of(node, graph, layouts);
    if (!views) continue;
    for (size_t i = 0; i < node.results.size(); ++i) {
      const Layout& view = layouts[node.results[i]] = (*views)[i];
      text += fmt::format("%{} = %{} + {} by [{}]\n", node.results[i], view.root, view.offset,
                          fmt::join(view.strides, ", "));
    }
  }
  return text;
}

Str items_text(const Lowering& lowering, const std::vector<Item>& items) {
  Str text;
  for (const Item& item : items) {
    if (item.node) {
      text += fmt::format("LibTorch {}\n", name_of(lowering.graph().nodes[*item.node].op));
    } else if (item.point) {
      text += make_point_call(*item.point, lowering.elements(), lowering.samples(), {}).kernel->text() + "\n";
    } else {
      text += item.call.kernel->text() + "\n";
    }
  }
  return text;
}

/// Before and behind `fuse`.
std::pair<Str, Str> fused(const char* text, int64_t samples) {
  const Graph graph = graph_of(text);
  Lowering lowering(graph, {}, samples, {}, false);
  std::vector<Item> items = lowering.lower(0, graph.nodes.size());
  const Str before = items_text(lowering, items);
  fuse(items);
  return {before, items_text(lowering, items)};
}

/// Without the places of a program, which graphs in text do not have; and without reasons where nobody asks for them.
Str plan_text(const CpuPlan& plan, bool wants_reasons) {
  Str lines;
  const Str all = plan.text();
  for (std::string_view rest = all; !rest.empty();) {
    const size_t end = rest.find('\n');
    Str line(rest.substr(2, end - 2));
    if (const size_t place = line.find(":0 "); place != Str::npos) {
      const size_t what = line.find_first_not_of(' ', place + 2);
      line = line.substr(0, line.find(' ')) + " " + line.substr(what);
    }
    if (!wants_reasons) line = line.substr(0, line.find(" ("));
    lines += line + "\n";
    rest.remove_prefix(end + 1);
  }
  return lines;
}
Str planned_text(std::string_view text, int64_t samples, int threads, std::set<ValueId> of_tables = {},
                 bool wants_reasons = false) {
  const Graph graph = graph_of(text);
  return plan_text(CpuPlan(graph, {}, {{0, graph.nodes.size(), graph.outputs}}, samples, threads,
                           std::make_shared<Arena>(), std::move(of_tables)),
                   wants_reasons);
}
/// The reasons of the plan's last call.
Str reasons(std::string_view text, int64_t samples, std::set<ValueId> of_tables = {}) {
  Str line = planned_text(text, samples, 2, std::move(of_tables), true);
  line.pop_back();
  line = line.substr(line.rfind('\n') + 1);
  const size_t at = line.find(" (");
  return at == Str::npos ? "" : line.substr(at + 2, line.size() - at - 3);
}

}  // namespace

TEST_CASE("views are strides of what they show") {
  CHECK(views_text(graph_of("%0 : f32[4, 6, 5] = input x\n"
                            "%1 : f32[4, 5, 6] = transpose(%0, 1, -1)\n"
                            "%2 : f32[4, 2, 6] = slice(%1, 1, 2, 4)\n"
                            "%3 : f32[6, 4, 2] = permute(%2, [2, 0, 1])\n"
                            "%4 : f32[4, 2] = select(%3, 0, -1)\n"
                            "%5 : f32[3, 4, 2] = expand(%4, [3, 4, 2])\n"
                            "%6 : f32[24, 5] = reshape(%0, [24, 5])\n"
                            "%7 : f32[4, 1, 30] = reshape(%0, [4, 1, 30])\n"
                            "%8 : f32[30, 4] = reshape(%1, [30, 4])\n"
                            "%9 : f32[4, 2, 5], %10 : f32[4, 4, 5] = split(%0, [2, 4], 1)\n"
                            "%11 : f32[4, 6, 5] = clone(%0)\n"
                            "%12 : f32[4, 6, 5] = exp(%0)\n"
                            "%13 : f32[4, 6, 5] = clone(%12)\n")) ==
        "%1 = %0 + 0 by [30, 1, 5]\n"
        "%2 = %0 + 2 by [30, 1, 5]\n"
        "%3 = %0 + 2 by [5, 30, 1]\n"
        "%4 = %0 + 27 by [30, 1]\n"
        "%5 = %0 + 27 by [0, 30, 1]\n"
        "%6 = %0 + 0 by [5, 1]\n"
        "%7 = %0 + 0 by [30, 30, 1]\n"
        "%9 = %0 + 0 by [30, 5, 1]\n"
        "%10 = %0 + 10 by [30, 5, 1]\n"
        "%13 = %12 + 0 by [30, 5, 1]\n");
}

TEST_CASE("fuse joins functions of elements with those whose results they read") {
  const auto [before, behind] = fused(
      "%0 : f32[8, 40] = input x\n"
      "%1 : f32[40] = weight w\n"
      "%2 : f32[8, 40] = mul(%0, %1)\n"
      "%3 : f32[8, 40] = relu(%2)\n"
      "%4 : f32[8, 40] = add(%3, %0)\n"
      "%5 : f32[8, 40] = add(%4, %2)\n",
      8);
  CHECK(before ==
        "[8, 40] mul\n"
        "[8, 40] relu\n"
        "[8, 40] add\n"
        "[8, 40] add\n");
  CHECK(behind == "[8, 40] mul relu add add\n");
}

TEST_CASE("fuse leaves apart what reads otherwise, has other sizes or stands behind what may write") {
  const auto [before, behind] = fused(
      "%0 : f32[8, 8] = input x\n"
      "%1 : f32[8, 8] = exp(%0)\n"
      "%2 : f32[8, 8] = transpose(%1, 0, 1)\n"
      "%3 : f32[8, 8] = relu(%2)\n"
      "%4 : f32[64] = reshape(%1, [64])\n"
      "%5 : f32[64] = neg(%4)\n"
      "%6 : f32[8, 8] = ranks(%3)\n"
      "%7 : f32[8, 8] = square(%1)\n"
      "%8 : f32[8, 8] = sqrt(%7)\n",
      8);
  CHECK(before ==
        "[8, 8] exp\n"
        "[8, 8] relu\n"
        "[64] neg\n"
        "LibTorch ranks\n"
        "[8, 8] square\n"
        "[8, 8] sqrt\n");
  CHECK(behind ==
        "[8, 8] exp\n"
        "[8, 8] relu\n"
        "[64] neg\n"
        "LibTorch ranks\n"
        "[8, 8] square sqrt\n");
}

TEST_CASE("the gradient of relu is one step") {
  CHECK(planned_text("%0 : f32[8, 4] = input x\n"
                     "%1 : f32[8, 4] = input y\n"
                     "%2 : bool[8, 4] = gt_number(%0, 0)\n"
                     "%3 : f32[8, 4] = where_number(%2, %1, 0)\n"
                     "return %3\n",
                     8, 1) == "samples [8, 4] where_positive\n");
}

TEST_CASE("what nobody reads is neither computed nor stored") {
  const char* const text =
      "%0 : f32[8, 40] = input x\n"
      "%1 : f32[8, 40] = exp(%0)\n"
      "%2 : f32[8, 40] = neg(%1)\n"
      "%3 : f32[8, 40] = softmax(%2, 1)\n"
      "%4 : f32[8] = sum(%3, 1, false)\n";
  CHECK(planned_text((Str(text) + "return %4\n").c_str(), 8, 2) ==
        "samples [8, 40] exp neg\n"
        "samples [8, 40] softmax\n"
        "samples [8, 40] sums\n");
  CHECK(planned_text((Str(text) + "return %3\n").c_str(), 8, 2) ==
        "samples [8, 40] exp neg\n"
        "samples [8, 40] softmax\n");
  CHECK(planned_text((Str(text) + "return %2\n").c_str(), 8, 2) == "samples [8, 40] exp neg\n");
  CHECK(planned_text((Str(text) + "return %0\n").c_str(), 8, 2) == "");
}

TEST_CASE("threads meet where samples mix, and what waits for nothing runs ahead") {
  CHECK(planned_text("%0 : f32[64, 100] = input x\n"
                     "%1 : f32[200, 100] = weight w\n"
                     "%2 : f32[10, 200] = weight v\n"
                     "%3 : f32[64, 200] = linear(%0, %1, undefined)\n"
                     "%4 : f32[64, 200] = relu(%3)\n"
                     "%5 : f32[200] = sum(%4, 0, false)\n"
                     "%6 : f32[64, 200] = mul(%4, %5)\n"
                     "%7 : f32[64, 10] = linear(%4, %2, undefined)\n"
                     "%8 : f32[64, 10] = softmax(%7, 1)\n"
                     "%9 : f32[64, 1, 200] = unsqueeze(%6, 1)\n"
                     "%10 : f32[64, 1, 200] = ranks(%9)\n"
                     "return %10, %8\n",
                     64, 2) ==
        "shares [100, 200] pack\n"
        "shares [200, 10] pack\n"
        "threads meet\n"
        "samples [64, 100] x [100, 200] product\n"
        "samples [64, 200] relu\n"
        "samples [64, 200] x [200, 10] product\n"
        "samples [64, 10] softmax\n"
        "threads meet\n"
        "shares [64, 200] sum\n"
        "threads meet\n"
        "samples [64, 200] mul\n"
        "threads meet\n"
        "LibTorch ranks: no kernel computes it\n");
}

TEST_CASE("calls by samples are chains of as many samples as stay in a cache") {
  const char* const text =
      "%0 : f32[64, 4000] = input x\n"
      "%1 : f32[64, 4000] = softmax(%0, 1)\n"
      "%2 : f32[64, 4000] = layer_norm(%1, undefined, undefined, 0.1)\n"
      "return %2\n";
  CHECK(planned_text(text, 64, 2) ==
        "10 samples at a time:\n"
        "samples [64, 4000] softmax\n"
        "samples [64, 4000] layer_norm\n");
  // Of other batches its rows are no samples.
  CHECK(planned_text(text, 6, 2) ==
        "shares [64, 4000] softmax\n"
        "threads meet\n"
        "shares [64, 4000] layer_norm\n");
}

TEST_CASE("who does a call hangs on what it mixes and how much it is") {
  CHECK(planned_text("%0 : f32[6, 3] = input x\n"
                     "%1 : f32[5, 7] = weight small\n"
                     "%2 : f32[500, 70] = weight large\n"
                     "%3 : f32[6, 3] = exp(%0)\n"
                     "%4 : f32[5, 7] = exp(%1)\n"
                     "%5 : f32[500, 70] = exp(%2)\n"
                     "return %3, %4, %5\n",
                     6, 2) ==
        "samples [6, 3] exp\n"
        "alone [5, 7] exp\n"
        "shares [500, 70] exp\n");
}

TEST_CASE("what threads prepare together comes first, so that samples go on to the end") {
  CHECK(planned_text("%0 : f32[6, 3] = input x\n"
                     "%1 : f32[3, 5] = weight first\n"
                     "%2 : f32[5, 4] = weight second\n"
                     "%3 : f32[6, 3] = exp(%0)\n"
                     "%4 : f32[6, 5] = matmul(%3, %1)\n"
                     "%5 : f32[6, 4] = matmul(%4, %2)\n"
                     "return %5\n",
                     6, 2) ==
        "shares [3, 5] pack\n"
        "threads meet\n"
        "samples [6, 3] exp\n"
        "samples [6, 3] x [3, 5] product\n"
        "samples [6, 5] x [5, 4] product\n");
}

TEST_CASE("the gradient of a table is sums for its rows where these are enough") {
  const char* const text =
      "%0 : i64[6] = input index\n"
      "%1 : f32[6, 4] = input gradient\n"
      "%2 : f32[100, 4] = embedding_backward(%1, %0, 100)\n"
      "return %2\n";
  CHECK(planned_text(text, 6, 2) == "shares [100, 4] embedding_backward\n");
  CHECK(planned_text(text, 6, 2, {2}) == "alone [6, 4] embedding_backward, by rows\n");
}

TEST_CASE("values have the lowest place that is free in their time, large ones first") {
  const Placement placement = place({{100, 0, 1}, {1000, 1, 2}, {64, 2, 3}, {500, 3, 4}, {10, 0, 4}});
  CHECK(placement.offsets == std::vector<int64_t>{1024, 0, 1024, 0, 1152});
  CHECK(placement.bytes == 1216);
}

TEST_CASE("values share memory from meeting to meeting") {
  Str text = "%0 : f32[8, 1000] = input x\n";
  for (int i = 1; i <= 9; ++i) text += fmt::format("%{} : f32[8, 1000] = softmax(%{}, 1)\n", i, i - 1);
  const Graph graph = graph_of(text);
  const auto bytes_for = [&](int64_t samples) {
    return CpuPlan(graph, {}, {{0, graph.nodes.size(), {9}}}, samples, 2).bytes();
  };
  CHECK(bytes_for(8) == 9 * 32000);  // all in one phase, of which a thread may be ahead of another one
  CHECK(bytes_for(3) == 2 * 32000);
}

TEST_CASE("functions of elements write over what nobody reads behind them") {
  const auto values_for = [](const Str& nodes, std::vector<ValueId> results) {
    const Graph graph = graph_of("%0 : f32[8, 1000] = input x\n%1 : f32[8, 1000] = softmax(%0, 1)\n" + nodes);
    return CpuPlan(graph, {}, {{0, graph.nodes.size(), std::move(results)}}, 8, 2).bytes() / 32000;
  };
  const Str in_a_row = "%2 : f32[8, 1000] = exp(%1)\n%3 : f32[8, 1000] = softmax(%2, 1)\n";
  CHECK(values_for(in_a_row, {3}) == 2);
  CHECK(values_for(in_a_row, {1, 3}) == 3);  // %1 is read behind it
  const Str beside = "%2 : f32[8, 1000] = exp(%1)\n%3 : f32[8, 1000] = softmax(%1, 1)\n";
  CHECK(values_for(beside + "%4 : f32[8, 1000] = softmax(%2, 1)\n", {3, 4}) == 4);
  // %2 reads %1 in another order than it writes.
  CHECK(values_for("%2 : f32[1000, 8] = transpose(%1, 0, 1)\n%3 : f32[1000, 8] = exp(%2)\n"
                   "%4 : f32[1000, 8] = softmax(%3, 1)\n",
                   {4}) == 3);
}

TEST_CASE("a plan whose meetings take longer than what a second thread takes over stays with one") {
  const auto threads_for = [](int64_t width) {
    const Graph graph =
        graph_of(fmt::format("%0 : f32[64, {0}] = input x\n"
                             "%1 : f32[64, {0}] = exp(%0)\n"
                             "%2 : f32[{0}] = sum(%1, 0, false)\n"
                             "%3 : f32[64, {0}] = mul(%1, %2)\n"
                             "return %3\n",
                             width));
    CpuPlan plan(graph, {}, {{0, graph.nodes.size(), graph.outputs}}, 64, 2);
    plan.stay_alone_if_small();
    return plan.threads_text();
  };
  CHECK(threads_for(4).starts_with("1 thread (a second one would save about 0 us, and "));
  CHECK(threads_for(400).starts_with("1 thread (a second one would save about "));  // its values stay in a cache
  CHECK(threads_for(4000) == "2 threads");
}

TEST_CASE("where there are several kernels for a product, the plan says why it has the one that it has") {
  const auto product = [](int64_t rows, int64_t depth, int64_t columns, int64_t samples) {
    return reasons(fmt::format("%0 : f32[{0}, {1}] = input x\n"
                               "%1 : f32[{1}, {2}] = weight w\n"
                               "%2 : f32[{0}, {2}] = matmul(%0, %1)\n"
                               "return %2\n",
                               rows, depth, columns),
                   samples);
  };
  const kernels::ProductKernel& kernel = kernels::product_kernel();
  CHECK(product(64, 500, 70, 64) == "packed once, for less than 256 rows");
  CHECK(product(256, 500, 70, 64) == "each thread packs, from 256 rows on");
  CHECK(product(64, 5, kernel.width, 64) ==
        fmt::format("{} numbers stay at hand, and are not packed", 5 * kernel.width));
  if (kernel.few > 0)
    CHECK(product(64, 500, 1, 64) == fmt::format("1 of at most {} columns are read as they lie", kernel.few));
  const auto sum_over_samples = [](int64_t inputs, int64_t outputs) {
    return reasons(fmt::format("%0 : f32[64, {0}] = input x\n"
                               "%1 : f32[64, {1}] = input y\n"
                               "%2 : f32[{0}, 64] = transpose(%0, 0, 1)\n"
                               "%3 : f32[{0}, {1}] = matmul(%2, %1)\n"
                               "return %3\n",
                               inputs, outputs),
                   64);
  };
  CHECK(sum_over_samples(300, 70) == "each thread packs what it reads; over all samples");
  CHECK(sum_over_samples(3, 7) == "each thread packs what it reads; too little to share");
}

TEST_CASE("what vectors go along is said of losses, soft-max and pools") {
  const auto loss = [](const char* scores, const char* targets) {
    const Str text = planned_text(fmt::format("%0 : f32[{}] = input x\n"
                                              "%1 : i64[{}] = input y\n"
                                              "%2 : f32[] = cross_entropy(%0, %1, undefined, none, 0.0, \"mean\")\n"
                                              "return %2\n",
                                              scores, targets),
                                  8, 2, {}, true);
    const size_t at = text.find("cross_entropy (");
    return at == Str::npos ? text : text.substr(at + 15, text.find(")\n", at) - at - 15);
  };
  CHECK(loss("8, 40", "8") == "vectors go along classes, from 16 on");
  CHECK(loss("8, 10", "8") == "vectors go along rows, below 16 classes");
  CHECK(loss("8, 3, 6, 7", "8, 6, 7") == "vectors go along 42 places, which lie side by side");
  const auto softmax = [](int dim) {
    return reasons(fmt::format("%0 : f32[8, 3, 50] = input x\n%1 : f32[8, 3, 50] = softmax(%0, {})\nreturn %1\n", dim),
                   8);
  };
  CHECK(softmax(2) == "vectors go along rows, which lie side by side");
  CHECK(softmax(1) == "vectors go along 50 places, which lie side by side");
  const auto pool = [](const char* out, int kernel, int stride) {
    return reasons(
        fmt::format("%0 : f32[8, 3, 24, 24] = input x\n"
                    "%1 : f32[8, 3, {0}, {0}] = max_pool2d(%0, [{1}, {1}], [{2}, {2}], [0, 0], [1, 1], false)\n"
                    "return %1\n",
                    out, kernel, stride),
        8);
  };
  CHECK(pool("12", 2, 2) == "windows of 2 x 2, side by side");
  CHECK(pool("22", 3, 1) == "vectors go along windows, every 1");
  CHECK(pool("8", 3, 3) == "window by window: vectors are for 16 columns at most, every 1 or 2");
}

TEST_CASE("attention, tables and layers that read moment by moment say how they go") {
  CHECK(reasons("%0 : f32[8, 2, 5, 4] = input q\n%1 : f32[8, 2, 5, 4] = input k\n%2 : f32[8, 2, 5, 4] = input v\n"
                "%3 : f32[8, 2, 5, 4] = attention(%0, %1, %2, undefined, true, 0.0, none)\n"
                "return %3\n",
                8) == "head by head, with its 5 x 5 scores, of places that rows see");
  const char* const table =
      "%0 : i64[6] = input index\n"
      "%1 : f32[6, 4] = input gradient\n"
      "%2 : f32[100, 4] = embedding_backward(%1, %0, 100)\n"
      "return %2\n";
  CHECK(reasons(table, 6) == "rows that were not read are wanted, too; over all samples");
  CHECK(reasons(table, 6, {2}) == "at most 6 rows of the table are read; over all samples, in their order");
}

}  // namespace ltr::plan
