#pragma once

#include <cstdint>
#include <string_view>

namespace ltr::ir {

/// What an op does besides giving results; each is explained in `ops.def`.
enum class Effect { None, ReadParam, ReadBuffer, WriteBuffer, Rng, Minimize, Log, HostSync, Io, Region, Exit };

enum Trait : uint32_t { Differentiable = 1, Elementwise = 2, Library = 4, Host = 8, Cheap = 16 };

enum class OpKind : uint16_t {
#define LTR_OP(Kind, name, operands, effect, traits) Kind,
#include "codegen/ir/ops.def"
};

struct OpInfo {
  OpKind kind;
  std::string_view name;
  std::string_view operands;
  Effect effect;
  uint32_t traits;
  bool has(Trait trait) const { return (traits & trait) != 0; }
};

const OpInfo& info(OpKind kind);

/// The op of this name, or null.
const OpInfo* find_op(std::string_view name);

/// The library function `name` as an op: its own kind if `ops.def` has it, else `CallOp`.
OpKind library_op(std::string_view name);

std::string_view to_text(Effect effect);

}  // namespace ltr::ir
