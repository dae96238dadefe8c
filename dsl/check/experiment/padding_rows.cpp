// W0517: `padding_idx` of a table, against what `collate` fills short records up with.

#include <algorithm>
#include <set>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// All rows of tables that the `collate`s of a data fill fields of whole numbers up with; `is_open` where some of it is not known here.
struct Fillings {
  const Program& program;
  std::set<double> values;
  std::optional<Span> first;
  bool is_open = false;

  void operator()(const ExprView& stream) {
    const auto* op = stream.get<node::Op>();
    if (op != nullptr && op->op == library::Id::Collate) {
      for (const TypeField& field : program.exprs[op->args[0]].type.fields) {
        if (field.type.is_tensor() && !is_floating(field.type.element)) take(filling_of(field.name, stream, program));
      }
    }
    for_each_child(stream, [&](ExprId part) { (*this)(program.exprs[part]); });
  }

 private:
  void take(const std::optional<Filling>& filling) {
    if (!filling) return;
    is_open = is_open || !filling->value;
    if (!filling->value || *filling->value < 0) return;  // No table has such a row.
    values.insert(*filling->value);
    if (!first) first = filling->span;
  }
};

/// The tables that a model is made of, at any depth.
struct Tables {
  const Program& program;
  std::vector<ExprId> rows;  ///< what is given as `padding_idx`
  std::set<DeclIndex> seen;

  void take(const Object& object) {
    for (const Member& member : object.members) take(member.value);
  }
  void take(const ExprView& expr) {
    const auto* made = expr.get<node::Construct>();
    if (made != nullptr && expr.type.kind == Kind::Block && expr.type.decl < program.blocks.size()) {
      const Object& block = program.blocks[expr.type.decl];
      const auto row = std::ranges::find(block.params, "padding_idx", &Local::name) - block.params.begin();
      if (block.is_library && size_t(row) < made->args.size()) rows.push_back(made->args[size_t(row)]);
      if (!block.is_library && seen.insert(expr.type.decl).second) take(block);
    }
    for_each_child(expr, [&](ExprId part) { take(program.exprs[part]); });
  }
};

}  // namespace

std::optional<Filling> filling_of(const std::string& field, const ExprView& stream, const Program& program) {
  constexpr size_t kPad = 3, kPads = 5;  // of `collate(stream, size, drop_last, pad, lengths, pads, …)`
  const auto* op = stream.get<node::Op>();
  if (op == nullptr || op->op != library::Id::Collate || op->args.size() <= kPads) return std::nullopt;
  const std::vector<TypeField>& record = program.exprs[op->args[0]].type.fields;
  const auto found = std::ranges::find(record, field, &TypeField::name);
  const bool is_filled = found != record.end() && found->type.is_tensor() && !found->type.dims.empty() &&
                         program.atoms.mentions_unknown(found->type.dims.back().size);
  if (!is_filled) return std::nullopt;
  ExprId value = op->args[kPad];
  const auto* pads = program.exprs[op->args[kPads]].get<node::List>();
  for (const ExprId id : pads != nullptr ? pads->elements : ExprIds()) {
    const auto* pair = program.exprs[id].get<node::Tuple>();
    const bool is_pair = pair != nullptr && pair->elements.size() == 2;
    const auto* name = is_pair ? program.exprs[pair->elements[0]].get<node::StrConst>() : nullptr;
    if (name == nullptr) return Filling{std::nullopt, program.exprs[id].span};
    if (name->text == field) value = pair->elements[1];
  }
  const ExprView& with = program.exprs[value];
  if (with.is<node::NoneConst>()) return std::nullopt;
  const auto known = evaluate(with, program);
  if (!known) return Filling{std::nullopt, with.span};
  return Filling{known->kind == HostValue::Kind::Int ? double(known->whole) : known->real, with.span};
}

void check_padding_rows(Context& cx, const Experiment& experiment) {
  Fillings filled{.program = cx.program};
  for (const StreamDecl& stream : cx.program.datas[experiment.data].streams) filled(stream.value);
  for (const Member& member : cx.program.datas[experiment.data].object.members) filled(member.value);
  if (filled.is_open || filled.values.empty()) return;
  Tables tables{.program = cx.program};
  tables.take(cx.program.models[experiment.model]);
  for (const ExprId id : tables.rows) {
    const ExprView& row = cx.at(id);
    const auto known = row.span.is_empty() || row.is<node::NoneConst>() ? std::nullopt : evaluate(row, cx.program);
    if (!known || known->kind != HostValue::Kind::Int || known->whole < 0 ||
        filled.values.contains(double(known->whole)))
      continue;
    if (is_reported(cx, diagnostics::Code::W0517, row.span)) continue;
    cx.report(diag::other_padding_row(row.span, std::to_string(known->whole), short_text(*filled.values.begin()))
                  .label(*filled.first, "fills up with this")
                  .help("`padding_idx = {}`", short_text(*filled.values.begin())));
  }
}

}  // namespace ltr::check
