#pragma once

#include <string>
#include <vector>

#include "ltrc/diff_side.h"

namespace ltr::driver {

/// One thing that is otherwise on the two sides; empty: it is not there.
struct Change {
  std::string section;  ///< `trainer`, `model` …
  std::string name;
  std::string before;
  std::string after;
  std::string effect;  ///< `+401,408 weights`
};

/// Two experiments side by side.
struct Comparison {
  std::string name;  ///< `mnist`, or `mnist, now mnist_wide`
  bool is_same = false;
  std::string hash_before, hash_after;
  std::vector<Change> changes;
  std::vector<std::string> without_effect;
};

/// Pairs the experiments of both sides by name, then by what they compute, and compares each pair.
/// One that has no partner is a difference.
std::vector<Comparison> compare(const Side& before, const Side& after);

std::string human_report(const std::vector<Comparison>& comparisons);
std::string markdown_report(const std::vector<Comparison>& comparisons);
std::string json_report(const std::vector<Comparison>& comparisons);

}  // namespace ltr::driver
