#pragma once

// The moments at which callbacks run, as an enumeration of hooks.def.

#include <array>
#include <cstdint>

#include "ltr/api.h"

namespace ltr {

enum class Hook : uint8_t {
#define LTR_HOOK(name, role, per, names, doc) name,
#include "runtime/tables/hooks.def"
#undef LTR_HOOK
};
inline constexpr size_t kHookCount = 0
#define LTR_HOOK(name, role, per, names, doc) +1
#include "runtime/tables/hooks.def"
#undef LTR_HOOK
    ;

/// As written in the language, `train_epoch_end`.
const char* hook_name(Hook hook);
/// The hook of that name.
Option<Hook> find_hook(const Str& name);

}  // namespace ltr
