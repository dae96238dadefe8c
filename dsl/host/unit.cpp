#include "dsl/host/unit.h"

#include <algorithm>

namespace ltr::host {

namespace {

constexpr Unit kUnits[] = {
#define LTR_UNIT(written, read, measure, factor) {written, read, Measure::measure, factor},
#include "dsl/host/unit.def"
};

}  // namespace

std::span<const Unit> units() { return kUnits; }

const Unit* find_unit(std::string_view written) {
  const auto found =
      std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& unit) { return unit.written == written; });
  return found == std::end(kUnits) ? nullptr : found;
}

std::string_view to_text(Measure measure) {
  switch (measure) {
    case Measure::Steps: return "steps";
    case Measure::Epochs: return "epochs";
    case Measure::Seconds: return "seconds";
    case Measure::Bytes: return "bytes";
  }
  return "";
}

}  // namespace ltr::host
