#pragma once

// Did-you-mean.

#include <vector>

#include "ltr/api.h"

namespace ltr {

/// What another library calls so, `steps` of `max_steps`; else the nearest of `names` within edit distance 2, of a word of
/// less than six letters 1 (`-` and `_` are alike); or else the only one that begins with `word`, of at least three letters;
/// "" if there is none.
Str nearest(const Str& word, const std::vector<Str>& names);

}  // namespace ltr
