#include "dsl/elaborate/timeline.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

// Everything here is simulated: nothing runs on several devices.
namespace ltr::elaborate {

namespace {

constexpr double kMB = 1e6;

/// 1 GB/s and 1 ms within a node of 4, a tenth of the bandwidth and 2 ms between nodes.
Cluster plain_cluster() { return {"plain", {}, {"in", "", 1e9, 1e-3}, {"out", "", 1e8, 2e-3}}; }

/// A layer as published: weights in millions, and its part of the work in any unit.
struct Layer {
  double weights;
  double work;
  int64_t count = 1;
};

/// A network with layers in forward order, of which one device trains `images_per_s` alone, 64 at a time; gradients are
/// f32, and a backward pass is two forward passes.
Work network(const std::vector<Layer>& layers, double images_per_s) {
  const double step = 64 / images_per_s;
  double all = 0;
  for (const Layer& layer : layers) all += layer.work * double(layer.count);
  Work work;
  work.bucket_bytes = 64.0 * 1024 * 1024;
  work.rest.forward_s = step / 3;
  for (size_t i = layers.size(); i-- > 0;) {
    for (int64_t one = 0; one < layers[i].count; ++one)
      work.backward.push_back({step * 2 / 3 * layers[i].work / all, 4e6 * layers[i].weights});
  }
  return work;
}

/// Speed per device over the speed of one alone, on nodes of 4.
double efficiency(const Work& work, int64_t ranks) {
  const Cluster& cluster = *find_cluster("p100");
  return step_s(work, {Strategy::Single, 1, 1, 4}, cluster) / step_s(work, {Strategy::Ddp, ranks, 1, 4}, cluster);
}

// Weights and multiply-adds (in 1e9) of the published networks.
const std::vector<Layer> kVgg16 = {{0.0018, 0.087},    {0.0369, 1.850},    {0.0739, 0.925},  {0.1476, 1.850},
                                   {0.2952, 0.925},    {0.5901, 1.850, 2}, {1.1802, 0.925},  {2.3598, 1.850, 2},
                                   {2.3598, 0.462, 3}, {102.7645, 0.103},  {16.7813, 0.017}, {4.0970, 0.004}};
const std::vector<Layer> kResNet101 = {{0.0095, 0.118},     {0.0719, 0.226, 3}, {0.3049, 0.26, 4},
                                       {1.1345, 0.219, 23}, {4.9879, 0.27, 3},  {2.049, 0.002}};
const std::vector<Layer> kInceptionV3 = {{0.19, 1.33}, {0.27, 0.33, 3}, {1.15, 0.33}, {1.7, 0.5, 4},
                                         {1.7, 0.25},  {5.04, 0.33},    {6.07, 0.4},  {2.05, 0.002}};

}  // namespace

TEST_CASE("collectives of rings by hand") {
  const Cluster cluster = plain_cluster();
  const Ring within = make_ring(cluster, 4, 1, 4);
  CHECK(within.link.name == "in");
  // Three hops of 1 ms, and three quarters of 100 MB at 1 GB/s.
  CHECK(reduce_scatter_s(100 * kMB, within) == doctest::Approx(0.078));
  CHECK(all_gather_s(100 * kMB, within) == doctest::Approx(0.078));
  CHECK(all_reduce_s(100 * kMB, within) == doctest::Approx(0.156));
  CHECK(all_reduce_s(100 * kMB, make_ring(cluster, 1, 1, 4)) == 0);
  // Over two nodes the ring leaves each once: 7 hops of 2 ms, and seven eighths at 0.1 GB/s.
  const Ring across = make_ring(cluster, 8, 1, 4);
  CHECK(reduce_scatter_s(100 * kMB, across) == doctest::Approx(0.014 + 0.875));
  // Four rings, one for each part, share the link of a node.
  const Ring shared = make_ring(cluster, 2, 4, 4);
  CHECK(shared.link.bandwidth == doctest::Approx(2.5e7));
  CHECK(make_ring(cluster, 2, 2, 4).link.name == "in");
}

TEST_CASE("buckets travel while the backward pass goes on") {
  Work work;
  work.rest.forward_s = 0.1;
  work.backward = {{0.1, 50 * kMB}, {0.1, 0}, {0.1, 50 * kMB}};
  work.bucket_bytes = 50 * kMB;
  work.update_s = 0.01;
  const Cluster cluster = plain_cluster();
  CHECK(step_s(work, {Strategy::Single, 1, 1, 4}, cluster) == doctest::Approx(0.41));
  // Each bucket takes 6 ms + 75 ms; the first is through before the last begins at 0.4.
  CHECK(step_s(work, {Strategy::Ddp, 4, 1, 4}, cluster) == doctest::Approx(0.4 + 0.081 + 0.01));
  // One bucket of everything begins at the end; half of its size on the wire takes half of the time.
  work.bucket_bytes = 1000 * kMB;
  CHECK(step_s(work, {Strategy::Ddp, 4, 1, 4}, cluster) == doctest::Approx(0.4 + 0.156 + 0.01));
  work.wire = 0.5;
  CHECK(step_s(work, {Strategy::Ddp, 4, 1, 4}, cluster) == doctest::Approx(0.4 + 0.081 + 0.01));
  // Of two batches only the last sends.
  work.accumulate = 2;
  CHECK(step_s(work, {Strategy::Ddp, 4, 1, 4}, cluster) == doctest::Approx(0.8 + 0.081 + 0.01));
}

TEST_CASE("divided state: half of the traffic in the backward pass, weights gathered after the update") {
  Work work;
  work.rest = {100 * kMB, 100 * kMB, 0.1, 0.3};
  work.backward = {{0.3, 100 * kMB}};
  work.update_s = 0.04;
  const Cluster cluster = plain_cluster();
  CHECK(step_s(work, {Strategy::Zero1, 1, 4, 4}, cluster) == doctest::Approx(0.4 + 0.078 + 0.01 + 0.078));
  CHECK(step_s(work, {Strategy::Zero2, 1, 4, 4}, cluster) == step_s(work, {Strategy::Zero1, 1, 4, 4}, cluster));
}

TEST_CASE("divided weights: each block is gathered while the one before it computes") {
  Work work;
  work.units = {{40 * kMB, 40 * kMB, 0.1, 0.2}, {40 * kMB, 40 * kMB, 0.1, 0.2}};
  work.backward = {{0.4, 80 * kMB}};
  const Cluster cluster = plain_cluster();
  // A gather takes 3 ms + 30 ms: the first of each pass is waited for. The last sum is too.
  CHECK(step_s(work, {Strategy::Fsdp, 1, 4, 4}, cluster) == doctest::Approx(0.033 + 0.2 + 0.033 + 0.4 + 0.033));
  // Between two nodes a quarter of it is summed once more: one hop there and back of 2 ms, at a quarter of 0.1 GB/s.
  // That takes longer than a block computes, so from the end of the first block, at 0.466, messages follow each other.
  const double between = 2 * (0.002 + 0.5 * 10e6 / 2.5e7);
  CHECK(step_s(work, {Strategy::Hsdp, 2, 4, 4}, cluster) == doctest::Approx(0.466 + 2 * (0.033 + between)));
}

TEST_CASE("CPUs of one node sum in shared memory, and Gloo sums whole buffers") {
  Cluster cluster = plain_cluster();
  cluster.device.kind = "cpu";
  cluster.device.bandwidth = 1e10;
  Work work;
  work.rest.forward_s = 0.1;
  work.backward = {{0.1, 50 * kMB}, {0.1, 0}, {0.1, 50 * kMB}};
  work.bucket_bytes = 50 * kMB;
  // Each bucket is read and written three times, and three times three quarters of it are moved by additions: 8.25 x 5 ms, and
  // three words of 1 ms, which nothing hides.
  CHECK(shared_sum_s(50 * kMB, 4, cluster.device, 1e-3) == doctest::Approx(0.04425));
  CHECK(step_s(work, {Strategy::Ddp, 4, 1, 4}, cluster) == doctest::Approx(0.4 + 2 * 0.04425));
  // Each backward pass is agreed on.
  cluster.device.meet_s = 0.002;
  work.passes = 2;
  CHECK(step_s(work, {Strategy::Ddp, 4, 1, 4}, cluster) == doctest::Approx(0.404 + 2 * 0.04425));
  CHECK(step_s(work, {Strategy::Single, 1, 1, 4}, cluster) == doctest::Approx(0.4));
  cluster.device.meet_s = 0;
  // Between two nodes buckets follow each other on the wire from 0.2 on: 2 x (7 x 2 ms + 7/8 x 50 MB / 0.1 GB/s) each.
  CHECK(step_s(work, {Strategy::Ddp, 8, 1, 4}, cluster) == doctest::Approx(0.2 + 2 * 0.903));
  // Divided state: two buckets as an all-reduce, 81 ms each, of which the second waits for the end at 0.4.
  CHECK(step_s(work, {Strategy::Zero2, 1, 4, 4}, cluster) == doctest::Approx(0.4 + 0.081));
  Work blocks;
  blocks.units = {{40 * kMB, 40 * kMB, 0.1, 0.2}, {40 * kMB, 40 * kMB, 0.1, 0.2}};
  blocks.backward = {{0.4, 80 * kMB}};
  // As on other devices, but for the last sum: twice 33 ms.
  CHECK(step_s(blocks, {Strategy::Fsdp, 1, 4, 4}, cluster) == doctest::Approx(0.033 + 0.2 + 0.033 + 0.4 + 0.066));
}

TEST_CASE("ranks of a node share its memory, its cache and its cores") {
  Cluster cluster = plain_cluster();
  cluster.device.f32_flops = 100e9;
  cluster.device.bandwidth = 40e9;
  cluster.device.launch_s = 1e-6;
  cluster.memory_bytes = 8e9;
  // GPUs have their own.
  CHECK(cluster.shared_by(4).bandwidth == 40e9);
  cluster.device.kind = "cpu";
  cluster.device.cache_bytes = 32e6;
  CHECK(cluster.shared_by(4).bandwidth == 40e9);
  cluster.bandwidth = 60e9;
  cluster.cores = 2;
  CHECK(cluster.shared_by(1).bandwidth == 40e9);
  CHECK(cluster.shared_by(1).memory_bytes == 8e9);
  CHECK(cluster.shared_by(2).bandwidth == 30e9);
  CHECK(cluster.shared_by(2).f32_flops == 100e9);
  CHECK(cluster.shared_by(2).cache_bytes == 16e6);
  // Four on two cores take turns: two at once, each half of the time.
  const Device quarter = cluster.shared_by(4);
  CHECK(quarter.bandwidth == 15e9);
  CHECK(quarter.f32_flops == 50e9);
  CHECK(quarter.launch_s == 2e-6);
  CHECK(quarter.memory_bytes == 2e9);
}

TEST_CASE("simulated: Horovod's published efficiencies on P100 and 25 Gbit/s RoCE") {
  const auto weights = [](const std::vector<Layer>& layers) {
    return std::accumulate(layers.begin(), layers.end(), 0.0,
                           [](double sum, const Layer& layer) { return sum + layer.weights * double(layer.count); });
  };
  CHECK(weights(kVgg16) == doctest::Approx(138.36).epsilon(0.005));
  CHECK(weights(kResNet101) == doctest::Approx(44.55).epsilon(0.005));
  CHECK(weights(kInceptionV3) == doctest::Approx(23.8).epsilon(0.01));
  // Images a second of one P100, 64 at a time: TensorFlow's benchmark page of 2017 has Inception V3 and VGG-16;
  // ResNet-101 lies between its ResNet-50 and ResNet-152, at its part of their work.
  const Work vgg = network(kVgg16, 154);
  const Work resnet = network(kResNet101, 129.5);
  const Work inception = network(kInceptionV3, 142);
  // 32 and 128 machines of 4. The link was fitted to VGG-16; the other two are predictions.
  const auto is_near = [](double simulated, double published, double points) {
    return std::abs(simulated - published) * 100 <= points;
  };
  CHECK(is_near(efficiency(vgg, 128), 0.79, 1));
  CHECK(is_near(efficiency(vgg, 512), 0.68, 4));
  CHECK(is_near(efficiency(resnet, 512), 0.90, 2));
  CHECK(is_near(efficiency(inception, 512), 0.90, 2));
  CHECK(is_near(efficiency(resnet, 128), 0.90, 6));
  CHECK(is_near(efficiency(inception, 128), 0.90, 6));
}

TEST_CASE("clusters are named, and each kind of device has one that is meant") {
  CHECK(find_cluster("h100")->device.memory_bytes == 80.0 * 1024 * 1024 * 1024);
  CHECK(find_cluster("x") == nullptr);
  CHECK(cluster_of_kind("cuda").name == "a100");
  CHECK(cluster_of_kind("auto").name == "cpu");
  CHECK(find_cluster("a100")->device.flops("bf16") == 312e12);
  CHECK(find_cluster("p100")->device.flops("bf16") == 0);
  CHECK(find_cluster("p100")->device.flops("f16") == 21.2e12);
  CHECK(find_cluster("v100")->device.flops("f16") == 125e12);
  CHECK(find_cluster("cpu")->device.flops("f16") == 0);
  for (const Cluster& cluster : clusters()) {
    CHECK(!cluster.device.source.empty());
    CHECK(cluster.within.bandwidth > 0);
    CHECK(cluster.between.latency_s > 0);
  }
}

}  // namespace ltr::elaborate
