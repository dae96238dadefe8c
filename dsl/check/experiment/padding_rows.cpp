// W0517: `padding_idx` of a table, against what `collate` fills short records up with.

#include <algorithm>
#include <set>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// All that the `collate`s of a data fill up with; `is_open` where some of it is not known here.
struct Fillings {
  const Program& program;
  std::set<double> values;
  std::optional<Span> first;
  bool is_open = false;

  void take(const ExprView& value) {
    if (value.span.is_empty() || value.is<node::NoneConst>()) return;
    const auto known = evaluate(value, program);
    is_open = is_open || !known;
    if (!known) return;
    values.insert(known->kind == HostValue::Kind::Int ? double(known->whole) : known->real);
    if (!first) first = value.span;
  }
  void operator()(const ExprView& stream) {
    constexpr size_t kPad = 3, kPads = 5;  // of `collate(stream, size, drop_last, pad, lengths, pads, …)`
    const auto* op = stream.get<node::Op>();
    if (op != nullptr && op->op == library::Id::Collate && op->args.size() > kPads) {
      take(program.exprs[op->args[kPad]]);
      const auto* pads = program.exprs[op->args[kPads]].get<node::List>();
      for (const ExprId id : pads != nullptr ? pads->elements : ExprIds()) {
        const auto* pair = program.exprs[id].get<node::Tuple>();
        if (pair != nullptr && pair->elements.size() == 2) take(program.exprs[pair->elements[1]]);
      }
    }
    for_each_child(stream, [&](ExprId part) { (*this)(program.exprs[part]); });
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

std::string plain(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
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
    cx.report(diag::other_padding_row(row.span, std::to_string(known->whole), plain(*filled.values.begin()))
                  .label(*filled.first, "fills up with this")
                  .help("`padding_idx = {}`", plain(*filled.values.begin())));
  }
}

}  // namespace ltr::check
