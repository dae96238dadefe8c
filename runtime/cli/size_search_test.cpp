#include "runtime/cli/size_search.h"

#include <doctest/doctest.h>

#include <vector>

namespace ltr::cli {

namespace {

struct Tried {
  LargestSize found;
  std::vector<int64_t> sizes;
};

/// What is found from `first` on where `limit` fits and no more, in multiples of `unit`.
Tried largest(int64_t first, int64_t most, int64_t limit, int64_t unit = 1) {
  Tried tried;
  tried.found = find_largest({first, most, [&](int64_t size) { return size / unit * unit; },
                              [&](int64_t size) {
                                tried.sizes.push_back(size);
                                return size <= limit;
                              }});
  return tried;
}

}  // namespace

TEST_CASE("sizes are doubled until one does not fit, then what lies between is halved") {
  const Tried tried = largest(16, 100000, 100);
  CHECK(tried.found.size == 100);
  CHECK(tried.found.is_limited);
  CHECK(tried.sizes == std::vector<int64_t>{16, 32, 64, 128, 96, 112, 104, 100, 102});
}

TEST_CASE("the largest size is found to a thirty-second, from any first one") {
  for (const int64_t limit : {1, 2, 3, 31, 1000, 12345}) {
    for (const int64_t first : {1, 7, 64, 50000}) {
      const Tried tried = largest(first, 100000, limit);
      CAPTURE(limit);
      CAPTURE(first);
      CHECK(tried.found.size <= limit);
      CHECK(tried.found.size >= limit - std::max<int64_t>(limit / 32, 0));
      CHECK(tried.found.is_limited);
      for (size_t i = 1; i < tried.sizes.size(); i++) CHECK(tried.sizes[i] != tried.sizes[i - 1]);
    }
  }
}

TEST_CASE("where everything fits the largest one is it") {
  const Tried tried = largest(24, 413, 1000000);
  CHECK(tried.found.size == 413);
  CHECK(!tried.found.is_limited);
  CHECK(tried.sizes.back() == 413);
  CHECK(largest(1000, 413, 1000000).sizes == std::vector<int64_t>{413});
}

TEST_CASE("only allowed sizes are tried") {
  const Tried tried = largest(20, 1000, 200, 8);
  CHECK(tried.found.size == 200);
  for (const int64_t size : tried.sizes) CHECK(size % 8 == 0);
  CHECK(largest(20, 1000, 3, 8).found.size == 0);
  CHECK(largest(3, 1000, 64, 8).found.size == 64);  // none is allowed that is as small as the first
}

}  // namespace ltr::cli
