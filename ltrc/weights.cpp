#include "ltrc/weights.h"

#include <filesystem>
#include <system_error>

#include "doors/weight_plan.h"
#include "doors/weights_file.h"

namespace ltr::driver {

namespace {

using weights::WeightsFile;

WeightsFile::Problem problem_of(doors::WeightsError::Kind kind) {
  switch (kind) {
    case doors::WeightsError::Kind::Damaged: return WeightsFile::Problem::Damaged;
    case doors::WeightsError::Kind::Unsupported: return WeightsFile::Problem::Unsupported;
    case doors::WeightsError::Kind::NeedsCode: return WeightsFile::Problem::NeedsCode;
  }
  return WeightsFile::Problem::Damaged;
}

}  // namespace

WeightsFile WeightFilesHere::open(const std::string& path, const std::string& from) const {
  namespace fs = std::filesystem;
  WeightsFile file;
  std::string found = (fs::path(from).parent_path() / path).string();
  if (!doors::WeightsFile::exists(found)) found = path;
  if (!doors::WeightsFile::exists(found)) {
    file.problem = WeightsFile::Problem::NotThere;
    return file;
  }
  try {
    const doors::WeightsFile opened = doors::WeightsFile::open(found);
    for (const doors::TensorEntry& tensor : opened.tensors())
      file.tensors.push_back({tensor.name, tensor.dtype, tensor.shape});
  } catch (const doors::WeightsError& error) {
    file.problem = problem_of(error.kind);
    file.offset = error.offset;
    file.reason = error.what();
    file.cure = error.cure;
    file.callables = error.callables;
  } catch (const std::system_error& error) {
    file.problem = WeightsFile::Problem::Damaged;
    file.reason = "it cannot be read: " + error.code().message();
  }
  return file;
}

weights::LoadPlan WeightFilesHere::plan(const std::vector<weights::WantedTensor>& wanted,
                                        const std::vector<std::string>& stored,
                                        const std::vector<check::WeightRule>& rules) const {
  std::vector<doors::Wanted> tensors;
  for (const weights::WantedTensor& tensor : wanted) tensors.push_back({tensor.name, tensor.shared_with});
  doors::LoadPlan made = doors::plan_load(tensors, stored, {rules.begin(), rules.end()});
  return {std::move(made.loads),  std::move(made.missing),     std::move(made.unexpected), std::move(made.idle_rules),
          std::move(made.frozen), std::move(made.rename_from), std::move(made.rename_to)};
}

}  // namespace ltr::driver
