#include "runtime/train/bucket_trial.h"

#include <doctest/doctest.h>

#include <map>

#include "runtime/train/fake_ranks.h"

namespace ltr::fake {

TEST_CASE("the size of buckets that the slowest rank likes best, after ten windows of each") {
  // The first window of a size makes the buckets; the second rank is the slow one, but for a single window.
  const std::map<int64_t, double> slow = {{8, 0.3}, {25, 0.1}, {64, 0.2}};
  as_two([&](const Ranks& ranks) {
    BucketTrial trial;
    std::vector<int64_t> changes;
    int windows = 0;
    for (; !trial.is_over(); windows++) {
      const int64_t mib = trial.size() >> 20;
      const bool is_first = windows % BucketTrial::kWindows == 0;
      const double seconds = is_first ? 9 : ranks.rank() == 1 ? slow.at(mib) : windows % 7 == 3 ? 5 : 0.05;
      if (trial.took(seconds, ranks)) changes.push_back(trial.size() >> 20);
    }
    CHECK(windows == 30);
    CHECK(changes == std::vector<int64_t>{25, 64, 25});
    CHECK(trial.found() ==
          "bucket = auto: 25 MiB from here on; 300.0 ms with 8 MiB, 100.0 ms with 25 MiB, 200.0 ms with 64 MiB");
  });
}

}  // namespace ltr::fake
