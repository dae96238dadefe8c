#include "dsl/library/each.h"

namespace ltr::library {

namespace {

constexpr std::string_view kBegin = "_", kEnd = "_each";

}  // namespace

std::string each_of(std::string_view loss) { return std::string(kBegin).append(loss).append(kEnd); }

Id loss_of_each(std::string_view each) {
  if (!each.starts_with(kBegin) || !each.ends_with(kEnd) || each.size() <= kBegin.size() + kEnd.size()) return Id::None;
  return find(Space::Values, each.substr(kBegin.size(), each.size() - kBegin.size() - kEnd.size()));
}

}  // namespace ltr::library
