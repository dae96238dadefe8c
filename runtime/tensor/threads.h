#pragma once

namespace ltr {

/// Lets compute threads that wait for each other go to sleep after a thousand spins instead of 300,000. On a machine
/// that others use too, a spinning thread keeps the core from the one it waits for: an LSTM step took 435 ms instead
/// of 5. The number is OpenMP's own for more threads than cores, so this makes one more. Later calls do nothing.
void share_cores();

}  // namespace ltr
