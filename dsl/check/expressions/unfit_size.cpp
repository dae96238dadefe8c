#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// LibTorch counts dims in the bits of one word.
constexpr size_t kMostDims = 64;

/// What a size of `type` suffers from.
Polynomial::Loss loss_of(const Type& type) {
  if (type.value && type.value->loss() != Polynomial::Loss::None) return type.value->loss();
  for (const Dim& dim : type.dims) {
    if (dim.size.loss() != Polynomial::Loss::None) return dim.size.loss();
  }
  for (const TypeField& field : type.fields) {
    if (const auto loss = loss_of(field.type); loss != Polynomial::Loss::None) return loss;
  }
  return Polynomial::Loss::None;
}

}  // namespace

bool report_unfit_size(const Type& type, Span span, Context& cx) {
  if (type.dims.size() > kMostDims) {
    cx.report(diag::dim_overflow(span, "a tensor of " + std::to_string(type.dims.size()) + " dims",
                                 "is more than one can be: " + std::to_string(kMostDims) + " are the most"));
    return true;
  }
  const Polynomial::Loss loss = loss_of(type);
  if (loss == Polynomial::Loss::None) return false;
  const std::string reason = loss == Polynomial::Loss::Overflow
                                 ? "does not fit into 64 bits"
                                 : "has more than " + std::to_string(Polynomial::kMostTerms) + " terms";
  const bool is_int = type.kind == Kind::Int;
  diagnostics::Diagnostic diagnostic =
      diag::dim_overflow(span, (is_int ? "`" : "the size `") + cx.source_text(span) + "`", reason);
  if (loss == Polynomial::Loss::Overflow && is_int)
    diagnostic.help("the largest int is {}; a float such as `1e20` goes beyond", std::to_string(INT64_MAX));
  cx.report(std::move(diagnostic));
  return true;
}

}  // namespace ltr::check
