#include "dsl/library/library.h"

#include <algorithm>

namespace ltr::library {

namespace {

using enum Bounds;
using enum Draws;
using enum Gradient;
using enum Cost::Kind;
using enum Keeps::What;
using enum Records;
using enum Periods;

// A row says what differs from the rest, by the names of the columns.
constexpr Function kFunctions[] = {
    {},
#define LTR_ROW(id, text, in, rule, ...) {.name = #text, .space = Space::in __VA_OPT__(, ) __VA_ARGS__},
#include "dsl/library/functions.def"
};

constexpr bool comes_before(const Function& left, const Function& right) {
  return left.space != right.space ? left.space < right.space : left.name < right.name;
}

/// All but the row of `None`, in the order in which they are looked for.
constexpr auto kSorted = [] {
  std::array<Id, std::size(kFunctions) - 1> sorted{};
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = Id(i + 1);
  std::sort(sorted.begin(), sorted.end(),
            [](Id left, Id right) { return comes_before(kFunctions[size_t(left)], kFunctions[size_t(right)]); });
  return sorted;
}();

}  // namespace

bool Function::refuses_behind(Id activation) const {
  return activation != Id::None && std::find(refuses.begin(), refuses.end(), activation) != refuses.end();
}

#define LTR_FUNCTION(id, name, ...) Id::id,
#define LTR_WRITTEN(id, name, ...) Id::id,
bool is_loss(Id id) {
  constexpr Id kLosses[] = {
#include "dsl/library/losses.def"
  };
  return std::find(std::begin(kLosses), std::end(kLosses), id) != std::end(kLosses);
}

bool is_augmentation(Id id) {
  constexpr Id kVision[] = {
#include "dsl/library/vision.def"
  };
  return info(id).draws != Draws::Never && std::find(std::begin(kVision), std::end(kVision), id) != std::end(kVision);
}
#undef LTR_FUNCTION
#undef LTR_WRITTEN

const Function& info(Id id) { return kFunctions[size_t(id)]; }

Id find(Space space, std::string_view name) {
  const Function wanted = {.name = name, .space = space};
  const auto found = std::lower_bound(kSorted.begin(), kSorted.end(), wanted,
                                      [](Id id, const Function& one) { return comes_before(info(id), one); });
  const bool is_known = found != kSorted.end() && !comes_before(wanted, info(*found));
  return is_known ? *found : Id::None;
}

}  // namespace ltr::library
