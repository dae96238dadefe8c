#include <algorithm>

#include "dsl/check/declarations/hook.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// `val` of `val_batch_end`.
std::string role_of(const std::string& hook) { return hook.substr(0, hook.find('_')); }

bool delivers(const StreamDecl& stream, const std::string& field) {
  return stream.record.is_error() || std::any_of(stream.record.fields.begin(), stream.record.fields.end(),
                                                 [&](const TypeField& one) { return one.name == field; });
}

bool is_listed(const Object& callback, const Experiment& experiment) {
  return std::any_of(experiment.callbacks.begin(), experiment.callbacks.end(),
                     [&](const Expr& one) { return one.get<node::Call>()->name == callback.name; });
}

}  // namespace

std::vector<FieldRead> fields_read_by(const Fn& hook, const Program& program) {
  constexpr std::string_view kBatch = "batch.";
  std::vector<FieldRead> reads;
  if (hook.role != FnRole::Hook) return reads;
  for_each_expr(hook.body, program, [&](const ExprView& expr) {
    const auto* brought = expr.get<node::Context>();
    if (brought != nullptr && brought->name.starts_with(kBatch))
      reads.push_back({brought->name.substr(kBatch.size()), expr.span});
    if (expr.is<node::Error>()) reads.push_back({"", expr.span});
  });
  return reads;
}

void check_hook_fields(Context& cx, const Experiment& experiment) {
  const DataObject& data = cx.program.datas[experiment.data];
  if (data.object.is_damaged) return;
  for (const Object& callback : cx.program.callbacks) {
    if (!is_listed(callback, experiment)) continue;
    for (const uint32_t index : callback.fns) {
      const Fn& fn = cx.program.fns[index];
      for (const FieldRead& read : fields_read_by(fn, cx.program)) {
        for (const StreamDecl& stream : data.streams) {
          if (read.field.empty() || stream.role != role_of(fn.name) || delivers(stream, read.field) ||
              is_reported(cx, diagnostics::Code::E0515, read.span))
            continue;
          cx.report(diag::hook_wants_field(read.span, fn.name, read.field, data.object.name)
                        .label(stream.span, "this stream lacks it"));
        }
      }
    }
  }
}

void check_hook_optimizers(Context& cx, const Experiment& experiment) {
  const auto train = std::find_if(experiment.steps.begin(), experiment.steps.end(),
                                  [](const StepBinding& step) { return step.role == kTrainRole; });
  if (train == experiment.steps.end() || !cx.program.fns[train->fn].is_manual) return;
  for (const Object& callback : cx.program.callbacks) {
    if (!is_listed(callback, experiment)) continue;
    for (const uint32_t index : callback.fns) {
      const Fn& fn = cx.program.fns[index];
      if (fn.role != FnRole::Hook || (fn.name != "before_backward" && fn.name != "after_backward")) continue;
      std::optional<Span> read;  // One says it for all of this hook.
      for_each_expr(fn.body, cx.program, [&](const ExprView& expr) {
        const auto* brought = expr.get<node::Context>();
        if (brought != nullptr && brought->name == "optimizer" && !read) read = expr.span;
      });
      if (!read || is_reported(cx, diagnostics::Code::E0436, *read)) continue;
      cx.report(diag::optimizer_of_manual(*read, fn.name)
                    .label(cx.program.fns[train->fn].span, "this step is `manual`")
                    .help("`on before_step` has it: the hook runs where `opt.step()` does"));
    }
  }
}

}  // namespace ltr::check
