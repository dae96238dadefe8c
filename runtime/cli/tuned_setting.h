#pragma once

// The option that gives a run what a finder found: that of the hparam behind a setting, else `--set`. Which hparam that is shows
// when it has another value.

#include "runtime/cli/prepare.h"

namespace ltr::cli {

/// `start` with one option more, resolved, for looks alone: it loads no device. Nothing if its settings do not allow the option.
std::unique_ptr<Start> with_option(const Start& start, const GivenOption& given);
std::unique_ptr<Start> with_options(const Start& start, const std::vector<GivenOption>& given);

/// For the rate of `optimizer`; `from` says who found it. Of several optimizers it moves no other one. The model of `start` has been
/// built, and gone.
GivenOption rate_option(const Start& start, const Str& optimizer, double rate, const char* from);

/// What sets the batch size of the train stream, as an option that lacks its value yet. The data of `start`, which is opened, is read in
/// batches of `size`. Nothing if no setting does.
Option<GivenOption> batch_option(const Start& start, int64_t size, const char* from);
/// The same with its value.
GivenOption with_value(GivenOption option, const Str& value);

/// `--lr 0.012`, as one types it.
Str typed(const GivenOption& option);

}  // namespace ltr::cli
