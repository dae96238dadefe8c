#include <algorithm>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/experiment/wired.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

bool reads_field(const Context& cx, const Object& callback, const std::string& field) {
  return std::any_of(callback.fns.begin(), callback.fns.end(), [&](uint32_t fn) {
    const std::vector<FieldRead> reads = fields_read_by(cx.program.fns[fn], cx.program);
    return std::any_of(reads.begin(), reads.end(),
                       [&](const FieldRead& read) { return read.field == field || read.field.empty(); });
  });
}

/// Whether something beside steps reads the field in this experiment: hooks around batches, callbacks that take tokens or a
/// field, a trainer that counts one.
bool has_other_readers(const Context& cx, const Experiment& experiment, const std::string& field) {
  for (const Expr& callback : experiment.callbacks) {
    const auto& call = *callback.get<node::Call>();
    if (library::info(call.op).reads_batches) return true;
    for (const Object& own : cx.program.callbacks) {
      if (own.name == call.name && (own.is_damaged || reads_field(cx, own, field))) return true;
    }
  }
  const SettingValue* weigh = find_setting(experiment.trainer, "weigh");
  return weigh != nullptr && !weigh->value.is<node::Symbol>();
}

bool has_field(const DataObject& data, const std::string& name) {
  return std::any_of(data.batch.fields.begin(), data.batch.fields.end(),
                     [&](const TypeField& field) { return field.name == name; });
}

bool is_read(const Context& cx, DeclIndex data, const std::string& field, bool& is_wired) {
  for (const Experiment& experiment : cx.program.experiments) {
    if (experiment.data != data) continue;
    is_wired = true;
    if (cx.program.models[experiment.model].is_damaged) return true;
    if (has_other_readers(cx, experiment, field)) return true;
    for (const uint32_t index : cx.program.models[experiment.model].fns) {
      const Fn& fn = cx.program.fns[index];
      if (fn.role != FnRole::Step) continue;
      const bool takes_batches = is_logging_role(fn.name);
      for (uint32_t i = 0; i < fn.param_count; ++i) {
        // A param that no field delivers may well be this one, misspelt.
        const std::string& param = fn.locals[i].name;
        if (param == field || (takes_batches && !has_field(cx.program.datas[data], param))) return true;
      }
    }
  }
  return false;
}

/// Whether the field holds the lengths that a `collate` within `expr` was asked for.
bool counts_lengths(const ExprView& expr, const std::string& field, const Program& program) {
  const auto* op = expr.get<node::Op>();
  if (op != nullptr && op->op == library::Id::Collate) {
    for (const ExprId argument : op->args) {
      const auto* pairs = program.exprs[argument].get<node::List>();
      for (const ExprId id : pairs != nullptr ? pairs->elements : ExprIds{}) {
        const auto* pair = program.exprs[id].get<node::Tuple>();
        const auto* name = pair != nullptr ? program.exprs[pair->elements[1]].get<node::StrConst>() : nullptr;
        if (name != nullptr && name->text == field) return true;
      }
    }
  }
  return any_child(expr, [&](ExprId child) { return counts_lengths(program.exprs[child], field, program); });
}

bool counts_lengths(const DataObject& data, const std::string& field, const Program& program) {
  return std::any_of(data.streams.begin(), data.streams.end(),
                     [&](const StreamDecl& stream) { return counts_lengths(stream.value, field, program); });
}

}  // namespace

void check_fields(Context& cx) {
  for (const auto& [place, object] : cx.declared.objects_of_kind) {
    const auto* data = object->decl->get<ast::Data>();
    if (data == nullptr || object->is_damaged || cx.graph.modules[object->module].is_library) continue;
    for (const ast::FieldType& field : data->batch_fields) {
      bool is_wired = false;
      if (is_read(cx, object->index, field.name.text, is_wired) || !is_wired) continue;
      const std::string& name = field.name.text;
      const bool is_counted = counts_lengths(cx.program.datas[object->index], name, cx.program);
      cx.report(diag::field_never_read(field.name.span, name)
                    .help("take it out of the batch, and {}",
                          is_counted ? "`lengths` out of `collate`" : "out of what the maps give"));
    }
  }
}

}  // namespace ltr::check
