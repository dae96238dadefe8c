#include "runtime/train/alike.h"

#include <ATen/ATen.h>

#include "runtime/tensor/handle.h"
#include "runtime/train/packed.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

/// Pairs of what it is and what this rank has.
std::vector<std::pair<Str, Str>> facts_of(const RunRequest& request) {
  std::vector<std::pair<Str, Str>> facts = {{"the compiler", request.program.compiler},
                                            {"the program", Str(request.program.source_hash).substr(0, 12)},
                                            {"the experiment", request.experiment.name},
                                            {"the seed", std::to_string(request.trainer.seed)}};
  for (const auto& [name, value] : request.settings) facts.emplace_back(name, value.to_text());
  for (size_t i = 0; i < request.data_files.size(); i++) {
    const DataFile& file = request.data_files[i];
    facts.emplace_back(fmt::format("data file {}", i + 1),
                       fmt::format("{} ({})", file.path, file.fingerprint.substr(0, 12)));
  }
  return facts;
}

}  // namespace

void check_alike(const RunRequest& request) {
  const Ranks& ranks = request.ranks;
  if (ranks.world() == 1) return;
  Str own;
  for (const auto& [name, value] : facts_of(request)) {
    pack(own, std::string_view(name));
    pack(own, std::string_view(value));
  }
  const std::vector<Str> all = ranks.texts(own);
  for (size_t rank = 1; rank < all.size(); rank++) {
    if (all[rank] == all[0]) continue;
    Str difference = "has other settings";
    Unpacking first(all[0]), other(all[rank]);
    while (!first.is_over() && !other.is_over()) {
      const Str name(first.text()), value(first.text());
      const Str other_name(other.text()), other_value(other.text());
      if (name == other_name && value == other_value) continue;
      difference = name == other_name ? fmt::format("{} is {} on rank {}, {} on rank 0", name, other_value, rank, value)
                                      : fmt::format("rank {} has {} where rank 0 has {}", rank, other_name, name);
      break;
    }
    throw with_help(error_at({}, err::ranks_differ, difference),
                    "start all of them from one build, with the same words, where they see the same files");
  }
}

void share_weights(const RunRequest& request) {
  if (request.ranks.world() == 1) return;
  std::vector<at::Tensor> tensors;
  for (const Entry& entry : request.root.state().entries) tensors.push_back(In(entry.tensor)->detach());
  request.ranks.take_from_first(tensors);
}

void divide_among_ranks(const RunRequest& request) {
  if (request.division.what == Divides::Nothing || request.ranks.world() == 1) return;
  RootState& root = request.root.state();
  if (!root.division) root.division = std::make_unique<Division>(request.division, root, request.ranks, request.travel);
}

}  // namespace ltr
