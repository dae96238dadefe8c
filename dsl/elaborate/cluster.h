#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The machines of `cluster.def`, and what messages between their devices cost.
namespace ltr::elaborate {

struct Device {
  std::string name, kind, source;
  double memory_bytes = 0;                                              ///< 0: not known
  double f32_flops = 0, tf32_flops = 0, bf16_flops = 0, f16_flops = 0;  ///< a second; 0: not there
  double share = 1;                                                     ///< of them that products reach
  double bandwidth = 0;                                                 ///< of its memory, bytes a second
  double launch_s = 0;  ///< a GPU's operation takes no less, a core's so much more

  // Of a core; a GPU has them at 0.
  double small_share = 0;      ///< of the FLOP/s that products of few numbers reach
  double find_s = 0;           ///< to find the kernel of another product
  double meet_s = 0;           ///< that ranks need at most to agree on a backward pass
  double scalar_rate = 0;      ///< operations a second of loops without vectors
  double cache_bytes = 0;      ///< of the last cache
  double cache_bandwidth = 0;  ///< of what lies in it

  // Of a core whose steps are planned.
  double plan_share = 0;         ///< of the FLOP/s that products reach
  double plan_gather_share = 0;  ///< and those that gather what they multiply
  double plan_rate = 0;          ///< operations a second of functions of elements and of rows
  double plan_call_s = 0;        ///< that each call takes beside

  // Of the process beside its tensors.
  double program_bytes = 0;   ///< it and its libraries
  double function_bytes = 0;  ///< for each function of the library that it calls

  bool is_core() const { return kind == "cpu"; }
  /// Of products in this precision: `f32`, `bf16` and so on; 0 if the device has none.
  double flops(const std::string& precision) const;
};

struct Link {
  std::string name, source;
  double bandwidth = 0;  ///< bytes a second in one direction
  double latency_s = 0;  ///< of a message
};

struct Cluster {
  std::string name;
  Device device;
  Link within;   ///< between the devices of a node
  Link between;  ///< of a node with others
  // Of a node whose devices are cores.
  int64_t cores = 0;        ///< 0: one for each rank
  double memory_bytes = 0;  ///< of all; 0: not known
  double bandwidth = 0;     ///< that they share; 0: each has its own

  /// What one of `ranks` ranks on a node computes with: cores share memory, its bandwidth and the last cache, and ranks that are
  /// more than the cores take turns.
  Device shared_by(int64_t ranks) const;
};

const std::vector<Cluster>& clusters();
/// By name, null if there is none.
const Cluster* find_cluster(const std::string& name);
/// The one that is meant by a kind of device.
const Cluster& cluster_of_kind(const std::string& kind);

/// Ranks that exchange messages in a ring, and the slowest link of the ring.
struct Ring {
  int64_t ranks = 1;
  Link link;
};

/// The ring of `ranks` ranks that lie `stride` apart, `per_node` on each node; `stride` such rings share a node's link.
Ring make_ring(const Cluster& cluster, int64_t ranks, int64_t stride, int64_t per_node);

/// Seconds of a collective operation, where `bytes` are the whole and not one rank's part: Hockney's model of latency and
/// bandwidth, for rings (Thakur, Rabenseifner, Gropp 2005). An all-reduce is the other two in turn.
double reduce_scatter_s(double bytes, const Ring& ring);
double all_gather_s(double bytes, const Ring& ring);
double all_reduce_s(double bytes, const Ring& ring);
/// Of a sum in memory that `ranks` ranks of a node share: each copies its own in, sums a piece of all, and copies the whole
/// out. `latency_s` is that of one word to another rank.
double shared_sum_s(double bytes, int64_t ranks, const Device& device, double latency_s);

}  // namespace ltr::elaborate
