// E0510, W0512: the parts of a split, against the records that there are.

#include <algorithm>
#include <cmath>
#include <set>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

using library::Records;

namespace {

/// How many records a stream has, where that is written, or where an experiment gives it.
struct Counter {
  Context& cx;
  const DataObject& data;
  const Experiment* experiment;  ///< null: what is written for all of them
  std::set<std::string> hparams;

  std::optional<HostValue> value(const ExprView& expr) {
    note(expr);
    const ExprView written = behind_lets(expr, data, cx.program);
    if (experiment == nullptr) return evaluate(written, cx.program);
    const Wired wired = wire(written, data.object, experiment->data_arguments, *experiment, cx.program);
    hparams.insert(wired.hparams.begin(), wired.hparams.end());
    return evaluate(wired.expr, cx.program);
  }
  std::optional<int64_t> number(const ExprView& expr) {
    const auto found = value(expr);
    return found && found->kind == HostValue::Kind::Int ? std::optional(found->whole) : std::nullopt;
  }

  void note(const ExprView& expr) {
    if (const auto* hparam = expr.get<node::Hparam>()) hparams.insert(hparam->name);
    for_each_child(expr, [&](ExprId child) { note(cx.at(child)); });
  }

  std::optional<int64_t> of(const ExprView& expr) {
    const ExprView& stream = behind_lets(expr, data, cx.program);
    if (const auto* map = stream.get<node::MapStage>()) return of(cx.at(map->stream));
    const auto* stage = stream.get<node::Op>();
    if (stage == nullptr || stage->args.empty()) return std::nullopt;
    const auto arg = [&](size_t i) { return cx.at(stage->args[i]); };
    const Records records = library::info(stage->op).records;
    if (records == Records::Counted) return number(arg(0));
    if (records == Records::Same || records == Records::Mixed) return of(arg(0));
    if (records != Records::First && records != Records::Rest && records != Records::Windows) return std::nullopt;
    const auto all = of(arg(0));
    const auto count = stage->args.size() > 1 ? number(arg(1)) : std::nullopt;
    if (!all || !count) return std::nullopt;
    if (records == Records::First) return std::min(*all, *count);
    if (records == Records::Rest) return std::max<int64_t>(0, *all - *count);
    const auto stride = stage->args.size() > 2 ? number(arg(2)) : std::nullopt;
    if (!stride || *stride < 1) return std::nullopt;
    return *all < *count ? 0 : (*all - *count) / *stride + 1;
  }
};

void check_split(Context& cx, const node::Op& split, const DataObject& data, const Experiment* experiment) {
  if (split.args.size() < 2) return;
  const ExprView written = cx.at(split.args[1]);
  const auto* parts = written.get<node::List>();
  if (parts == nullptr) return;
  const auto is_told = [&](diagnostics::Code code) { return is_reported(cx, code, written.span); };
  if (is_told(diagnostics::Code::E0510) || is_told(diagnostics::Code::W0512)) return;
  Counter counter{cx, data, experiment, {}};
  const auto records = counter.of(cx.at(split.args[0]));
  int64_t wanted = 0;
  double share = 0;
  for (const ExprId id : parts->elements) {
    const ExprView& part = cx.at(id);
    if (part.type.kind == Kind::Float) {
      const auto value = counter.value(part);
      if (!value) return;
      share += value->real;
      continue;
    }
    if (part.type.kind != Kind::Int) return;
    const auto count = counter.number(part);
    if (!count) return;
    wanted += *count;
  }
  const size_t count = parts->elements.size();
  // Thirds are written as 0.333.
  const auto percent = std::lround(share * 100);
  if (share > 0 && percent < 100 && count > 1)
    return cx.report(diag::left_records(written.span, std::to_string(percent) + " % of the records")
                         .help("shares that add up to 1 take all; what is left out on purpose is a part of its own"));
  if (wanted == 100 && count > 1 && records && *records > wanted)
    return cx.report(diag::left_records(written.span, "100 of " + std::to_string(*records) + " records")
                         .help("whole numbers are records, and shares are fractions: `split([0.8, 0.2])`"));
  if (!records || wanted <= *records) return;
  diagnostics::Diagnostic diagnostic =
      diag::split_too_large(written.span, std::to_string(wanted), std::to_string(*records));
  for (const std::string& name : counter.hparams) {
    if (const Hparam* hparam = cx.program.find_hparam(name))
      diagnostic.note("`{}` is {} unless it is set", name, cx.source_text(cx.at(hparam->initial).span));
  }
  cx.report(std::move(diagnostic));
}

void find_splits(Context& cx, const ExprView& expr, const DataObject& data, const Experiment* experiment) {
  const auto* op = expr.get<node::Op>();
  if (op != nullptr && op->op == library::Id::SplitStream) check_split(cx, *op, data, experiment);
  for_each_child(expr, [&](ExprId child) { find_splits(cx, cx.at(child), data, experiment); });
}

}  // namespace

void check_splits(Context& cx, const DataObject& data, const Experiment* experiment) {
  for (const Member& member : data.object.members) find_splits(cx, member.value, data, experiment);
  for (const StreamDecl& stream : data.streams) find_splits(cx, stream.value, data, experiment);
}

}  // namespace ltr::check
