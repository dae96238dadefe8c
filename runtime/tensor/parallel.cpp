#include "runtime/tensor/parallel.h"

#include <ATen/Parallel.h>

namespace ltr {

// ATen's template is parallel only where OpenMP is compiled, which this file alone is.
void parallel_for(int64_t begin, int64_t end, int64_t grain, c10::function_ref<void(int64_t, int64_t)> part) {
  at::parallel_for(begin, end, grain, part);
}

}  // namespace ltr
