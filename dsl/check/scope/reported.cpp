#include "dsl/check/scope/reported.h"

#include <algorithm>

namespace ltr::check {

bool is_reported(const Context& cx, diagnostics::Code code, Span span) {
  return std::ranges::any_of(cx.sink->reported(),
                             [&](const auto& one) { return one.code == code && one.span == span; });
}

}  // namespace ltr::check
