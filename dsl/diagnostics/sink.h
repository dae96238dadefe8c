#pragma once

#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "dsl/diagnostics/diagnostic.h"

namespace ltr::diagnostics {

/// Collects what the phases report. Exact duplicates are dropped; after `max_errors` errors it takes no more
/// and says so with E0010.
class Sink {
 public:
  static constexpr size_t kMaxErrors = 1'000;

  explicit Sink(size_t max_errors = kMaxErrors) : max_errors_(max_errors) {}

  void report(Diagnostic diagnostic);
  /// Takes back what `is_consequence` of a mistake, or of a meaning, that is known by now.
  void withdraw(const std::function<bool(const Diagnostic&)>& is_consequence);

  bool has_errors() const { return error_count_ > 0; }
  size_t error_count() const { return error_count_; }
  size_t warning_count() const { return warning_count_; }
  /// A phase may stop early: nothing more will be shown, neither here nor of the sink that what is here goes to.
  bool is_full() const { return is_full_ || (outer_ != nullptr && outer_->is_full()); }
  /// What is here may go to `outer` later.
  void lies_in(const Sink* outer) { outer_ = outer; }

  /// In the order of reporting.
  const std::vector<Diagnostic>& reported() const { return diagnostics_; }
  /// By file (in the order of loading) and position; those without a place first, E0010 last. Without what only follows on
  /// something else that is told.
  std::vector<Diagnostic> sorted() const;

 private:
  size_t max_errors_;
  size_t error_count_ = 0;
  size_t warning_count_ = 0;
  bool is_full_ = false;
  const Sink* outer_ = nullptr;
  std::vector<Diagnostic> diagnostics_;
  std::set<std::tuple<Code, Span, std::string>> seen_;
};

/// Of sorted diagnostics what is told: that no loss reaches something waits until all that is computed is read, and sizes that do
/// not fit are one mistake at the place that asks for them, or at the first of several that are told in the same words.
std::vector<Diagnostic> without_consequences(std::vector<Diagnostic> sorted);

/// Diagnostics as people read them: what is said of a name in the same words at several places is one mistake, at the first of
/// them, with the others as labels. Its fixes are those of all places.
std::vector<Diagnostic> joined(std::vector<Diagnostic> diagnostics);

}  // namespace ltr::diagnostics
