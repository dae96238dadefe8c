#pragma once

// How much a stream delivers, as far as the program tells.

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// What a stream of an experiment collates.
struct Batches {
  int64_t records = 0;  ///< of an epoch, at most
  int64_t size = 0;     ///< of a batch
  bool drops_last = false;
  bool is_exact = false;  ///< `records` are all that there are
  Span lost_windows;      ///< a `window` that is longer than what it slides over
  Span size_span;
  Span drop_span;

  /// Of an epoch, at most.
  int64_t most() const { return drops_last ? records / size : (records + size - 1) / size; }
};
/// Nothing where the records cannot be counted, or come to no end.
std::optional<Batches> batches_of(const StreamDecl& stream, const Experiment& experiment, Context& cx);

}  // namespace ltr::check
