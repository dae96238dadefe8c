#include <algorithm>

#include "dsl/check/declarations/hook.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

using Reads = std::vector<FieldRead>;

void find_reads(const Body& body, const Program& program, Reads& reads);

void find_reads(const ExprView& expr, const Program& program, Reads& reads) {
  constexpr std::string_view kBatch = "batch.";
  const auto* brought = expr.get<node::Context>();
  if (brought != nullptr && brought->name.starts_with(kBatch))
    reads.push_back({brought->name.substr(kBatch.size()), expr.span});
  if (expr.is<node::Error>()) reads.push_back({"", expr.span});
  for_each_child(expr, [&](ExprId child) { find_reads(program.exprs[child], program, reads); });
  for_each_body(expr, [&](const Body& body) { find_reads(body, program, reads); });
}

void find_reads(const Body& body, const Program& program, Reads& reads) {
  for (const Stmt& stmt : body) {
    for_each_child(stmt, [&](ExprId child) { find_reads(program.exprs[child], program, reads); });
    for_each_body(stmt, [&](const Body& inner) { find_reads(inner, program, reads); });
  }
}

/// `val` of `val_batch_end`.
std::string role_of(const std::string& hook) { return hook.substr(0, hook.find('_')); }

bool delivers(const StreamDecl& stream, const std::string& field) {
  return stream.record.is_error() || std::any_of(stream.record.fields.begin(), stream.record.fields.end(),
                                                 [&](const TypeField& one) { return one.name == field; });
}

}  // namespace

std::vector<FieldRead> fields_read_by(const Fn& hook, const Program& program) {
  Reads reads;
  if (hook.role == FnRole::Hook) find_reads(hook.body, program, reads);
  return reads;
}

void check_hook_fields(Context& cx, const Experiment& experiment) {
  const DataObject& data = cx.program.datas[experiment.data];
  if (data.object.is_damaged) return;
  for (const Object& callback : cx.program.callbacks) {
    const bool is_listed = std::any_of(experiment.callbacks.begin(), experiment.callbacks.end(),
                                       [&](const Expr& one) { return one.get<node::Call>()->name == callback.name; });
    if (!is_listed) continue;
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

}  // namespace ltr::check
