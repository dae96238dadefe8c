#pragma once

// Classes and ids that do not exist.

#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "ltr/api.h"

namespace ltr {

/// R3007 for the first of `ids` outside of [0, count) that is not `ignored`, with the sample that holds it: the first
/// axis is the batch. Returns if there is none. `can_ignore`: these are labels, of which some may be left
/// out, and the error says how.
void need_in_range(const at::Tensor& ids, int64_t count, std::optional<int64_t> ignored, const char* what,
                   bool can_ignore);

/// Runs `body`, whose kernel finds ids out of range by itself; only then are they looked through.
template <class Body>
auto in_range(const at::Tensor& ids, int64_t count, std::optional<int64_t> ignored, const char* what, bool can_ignore,
              Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const c10::Error&) {
    need_in_range(ids, count, ignored, what, can_ignore);
    throw;
  }
}

}  // namespace ltr
