#pragma once

// Settings as text: what stands on the command line, in `LTR_ARGS`, in JSON.

#include "ltr/api.h"

namespace ltr {

/// Reads `text` as a value of `type` (`int`, `option[float]`, `one_of[a, b]`, `period`, …; "" for any value, as
/// written in `.ltr`; `fixed` for none). Nothing if it is none; `wanted` then says in words what would be.
Option<Value> parse_value(const Str& text, const Str& type, Str& wanted);

/// As it is shown to people, and as it reads back from a config file.
Str show(const Value& value);

/// As a JSON value: numbers, bools and strings stay what they are, all else is text as in `.ltr`.
Str to_json(const Value& value);

}  // namespace ltr
