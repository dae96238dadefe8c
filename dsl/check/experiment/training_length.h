#pragma once

// How long an experiment trains, as far as the program tells.

#include "dsl/check/scope/context.h"
#include "dsl/host/unit.h"

namespace ltr::check {

struct TrainingLength {
  std::optional<int64_t> steps;   ///< as the trainer says
  std::optional<int64_t> epochs;  ///< as the trainer says
  Span steps_span;
  Span epochs_span;
  bool has_epochs = false;
  bool has_steps = false;
  bool is_written = true;                ///< as numbers, none of which is an hparam
  std::optional<int64_t> counted_steps;  ///< in all epochs, of records that the program counts
  std::optional<int64_t> most_steps;     ///< the same, or more where `filter` may leave some out
  std::optional<int64_t> most_epochs;    ///< in all steps, begun ones too

  /// As the trainer says.
  std::optional<int64_t> said_in(host::Measure measure) const;
  /// So, or counted; nothing where only the data tells.
  std::optional<int64_t> all_in(host::Measure measure) const;
  /// The same, or more where only a bound is known.
  std::optional<int64_t> most_in(host::Measure measure) const;
  /// What the program says of it.
  Span end_of(host::Measure measure) const;
};

TrainingLength training_length(Context& cx, const Experiment& experiment);

}  // namespace ltr::check
