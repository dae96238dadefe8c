#pragma once

namespace ltr {

/// From here on the process ends once its own objects and those of this library are destroyed. What would be left is LibTorch's: it
/// registers ten thousand functions when it is loaded, and takes each of them back, in a third of the time that a start takes.
/// Called in `main`.
void end_before_libraries();

}  // namespace ltr
