#include "dsl/elaborate/cluster.h"

#include <algorithm>

namespace ltr::elaborate {

namespace {

constexpr double kMiB = 1024.0 * 1024;
constexpr double kGiB = 1024 * kMiB;

std::vector<Device> make_devices() {
  std::vector<Device> rows = {
#define LTR_DEVICE(name, kind, memory, f32, tf32, bf16, f16, share, bandwidth, launch, source) \
  {#name,         kind,         source, (memory) * kGiB,   (f32) * 1e12,   (tf32) * 1e12,      \
   (bf16) * 1e12, (f16) * 1e12, share,  (bandwidth) * 1e9, (launch) * 1e-6},
#define LTR_CORE(device, small, find, scalar, meet, cache, cache_bandwidth)
#define LTR_PLANNED(device, products, small, rate, call)
#define LTR_PROCESS(device, program, function)
#define LTR_LINK(name, bandwidth, latency, source)
#define LTR_CLUSTER(name, device, within, between)
#include "dsl/elaborate/cluster.def"
  };
  const auto row = [&](const char* name) -> Device& {
    return *std::find_if(rows.begin(), rows.end(), [&](const Device& one) { return one.name == name; });
  };
  const auto add = [&](Device& device, double small, double find, double scalar, double meet, double cache,
                       double cache_bandwidth) {
    device.small_share = small;
    device.find_s = find;
    device.meet_s = meet;
    device.scalar_rate = scalar;
    device.cache_bytes = cache;
    device.cache_bandwidth = cache_bandwidth;
  };
  const auto add_planned = [&](Device& device, double products, double gather, double rate, double call) {
    device.plan_share = products;
    device.plan_gather_share = gather;
    device.plan_rate = rate;
    device.plan_call_s = call;
  };
  const auto add_process = [&](Device& device, double program, double function) {
    device.program_bytes = program;
    device.function_bytes = function;
  };
#define LTR_DEVICE(name, kind, memory, f32, tf32, bf16, f16, share, bandwidth, launch, source)
#define LTR_CORE(device, small, find, scalar, meet, cache, cache_bandwidth) \
  add(row(#device), small, (find) * 1e-6, (scalar) * 1e9, (meet) * 1e-6, (cache) * kMiB, (cache_bandwidth) * 1e9);
#define LTR_PLANNED(device, products, small, rate, call) \
  add_planned(row(#device), products, small, (rate) * 1e9, (call) * 1e-6);
#define LTR_PROCESS(device, program, function) add_process(row(#device), (program) * kMiB, (function) * kMiB);
#define LTR_LINK(name, bandwidth, latency, source)
#define LTR_CLUSTER(name, device, within, between)
#include "dsl/elaborate/cluster.def"
  return rows;
}

const std::vector<Device>& devices() {
  static const std::vector<Device> kRows = make_devices();
  return kRows;
}

const std::vector<Link>& links() {
  static const std::vector<Link> kRows = {
#define LTR_DEVICE(name, kind, memory, f32, tf32, bf16, f16, share, bandwidth, launch, source)
#define LTR_CORE(device, small, find, scalar, meet, cache, cache_bandwidth)
#define LTR_PLANNED(device, products, small, rate, call)
#define LTR_PROCESS(device, program, function)
#define LTR_LINK(name, bandwidth, latency, source) {#name, source, (bandwidth) * 1e9, (latency) * 1e-6},
#define LTR_CLUSTER(name, device, within, between)
#include "dsl/elaborate/cluster.def"
  };
  return kRows;
}

template <class Row>
const Row& row(const std::vector<Row>& rows, const std::string& name) {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.name == name; });
}

}  // namespace

double Device::flops(const std::string& precision) const {
  if (precision == "tf32") return tf32_flops;
  if (precision == "bf16" || precision == "bf16_pure") return bf16_flops;
  if (precision == "f16") return f16_flops;
  return precision == "f64" ? f32_flops / 2 : f32_flops;
}

Device Cluster::shared_by(int64_t ranks) const {
  Device one = device;
  if (!device.is_core()) return one;
  if (memory_bytes > 0) one.memory_bytes = memory_bytes / double(ranks);
  one.cache_bytes /= double(ranks);
  const int64_t at_once = cores == 0 ? ranks : std::min(ranks, cores);
  if (bandwidth > 0) one.bandwidth = std::min(device.bandwidth, bandwidth / double(at_once));
  const double turns = double(ranks) / double(at_once);
  for (double* rate : {&one.f32_flops, &one.tf32_flops, &one.bf16_flops, &one.f16_flops, &one.scalar_rate,
                       &one.plan_rate, &one.bandwidth, &one.cache_bandwidth})
    *rate /= turns;
  for (double* seconds : {&one.launch_s, &one.find_s, &one.meet_s, &one.plan_call_s}) *seconds *= turns;
  return one;
}

const std::vector<Cluster>& clusters() {
  static const std::vector<Cluster> kRows = {
#define LTR_DEVICE(name, kind, memory, f32, tf32, bf16, f16, share, bandwidth, launch, source)
#define LTR_CORE(device, small, find, scalar, meet, cache, cache_bandwidth)
#define LTR_PLANNED(device, products, small, rate, call)
#define LTR_PROCESS(device, program, function)
#define LTR_LINK(name, bandwidth, latency, source)
#define LTR_CLUSTER(name, device, within, between) \
  {#name, row(devices(), #device), row(links(), #within), row(links(), #between)},
#include "dsl/elaborate/cluster.def"
  };
  return kRows;
}

const Cluster* find_cluster(const std::string& name) {
  const auto found =
      std::find_if(clusters().begin(), clusters().end(), [&](const Cluster& one) { return one.name == name; });
  return found == clusters().end() ? nullptr : &*found;
}

const Cluster& cluster_of_kind(const std::string& kind) {
  const auto found =
      std::find_if(clusters().begin(), clusters().end(), [&](const Cluster& one) { return one.device.kind == kind; });
  return found == clusters().end() ? clusters().front() : *found;
}

Ring make_ring(const Cluster& cluster, int64_t ranks, int64_t stride, int64_t per_node) {
  Ring ring{ranks, cluster.within};
  if ((ranks - 1) * stride < per_node) return ring;
  ring.link = cluster.between;
  // The ranks of a node lie one behind the other, so a ring leaves a node once; as many rings as fit side by side do.
  ring.link.bandwidth /= double(std::min(stride, per_node));
  // Devices of one node cannot be slower to reach than those of others.
  ring.link.bandwidth = std::min(ring.link.bandwidth, cluster.within.bandwidth);
  return ring;
}

double reduce_scatter_s(double bytes, const Ring& ring) {
  if (bytes <= 0) return 0;
  const double hops = double(ring.ranks - 1);
  return hops * ring.link.latency_s + hops / double(ring.ranks) * bytes / ring.link.bandwidth;
}

double all_gather_s(double bytes, const Ring& ring) { return reduce_scatter_s(bytes, ring); }

double all_reduce_s(double bytes, const Ring& ring) {
  return reduce_scatter_s(bytes, ring) + all_gather_s(bytes, ring);
}

double shared_sum_s(double bytes, int64_t ranks, const Device& device, double latency_s) {
  // What is copied is read and written, and each addition reads two numbers and writes one. Gradients come into the bucket,
  // the bucket goes to the others, the sum comes back.
  const double copies = 3 * 2 * bytes;
  const double additions = 3 * double(ranks - 1) / double(ranks) * bytes;
  // Each waits for all to have given, summed and taken.
  return (copies + additions) / device.bandwidth + 3 * latency_s;
}

}  // namespace ltr::elaborate
