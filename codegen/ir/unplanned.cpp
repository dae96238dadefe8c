#include "codegen/ir/unplanned.h"

#include <algorithm>
#include <set>

namespace ltr::ir {

namespace {

class Search {
 public:
  explicit Search(const Module& module) : module_(module) {}

  std::optional<UnplannedOp> in(const std::string& fn) {
    const Function* function = module_.find(fn);
    if (function == nullptr || !seen_.insert(fn).second) return std::nullopt;
    return in(*function, function->body);
  }

 private:
  std::optional<UnplannedOp> in(const Function& function, const Region& region) {
    for (const Op& op : region.ops) {
      if (const std::optional<Unplanned> what = unplanned(function, op)) return UnplannedOp{*what, op.loc};
      if (op.kind == OpKind::CallFn || op.kind == OpKind::CallMethod || op.kind == OpKind::FnValue) {
        if (const auto found = in(op.name)) return found;
      }
      for (const Region& inner : op.regions) {
        if (const auto found = in(function, inner)) return found;
      }
    }
    return std::nullopt;
  }

  static bool reads_tensor(const Function& function, const Op& op) {
    return std::ranges::any_of(op.operands, [&](ValueId id) { return function.values[id].type.is(TypeKind::Tensor); });
  }

  static std::optional<Unplanned> unplanned(const Function& function, const Op& op) {
    switch (op.kind) {
      case OpKind::Item: return Unplanned::HostRead;
      case OpKind::Minimize:
        return op.find("repeats") != nullptr ? std::optional(Unplanned::RepeatedStep) : std::nullopt;
      case OpKind::Interpolate:
      case OpKind::Print: return reads_tensor(function, op) ? std::optional(Unplanned::HostRead) : std::nullopt;
      case OpKind::CallExtern:
        if (!op.text("backward").empty()) return Unplanned::OwnGradient;
        return reads_tensor(function, op) ? std::optional(Unplanned::OnElements) : std::nullopt;
      case OpKind::CallOp:
      case OpKind::Trainer: return unplanned(op.function);
      default: return std::nullopt;
    }
  }

  static std::optional<Unplanned> unplanned(library::Id function) {
    switch (function) {
      case library::Id::Close:
      case library::Id::Equal: return Unplanned::HostRead;
      case library::Id::DecodeWords:
      case library::Id::DecodeText:
      case library::Id::DecodeRows: return Unplanned::Decoded;
      case library::Id::GradsOf: return Unplanned::GradientsRead;
      case library::Id::OptimizerLr: return Unplanned::RateRead;
      case library::Id::Grad: return Unplanned::InnerGradient;
      default: return std::nullopt;
    }
  }

  const Module& module_;
  std::set<std::string> seen_;
};

}  // namespace

std::optional<UnplannedOp> find_unplanned(const Module& module, const std::string& fn) { return Search(module).in(fn); }

}  // namespace ltr::ir
