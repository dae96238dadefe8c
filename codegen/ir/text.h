#pragma once

#include <string>
#include <string_view>

#include "codegen/ir/step.h"

namespace ltr::ir {

/// The stable text form:
///   fn Net.forward(%0 : block Net, %1 : float[B, 4]) -> float[B, 10] method {
///     %2 : float[10, 4] = read_param @fc.weight (%0)  loc(12:8)
///     %3 : float[B, 10] = linear (%1, %2, none)  loc(12:8)
///     return (%3)
///   }
/// Values are numbered in order of appearance, so equal functions have equal text.
std::string print(const Module& module);
std::string print(const Function& function, const DimStore& dims);

struct ReadError {
  int line = 0;
  std::string message;
};

/// Reads what `print` writes. Gives the first mistake, if any, in `error`.
std::optional<Module> read(std::string_view text, ReadError& error);

/// What is wrong with a module: dominance, types, arity, regions, calls. Empty if it is sound.
std::vector<std::string> verify(const Module& module);

}  // namespace ltr::ir
