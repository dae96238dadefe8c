// The data of a start: what a checkpoint says of its streams, and which of their batches are read.

#include <algorithm>
#include <filesystem>

#include "runtime/checkpoint/folder.h"
#include "runtime/cli/prepare.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/stream.h"

namespace ltr::cli {

namespace fs = std::filesystem;

std::vector<Str> folders_of(const Program& program) {
  std::vector<Str> folders;
  for (const SourceFile& source : program.sources) {
    const fs::path folder = fs::path(source.path).parent_path();
    // As they were typed, for what was moved with them; and where they lay when the program was built.
    for (const Str& one : {folder.string(), program.folder[0] == '\0' ? "" : (program.folder / folder).string()}) {
      if (!one.empty() && std::find(folders.begin(), folders.end(), one) == folders.end()) folders.push_back(one);
    }
  }
  return folders;
}

void Start::know_from(const Str& weights) {
  for (const fs::path& folder : {fs::path(weights), fs::path(weights).parent_path()}) {
    std::error_code failed;
    if (fs::exists(folder / "checkpoint.json", failed)) {
      known_from_ = folder.string();
      return;
    }
  }
}

void Start::open_data() {
  set_program_folders(folders_of(program));
  set_mock_data(flags.mock_data);
  Str described = program.source_hash;
  for (const Resolved& setting : settings.resolved()) {
    // An hparam's path is its name; of the rest only what data are given can change what their streams hold.
    const bool is_of_data = setting.path.find('.') == Str::npos || setting.path.starts_with("data.");
    if (is_of_data) described += fmt::format("\n{}={}", setting.path, setting.value.to_text());
  }
  nlohmann::json kept = nlohmann::json::object();
  if (!known_from_.empty()) kept = read_manifest(known_from_).value("known", kept);
  set_known(std::move(kept), std::move(described));
  data.reset(experiment->make_data(settings));
  if (trainer.overfit > 0) overfit();
}

void Start::overfit() {
  const auto train = std::find_if(data->streams.begin(), data->streams.end(),
                                  [](const Data::RoleStream& one) { return one.role == Role::Train; });
  if (train == data->streams.end()) return;
  const Stream first = first_batches(train->stream, trainer.overfit);
  for (Data::RoleStream& one : data->streams) {
    if (one.role == Role::Train || one.role == Role::Val) one.stream = first;
  }
}

}  // namespace ltr::cli
