#pragma once

// Operators and functions of host values, once for all phases.

#include <cstdint>
#include <optional>
#include <string_view>

namespace ltr::host {

enum class Op : uint8_t {
#define LTR_HOST_OP(op, name, ...) op,
#include "dsl/host/ops.def"
};

/// How a program calls an op as a function.
enum class Form : uint8_t { Sign, Real, Rounding, Same };

/// A row of `ops.def`, which explains the columns.
struct OpInfo {
  std::string_view name;
  Form form = Form::Sign;
  bool may_fail = false;
  bool is_rounded = false;
};

const OpInfo& info(Op op);

/// The op of this name.
std::optional<Op> find(std::string_view name);

}  // namespace ltr::host
