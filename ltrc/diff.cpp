#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "ltrc/commands.h"
#include "ltrc/compare.h"
#include "ltrc/exit_code.h"

namespace ltr::driver {

namespace {

/// `diff` says with 2 that it could not compare.
constexpr int kTrouble = 2;

int print_result(const std::vector<Comparison>& comparisons, const DiffOptions& options) {
  fmt::print("{}", options.json       ? json_report(comparisons)
                   : options.markdown ? markdown_report(comparisons)
                                      : human_report(comparisons));
  return std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison& one) { return one.is_same; })
             ? kOk
             : kErrors;
}

std::optional<std::vector<Comparison>> compare_sides(const std::string& before, const std::string& after,
                                                     const Common& common) {
  Side left, right;
  if (!locate(before, left) || !locate(after, right)) return std::nullopt;
  if (!read_forms(left, common) || !read_forms(right, common)) return std::nullopt;
  for (const Side* side : {&left, &right}) {
    if (!side->forms.empty()) continue;
    fmt::print(stderr, "error: {} has no experiment to compare\n", side->name);
    return std::nullopt;
  }
  return compare(left, right);
}

/// `BASE..HEAD [FILES]`: each file at both revisions.
int compare_revisions(const DiffOptions& options, size_t dots, const Common& common) {
  const std::string base = options.sides[0].substr(0, dots);
  std::string head = options.sides[0].substr(dots + 2);
  if (head.empty()) head = "HEAD";
  std::vector<ChangedFile> files;
  for (size_t i = 1; i < options.sides.size(); ++i) files.push_back({'M', options.sides[i]});
  if (files.empty()) {
    const auto changed = changed_files(base, head);
    if (!changed) return kTrouble;
    files = *changed;
  }
  int status = kOk;
  std::vector<Comparison> all;
  for (const auto& [state, file] : files) {
    if (state == 'A' || state == 'D') {
      Comparison whole;
      whole.name = file;
      const std::string there = "is there";
      whole.changes.push_back({"program", file, state == 'D' ? there : "", state == 'A' ? there : "", ""});
      all.push_back(std::move(whole));
      continue;
    }
    const auto comparisons = compare_sides(file + "@" + base, file + "@" + head, common);
    if (!comparisons) {
      status = kTrouble;
      continue;
    }
    for (Comparison comparison : *comparisons) {
      comparison.name = file + " " + comparison.name;
      all.push_back(std::move(comparison));
    }
  }
  return std::max(status, print_result(all, options));
}

}  // namespace

int run_diff(const DiffOptions& options, const Common& common) {
  std::error_code error;
  const size_t dots = options.sides[0].find("..");
  const bool is_range = dots != std::string::npos && dots > 0 && options.sides[0].find('/') == std::string::npos &&
                        !std::filesystem::exists(options.sides[0], error);
  if (is_range) return compare_revisions(options, dots, common);
  if (options.sides.size() != 2) {
    fmt::print(stderr,
               "error: ltrc diff compares two sides\n  = help: ltrc diff A.ltr B.ltr, ltrc "
               "diff A.ltr@main A.ltr, ltrc diff main..HEAD\n");
    return kTrouble;
  }
  const auto comparisons = compare_sides(options.sides[0], options.sides[1], common);
  return comparisons ? print_result(*comparisons, options) : kTrouble;
}

}  // namespace ltr::driver
