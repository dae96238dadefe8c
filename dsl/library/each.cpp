#include "dsl/library/each.h"

namespace ltr::library {

namespace {

constexpr std::string_view kBegin = "_", kEnd = "_each";

}  // namespace

std::string each_of(std::string_view loss) { return std::string(kBegin).append(loss).append(kEnd); }

Id written_loss(std::string_view function) {
  const bool is_each =
      function.starts_with(kBegin) && function.ends_with(kEnd) && function.size() > kBegin.size() + kEnd.size();
  if (!is_each) return find(Space::Written, function);
  const std::string_view loss = function.substr(kBegin.size(), function.size() - kBegin.size() - kEnd.size());
  const Id own = find(Space::Values, loss);
  return own != Id::None ? own : find(Space::Written, loss);
}

}  // namespace ltr::library
