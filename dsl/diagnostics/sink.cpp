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

void Sink::withdraw(const std::function<bool(const Diagnostic&)>& is_consequence) {
  std::erase_if(diagnostics_, [&](const Diagnostic& one) {
    const bool goes = is_consequence(one);
    error_count_ -= goes && one.severity == Severity::Error ? 1 : 0;
    return goes;
  });
}

std::vector<Diagnostic> Sink::sorted() const {
  const auto by_place = [](const Diagnostic& one) { return std::tie(one.span, one.code); };
  std::vector<Diagnostic> out = diagnostics_;
  std::ranges::stable_sort(out, {}, by_place);
  out = without_consequences(std::move(out));
  std::ranges::stable_sort(out, {}, by_place);  // What several uses break stands where it is asked for.
  if (is_full_) out.push_back(diag::too_many_errors({}, max_errors_));
  return out;
}

namespace {

/// Whether it speaks of something that is named: of what is not there, of a size of what is given to it, or of a field that no batch of
/// whatever stream can hold.
bool is_of_names(const Diagnostic& one) {
  const Code code = one.code;
  return code == Code::E0301 || code == Code::E0302 || code == Code::E0308 || code == Code::E0311 ||
         code == Code::E0312 || code == Code::E0415 || code == Code::E0506 || code == Code::E0610 ||
         (code == Code::E0303 && one.message.starts_with('`'));
}

}  // namespace

std::vector<Diagnostic> joined(std::vector<Diagnostic> diagnostics) {
  std::vector<Diagnostic> out;
  for (Diagnostic& one : diagnostics) {
    const auto first = std::find_if(out.begin(), out.end(), [&](const Diagnostic& other) {
      return is_of_names(one) && other.code == one.code && other.message == one.message &&
             (one.helps.empty() || other.helps == one.helps) && other.span.source == one.span.source;
    });
    if (first == out.end()) {
      out.push_back(std::move(one));
      continue;
    }
    first->label(one.span, "here, too");
    first->fixes.insert(first->fixes.end(), one.fixes.begin(), one.fixes.end());
  }
  return out;
}

}  // namespace ltr::diagnostics
