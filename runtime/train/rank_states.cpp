#include "runtime/train/rank_states.h"

#include <ATen/ATen.h>

#include "runtime/train/fingerprint.h"
#include "runtime/train/packed.h"

namespace ltr {

namespace {

/// In front of the name of a tensor that is another rank's.
Str prefix_of(int64_t rank) { return fmt::format("rank{}.", rank); }

bool is_of_other_rank(const Str& name) {
  return name.starts_with("rank") && name.find('.') != Str::npos && std::isdigit(name[4]);
}

constexpr std::string_view kOptimizer = "opt.";

/// What must be the same on all ranks: `where/name` and fingerprint.
std::vector<std::pair<Str, uint64_t>> common_of(const CheckpointData& data) {
  std::vector<std::pair<Str, uint64_t>> list;
  for (const NamedTensor& one : data.weights) list.emplace_back(one.name, fingerprint(one.tensor));
  for (const NamedTensor& one : data.averages) list.emplace_back("the average of " + one.name, fingerprint(one.tensor));
  for (const NamedTensor& one : data.train) {
    if (one.name.starts_with(kOptimizer)) list.emplace_back(one.name, fingerprint(one.tensor));
  }
  return list;
}

void check_common(const std::vector<Str>& all) {
  for (size_t rank = 1; rank < all.size(); rank++) {
    if (all[rank] == all[0]) continue;
    Unpacking first(all[0]), other(all[rank]);
    while (!first.is_over() && !other.is_over()) {
      const Str name(first.text()), other_name(other.text());
      const int64_t own = first.number(), others = other.number();
      if (name == other_name && own == others) continue;
      throw with_help(
          error_at({}, err::ranks_differ, fmt::format("{} is not the same on rank {} as on rank 0", name, rank)),
          "a step or hook computes something of its own on each rank, or the machines do not compute alike");
    }
    throw error_at({}, err::ranks_differ, fmt::format("rank {} has other tensors than rank 0", rank));
  }
}

}  // namespace

void gather_states(const Ranks& ranks, CheckpointData& data) {
  if (ranks.world() == 1) return;
  Str common;
  for (const auto& [name, mark] : common_of(data)) {
    pack(common, std::string_view(name));
    pack(common, int64_t(mark));
  }
  check_common(ranks.texts(common));

  const nlohmann::json first = nlohmann::json::parse(ranks.of_first(data.manifest.dump()));
  Str own;
  if (!ranks.is_first()) {
    nlohmann::json differing = nlohmann::json::object();
    for (const auto& [key, value] : data.manifest.items()) {
      if (!first.contains(key) || first[key] != value) differing[key] = value;
    }
    pack(own, std::string_view(differing.dump()));
    for (const NamedTensor& one : data.train) {
      if (one.name.starts_with(kOptimizer)) continue;
      pack(own, std::string_view(one.name));
      pack(own, one.tensor);
    }
  }
  const std::vector<Str> all = ranks.texts(own);
  if (!ranks.is_first()) return;
  for (size_t rank = 1; rank < all.size(); rank++) {
    Unpacking from(all[rank]);
    data.manifest["ranks"].push_back(nlohmann::json::parse(from.text()));
    while (!from.is_over()) {
      const Str name(from.text());
      data.train.push_back({prefix_of(int64_t(rank)) + name, from.tensor()});
    }
  }
}

RankState state_of_rank(const nlohmann::json& manifest, const StoredState& stored, int64_t rank) {
  RankState state{manifest, {{}, stored.parted}};
  const int64_t world = manifest.value("world", int64_t(1));
  for (const auto& [name, tensor] : stored.tensors) {
    if (!is_of_other_rank(name)) state.stored.tensors.emplace(name, tensor);
  }
  if (rank >= world) {
    state.manifest["logs"]["cells"] = nlohmann::json::object();
    state.manifest["metric_inputs"] = nlohmann::json::array();
    state.manifest["samples"] = 0;
    return state;
  }
  if (rank == 0) return state;
  const nlohmann::json& others = manifest.at("ranks").at(size_t(rank - 1));
  for (const auto& [key, value] : others.items()) state.manifest[key] = value;
  const Str prefix = prefix_of(rank);
  for (const auto& [name, tensor] : stored.tensors) {
    if (name.starts_with(prefix)) state.stored.tensors.insert_or_assign(name.substr(prefix.size()), tensor);
  }
  return state;
}

}  // namespace ltr
