#include "dsl/check/scope/reported.h"

#include <algorithm>
#include <cctype>

namespace ltr::check {

bool is_reported(const Context& cx, diagnostics::Code code, Span span) {
  return std::ranges::any_of(cx.sink->reported(),
                             [&](const auto& one) { return one.code == code && one.span == span; });
}

namespace {

/// Whether `name` stands in a piece of code as a word.
bool mentions(const std::string& code, const std::string& name) {
  const auto is_part = [&](size_t at) {
    return at < code.size() && (std::isalnum(static_cast<unsigned char>(code[at])) != 0 || code[at] == '_');
  };
  for (size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1)) {
    const bool is_begun = at > 0 && (is_part(at - 1) || code[at - 1] == '.');
    if (!is_begun && !is_part(at + name.size())) return true;
  }
  return false;
}

}  // namespace

void withdraw_uses(const FnInfo& fn, const std::vector<std::string>& names, Context& cx, bool of_sizes) {
  const ast::Fn& written = *fn.ast;
  if (written.body.empty() && !written.value) return;
  const Span body =
      written.body.empty() ? written.value->span : source::join(written.body.front().span, written.body.back().span);
  const auto is_use = [&](Span span) {
    const bool is_within = span.source == body.source && body.begin <= span.begin && span.end <= body.end;
    return is_within &&
           std::ranges::any_of(names, [&](const std::string& name) { return mentions(cx.source_text(span), name); });
  };
  cx.sink->withdraw([&](const diagnostics::Diagnostic& one) {
    // What is built elsewhere is told there, and the use is a label.
    const bool is_of_member = one.code == diagnostics::Code::E0303 || one.code == diagnostics::Code::E0305;
    if (of_sizes && !is_of_member && one.code != diagnostics::Code::E0304) return false;
    return is_use(one.span) || (is_of_member && std::ranges::any_of(one.labels, [&](const diagnostics::Label& label) {
                                  return is_use(label.span);
                                }));
  });
}

}  // namespace ltr::check
