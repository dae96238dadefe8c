#pragma once

namespace ltr::driver {

/// Makes what is printed on standard output end in one place, which keeps the reason if it cannot be written. Before
/// anything is printed.
void watch_output();

/// What ltrc ends with, if it would end with `code`: 1, and an error, if not all of its output could be written. A reader
/// that closed its pipe has all that it wanted: then it is `code`.
int end_output(int code);

}  // namespace ltr::driver
