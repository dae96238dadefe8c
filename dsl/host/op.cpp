#include "dsl/host/op.h"

#include <iterator>

namespace ltr::host {

namespace {

using enum Form;

// A row says what differs from the rest, by the names of the columns.
constexpr OpInfo kOps[] = {
#define LTR_HOST_OP(op, text, ...) {.name = text __VA_OPT__(, ) __VA_ARGS__},
#include "dsl/host/ops.def"
};

}  // namespace

const OpInfo& info(Op op) { return kOps[size_t(op)]; }

std::optional<Op> find(std::string_view name) {
  for (size_t i = 0; i < std::size(kOps); ++i) {
    if (kOps[i].name == name) return Op(i);
  }
  return std::nullopt;
}

}  // namespace ltr::host
