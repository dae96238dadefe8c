#include "codegen/ir/op.h"

#include <array>

namespace ltr::ir {
namespace {

constexpr std::array kOps = {
#define LTR_OP(Kind, name, operands, effect, traits) OpInfo{OpKind::Kind, #name, operands, Effect::effect, traits},
#include "codegen/ir/ops.def"
};

OpInfo call_of(library::Id id) {
  const library::Function& function = library::info(id);
  if (function.operands.empty()) return kOps[static_cast<size_t>(OpKind::CallOp)];
  const bool draws = function.draws != library::Draws::Never;
  return {OpKind::CallOp, function.name, function.operands, draws ? Effect::Rng : Effect::None, 0};
}

const std::array kCalls = {
    call_of(library::Id::None),
#define LTR_ROW(id, name, space, rule, ...) call_of(library::Id::id),
#include "dsl/library/functions.def"
};

}  // namespace

const OpInfo& info(OpKind kind) { return kOps[static_cast<size_t>(kind)]; }

const OpInfo& call_info(library::Id function) { return kCalls[static_cast<size_t>(function)]; }

const OpInfo* find_op(std::string_view name) {
  for (const OpInfo& op : kOps) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

std::string_view to_text(Effect effect) {
  switch (effect) {
    case Effect::None: return "none";
    case Effect::ReadParam: return "read_param";
    case Effect::ReadBuffer: return "read_buffer";
    case Effect::WriteBuffer: return "write_buffer";
    case Effect::Rng: return "rng";
    case Effect::Minimize: return "minimize";
    case Effect::Log: return "log";
    case Effect::HostSync: return "host_sync";
    case Effect::Io: return "io";
    case Effect::Region: return "region";
    case Effect::Exit: return "exit";
  }
  return "";
}

}  // namespace ltr::ir
