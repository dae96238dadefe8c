#include "runtime/cli/size_search.h"

#include <algorithm>

namespace ltr::cli {

LargestSize find_largest(const SizeSearch& search) {
  int64_t good = 0;
  int64_t bad = 0;  // none yet
  int64_t size = search.allowed(std::min(search.first, search.most));
  if (size == 0) size = search.allowed(search.most);
  while (size > 0 && good == 0) {
    if (search.fits(size)) {
      good = size;
    } else {
      bad = size;
      size = search.allowed(size / 2);
    }
  }
  if (good == 0) return {};
  while (bad == 0 && good < search.most) {
    const int64_t next = search.allowed(good > search.most / 2 ? search.most : good * 2);
    if (next <= good) break;
    (search.fits(next) ? good : bad) = next;
  }
  while (bad - good > std::max(good / 32, int64_t(1))) {
    const int64_t next = search.allowed(good + (bad - good) / 2);
    if (next <= good) break;
    (search.fits(next) ? good : bad) = next;
  }
  return {good, bad > 0};
}

}  // namespace ltr::cli
