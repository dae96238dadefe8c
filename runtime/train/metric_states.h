#pragma once

// What a metric has gathered of a part of the data, and how such parts become one: those of ranks, of windows, of runs.

#include <ATen/core/Tensor.h>

#include <vector>

#include "ltr/api.h"

namespace ltr {

/// One tensor for each state, in the order of `Metric::states`.
using MetricStates = std::vector<at::Tensor>;

MetricStates states_of(Metric& metric);
void set_states(Metric& metric, const MetricStates& states);

/// R2006 of a state that is joined by `sum` and begins with anything but 0: each rank, and each part of an epoch, begins with it.
void check_beginnings(const Str& name, Metric& metric);

/// Whether a function of the metric joins its states (`reduce merge`).
bool is_merged(Metric& metric);

/// Whether what a window adds cannot be told from the states of the epoch, so that it gathers by itself and is joined afterwards:
/// of sums it is a difference, of a least or largest value it is not. A mean of what ranks have is no mean of windows.
bool gathers_apart(Metric& metric);

/// The states of all `parts` together, in their order, on the device of the metric: by each state's own rule, where
/// lengths of `cat` may differ, or by the metric's function. No part is empty.
MetricStates joined(Metric& metric, const std::vector<MetricStates>& parts);

}  // namespace ltr
