#pragma once

#include <cstdint>

namespace ltr {

/// What keeps a step from a plan wherever it stands: unplanned.def.
enum class Unplanned : uint8_t {
#define LTR_UNPLANNED(name, reason) name,
#include "runtime/tables/unplanned.def"
};

/// What the step does, behind `it`.
constexpr const char* reason_of(Unplanned what) {
  constexpr const char* kReasons[] = {
#define LTR_UNPLANNED(name, reason) reason,
#include "runtime/tables/unplanned.def"
  };
  return kReasons[uint8_t(what)];
}

}  // namespace ltr
