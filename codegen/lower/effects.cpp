#include "codegen/lower/shared.h"

namespace ltr::lower {

using ir::OpKind;

namespace {

class EffectWalk {
 public:
  EffectWalk(const ir::Module& module, Effects& effects) : module_(module), effects_(effects) {}

  void region(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      if (op.kind == OpKind::LogValue) effects_.logs.insert(int(op.number("slot")));
      if (op.effect() == ir::Effect::Minimize) effects_.minimizes = true;
      if (op.effect() == ir::Effect::Rng) effects_.draws_random = true;
      if ((op.kind == OpKind::CallFn || op.kind == OpKind::CallMethod) && seen_.insert(op.name).second) {
        if (const ir::Function* callee = module_.find(op.name)) this->region(callee->body);
      }
      for (const ir::Region& inner : op.regions) this->region(inner);
    }
  }

 private:
  const ir::Module& module_;
  Effects& effects_;
  std::set<std::string> seen_;
};

}  // namespace

void add_effects(const ir::Function& function, const ir::Module& module, Effects& effects) {
  EffectWalk(module, effects).region(function.body);
}

}  // namespace ltr::lower
