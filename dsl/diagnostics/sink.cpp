#include "dsl/diagnostics/sink.h"

#include <algorithm>
#include <utility>

namespace ltr::diagnostics {

void Sink::report(Diagnostic diagnostic) {
  if (is_full_) return;
  if (!seen_.emplace(diagnostic.code, diagnostic.span, diagnostic.message).second) return;
  if (diagnostic.severity == Severity::Error) {
    if (error_count_ == max_errors_) {
      is_full_ = true;
      return;
    }
    ++error_count_;
  } else {
    ++warning_count_;
  }
  diagnostics_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Sink::sorted() const {
  std::vector<Diagnostic> out = diagnostics_;
  std::stable_sort(out.begin(), out.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.span, a.code) < std::tie(b.span, b.code);
  });
  if (is_full_) out.push_back(diag::too_many_errors({}, max_errors_));
  return out;
}

}  // namespace ltr::diagnostics
