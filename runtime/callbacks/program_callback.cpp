#include "runtime/callbacks/program_callback.h"

#include <algorithm>

#include "runtime/api/error.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

void visit_state(Archive& archive, const Callback::State& state) {
  const Str type = state.type;
  if (type == "int") return archive.value(state.name, *static_cast<int64_t*>(state.address));
  if (type == "float") return archive.value(state.name, *static_cast<double*>(state.address));
  if (type == "bool") return archive.value(state.name, *static_cast<bool*>(state.address));
  archive.value(state.name, *static_cast<Str*>(state.address));
}

}  // namespace

ProgramCallback::ProgramCallback(uint64_t number, const CallbackInfo& info, std::unique_ptr<Callback> callback,
                                 uint64_t seed)
    : number_(number), callback_(std::move(callback)), seed_(seed) {
  for (size_t index = 0; index < info.hooks.size(); index++) {
    const Option<Hook> hook = find_hook(info.hooks[index]);
    if (!hook) {
      throw error_at(
          info.location, err::settings_contradict,
          fmt::format("the callback {} wants a hook {}, which does not exist", info.name, info.hooks[index]));
    }
    hooks_.push_back({*hook, int(index)});
  }
}

std::vector<Hook> ProgramCallback::hooks() const {
  std::vector<Hook> list;
  for (const Own& own : hooks_) {
    if (std::find(list.begin(), list.end(), own.hook) == list.end()) list.push_back(own.hook);
  }
  return list;
}

void ProgramCallback::hear(Hook hook, Context& cx) {
  const ModeScope mode(false, false);
  for (Own& own : hooks_) {
    if (own.hook != hook) continue;
    // A step that it stands in draws on as if it were not there.
    const DrawScope draws({random_key(seed_, "hook", {number_, uint64_t(hook), own.count++}), 0});
    callback_->run(own.index, cx);
  }
}

void ProgramCallback::visit(Archive& archive) {
  {
    const Archive::Part counts(archive, "hooks");
    for (Own& own : hooks_) {
      const Str name = fmt::format("{}.{}", hook_name(own.hook), own.index);
      if (archive.has(name)) archive.value(name, own.count);
    }
  }
  const Archive::Part states(archive, "state");
  for (const Callback::State& state : callback_->states()) {
    if (archive.has(state.name)) {
      visit_state(archive, state);
    } else {
      archive.note(fmt::format("the state {} was not in the checkpoint and keeps its initial value", state.name));
    }
  }
}

}  // namespace ltr
