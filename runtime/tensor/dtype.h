#pragma once

#include "ltr/api.h"

namespace ltr {

/// As in `.ltr`: `float`, `i64`.
const char* to_text(DType dtype);

}  // namespace ltr
