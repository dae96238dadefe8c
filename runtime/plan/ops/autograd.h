#pragma once

// LibTorch's autograd inside of what runs below it.

#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <utility>

namespace ltr::plan {

/// Graphs run below autograd; while it lives autograd is there again.
class WithAutograd {
 public:
  WithAutograd() : above_(keys().first, keys().second), grad_(true) {}

 private:
  static std::pair<c10::DispatchKeySet, c10::DispatchKeySet> keys() {
    const c10::impl::LocalDispatchKeySet here = c10::impl::tls_local_dispatch_key_set();
    return {here.included_, here.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView};
  }
  c10::impl::ForceDispatchKeyGuard above_;
  c10::AutoGradMode grad_;
};

}  // namespace ltr::plan
