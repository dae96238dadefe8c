#pragma once

#include "dsl/check/types/types.h"

namespace ltr::check {

/// What is given for a param.
struct GivenFor {
  const std::string& what;  ///< "`target` of `mse`"
  bool is_op = false;       ///< of a function that the runtime defines
  std::string text;         ///< as it is written
};

/// How the elements of `given` become those that are wanted, or what is meant in its place.
std::string element_cure(const GivenFor& param, const Type& wanted, const Type& given);
/// Adds what takes numbers of classes where a loss takes yes or no for each: the other dims are `bound`, and here are `given`.
void help_of_one_class(diagnostics::Diagnostic& diagnostic, const std::string& what, const std::vector<Dim>& bound,
                       const std::vector<Dim>& given);

}  // namespace ltr::check
