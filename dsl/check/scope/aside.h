#pragma once

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// Takes what is reported while it lives, which is not told by that.
class Aside {
 public:
  Aside(Context& cx, diagnostics::Sink& into) : cx_(cx), outer_(cx.sink), is_too_deep_(cx.told.is_too_deep) {
    cx_.sink = &into;
    into.lies_in(outer_);
  }
  ~Aside() {
    cx_.sink->lies_in(nullptr);
    cx_.sink = outer_;
    cx_.told.is_too_deep = is_too_deep_;
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  Context& cx_;
  diagnostics::Sink* outer_;
  bool is_too_deep_;
};

}  // namespace ltr::check
