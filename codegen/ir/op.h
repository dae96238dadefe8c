#pragma once

#include <cstdint>
#include <string_view>

#include "dsl/library/library.h"

namespace ltr::ir {

/// What an op does besides giving results; each is explained in `ops.def`.
enum class Effect { None, ReadParam, ReadBuffer, WriteBuffer, Rng, Minimize, Log, HostSync, Io, Region, Exit };

enum Trait : uint32_t { Cheap = 1, Placed = 2 };

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

/// A call of this function of the library: by its own name if passes know it, else `call.op`.
const OpInfo& call_info(library::Id function);

/// The op of this name, or null.
const OpInfo* find_op(std::string_view name);

std::string_view to_text(Effect effect);

}  // namespace ltr::ir
