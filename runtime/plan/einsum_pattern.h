#pragma once

#include <vector>

#include "ltr/api.h"

namespace ltr::plan {

/// Of Einstein's sum: a letter for each axis of each factor, and of the result. Dots are letters that the pattern does not use.
struct EinsumPattern {
  std::vector<Str> factors;
  Str result;
};

/// `ranks`: the axes that each factor has.
EinsumPattern read_einsum(Str text, const std::vector<size_t>& ranks);

}  // namespace ltr::plan
