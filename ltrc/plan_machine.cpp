#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ltrc/plan.h"

/// Constants of a machine as text: what one machine measured, another plans with.
namespace ltr::driver {

namespace {

using elaborate::Cluster;
using elaborate::Device;
using elaborate::Link;
using nlohmann::ordered_json;

template <class Of>
struct Constant {
  const char* name;
  double Of::* number;
  bool may_be_zero = false;
};

constexpr Constant<Device> kOfDevice[] = {
    {"memory_bytes", &Device::memory_bytes, true},
    {"f32_flops", &Device::f32_flops},
    {"tf32_flops", &Device::tf32_flops, true},
    {"bf16_flops", &Device::bf16_flops, true},
    {"f16_flops", &Device::f16_flops, true},
    {"share", &Device::share},
    {"bandwidth", &Device::bandwidth},
    {"launch_s", &Device::launch_s},
    {"small_share", &Device::small_share, true},
    {"find_s", &Device::find_s, true},
    {"meet_s", &Device::meet_s, true},
    {"scalar_rate", &Device::scalar_rate, true},
    {"cache_bytes", &Device::cache_bytes, true},
    {"cache_bandwidth", &Device::cache_bandwidth, true},
    {"plan_share", &Device::plan_share, true},
    {"plan_gather_share", &Device::plan_gather_share, true},
    {"plan_rate", &Device::plan_rate, true},
    {"plan_call_s", &Device::plan_call_s, true},
    {"program_bytes", &Device::program_bytes, true},
    {"function_bytes", &Device::function_bytes, true},
};
constexpr Constant<Link> kOfLink[] = {{"bandwidth", &Link::bandwidth}, {"latency_s", &Link::latency_s}};
constexpr Constant<Cluster> kOfCluster[] = {{"memory_bytes", &Cluster::memory_bytes, true},
                                            {"bandwidth", &Cluster::bandwidth, true}};

template <class Of, class Constants>
void write_numbers(ordered_json& json, const Of& of, const Constants& constants) {
  for (const auto& constant : constants) json[constant.name] = of.*constant.number;
}

/// Thrown with what is wrong, for people.
struct NoMachine {
  std::string what;
};

const ordered_json& member_at(const ordered_json& json, const std::string& name) {
  if (!json.is_object() || !json.contains(name)) throw NoMachine{fmt::format("it has no `{}`", name)};
  return json.at(name);
}

std::string text_at(const ordered_json& json, const std::string& name) {
  const ordered_json& value = member_at(json, name);
  if (!value.is_string()) throw NoMachine{fmt::format("`{}` is no text", name)};
  return value.get<std::string>();
}

template <class Of, class Constants>
void read_numbers(const ordered_json& json, Of& of, const Constants& constants) {
  for (const auto& constant : constants) {
    const ordered_json& value = member_at(json, constant.name);
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!std::isfinite(number) || number < 0 || (number == 0 && !constant.may_be_zero))
      throw NoMachine{fmt::format("`{}` is {}, not a number above 0", constant.name, value.dump())};
    of.*constant.number = number;
  }
}

Link read_link(const ordered_json& json) {
  Link link{text_at(json, "name"), text_at(json, "source")};
  read_numbers(json, link, kOfLink);
  return link;
}

Cluster read_cluster(const ordered_json& json) {
  Cluster cluster;
  const ordered_json& device = member_at(json, "device");
  cluster.name = text_at(json, "name");
  cluster.device.name = text_at(device, "name");
  cluster.device.kind = text_at(device, "kind");
  cluster.device.source = text_at(device, "source");
  read_numbers(device, cluster.device, kOfDevice);
  // The rates of a core divide times.
  const Device& of = cluster.device;
  if (of.is_core() &&
      std::min({of.small_share, of.scalar_rate, of.plan_share, of.plan_gather_share, of.plan_rate}) == 0)
    throw NoMachine{
        "a core has `small_share`, `scalar_rate`, `plan_share`, `plan_gather_share` and `plan_rate` above 0"};
  cluster.within = read_link(member_at(json, "within"));
  cluster.between = read_link(member_at(json, "between"));
  const ordered_json& cores = member_at(json, "cores");
  if (!cores.is_number_unsigned()) throw NoMachine{fmt::format("`cores` is {}, not a whole number", cores.dump())};
  cluster.cores = cores.get<int64_t>();
  read_numbers(json, cluster, kOfCluster);
  return cluster;
}

ordered_json link_json(const Link& link) {
  ordered_json json = {{"name", link.name}, {"source", link.source}};
  write_numbers(json, link, kOfLink);
  return json;
}

}  // namespace

ordered_json machine_json(const Cluster& cluster) {
  ordered_json device = {
      {"name", cluster.device.name}, {"kind", cluster.device.kind}, {"source", cluster.device.source}};
  write_numbers(device, cluster.device, kOfDevice);
  ordered_json json = {{"name", cluster.name},
                       {"device", std::move(device)},
                       {"within", link_json(cluster.within)},
                       {"between", link_json(cluster.between)},
                       {"cores", cluster.cores}};
  write_numbers(json, cluster, kOfCluster);
  return json;
}

std::optional<Cluster> read_machine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  try {
    return read_cluster(member_at(ordered_json::parse(file), "constants"));
  } catch (const nlohmann::json::exception&) {
    fmt::print(stderr, "error: {} holds no machine: it is not JSON\n", path);
  } catch (const NoMachine& wrong) {
    fmt::print(stderr, "error: {} holds no machine: {}\n", path, wrong.what);
  }
  fmt::print(stderr, "  = help: `ltrc plan … --measure --json` writes one, on the machine that is meant\n");
  return std::nullopt;
}

}  // namespace ltr::driver
