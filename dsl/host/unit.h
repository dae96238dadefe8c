#pragma once

#include <span>
#include <string_view>

namespace ltr::host {

/// What a number with a unit counts.
enum class Measure { Steps, Epochs, Seconds, Bytes };

struct Unit {
  std::string_view written;
  std::string_view read;  ///< `epochs` for `epoch`
  Measure measure;
  double factor;  ///< of it in one of the measure
};

/// The rows of `unit.def`.
std::span<const Unit> units();

/// The unit that is written so, or null.
const Unit* find_unit(std::string_view written);

/// As the runtime knows it: "steps" "epochs" "seconds" "bytes".
std::string_view to_text(Measure measure);

}  // namespace ltr::host
