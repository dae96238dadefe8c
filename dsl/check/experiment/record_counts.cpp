#include "dsl/check/experiment/record_counts.h"

#include <algorithm>
#include <cmath>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

using library::Id;

/// Counts records as far as the program tells.
struct Counter {
  Context& cx;
  const Experiment& experiment;
  const DataObject& data;
  bool is_exact = true;  ///< nothing that was met may leave some out
  Span lost_windows;     ///< a `window` that is longer than what it slides over

  std::optional<HostValue> value(ExprId id) const {
    return evaluate(wire(cx.at(id), data.object, experiment.data_arguments, experiment, cx.program).expr, cx.program);
  }

  /// How many records a stream delivers at most; nothing where it is not known, or none come to an end.
  std::optional<int64_t> most(const ExprView& expr) {
    const ExprView stream = behind_lets(expr, data, cx.program);
    const auto input = input_of(stream, cx.program);
    const auto before = [&] { return input ? most(cx.at(*input)) : std::nullopt; };
    if (stream.is<node::FilterStage>()) is_exact = false;
    if (stream.is<node::MapStage>() || stream.is<node::FilterStage>()) return before();
    if (const auto* part = stream.get<node::ListElement>()) return of_part(*part);
    const auto* op = stream.get<node::Op>();
    if (op == nullptr) return std::nullopt;
    const auto count = [&](size_t arg) -> std::optional<int64_t> {
      const auto number = op->args.size() > arg ? value(op->args[arg]) : std::nullopt;
      return number && number->kind == HostValue::Kind::Int ? std::optional(number->whole) : std::nullopt;
    };
    if (op->op == Id::Range || op->op == Id::Synthetic) return count(0);
    const auto all = before();
    if (!all || op->op == Id::Shard) is_exact = false;
    if (op->op == Id::Take) return all && count(1) ? std::min(*all, *count(1)) : all ? all : count(1);
    if (op->op == Id::Skip) return all && count(1) ? std::optional(std::max<int64_t>(0, *all - *count(1))) : all;
    if (op->op == Id::Window) return all ? windows_of(*all, count(1), count(2), stream.span) : std::nullopt;
    const bool keeps_all = op->op == Id::Shuffle || library::info(op->op).records == library::Records::Same;
    return keeps_all || op->op == Id::Shard ? all : std::nullopt;
  }

  std::optional<int64_t> windows_of(int64_t records, std::optional<int64_t> size, std::optional<int64_t> stride,
                                    Span span) {
    if (!size || !stride || *size < 1 || *stride < 1) return std::nullopt;
    if (records >= *size) return (records - *size) / *stride + 1;
    lost_windows = span;
    return 0;
  }

  /// One of the parts of a `split`: its share, rounded up.
  std::optional<int64_t> of_part(const node::ListElement& part) {
    const ExprView whole = behind_lets(cx.at(part.list), data, cx.program);
    const auto* split = whole.get<node::Op>();
    const auto index = value(part.index);
    if (split == nullptr || split->op != Id::SplitStream || !index) return std::nullopt;
    const auto all = most(cx.at(split->args[0]));
    const auto* shares = cx.at(split->args[1]).get<node::List>();
    const bool is_there = shares != nullptr && index->whole >= 0 && size_t(index->whole) < shares->elements.size();
    const auto share = all && is_there ? value(shares->elements[size_t(index->whole)]) : std::nullopt;
    if (!share) {
      is_exact = false;
      return all;
    }
    const double records = share->kind == HostValue::Kind::Int ? double(share->whole) : share->real * double(*all);
    // How a share is rounded hangs on the others.
    is_exact = is_exact && std::abs(records - std::round(records)) < 1e-6;
    return records < double(*all) ? int64_t(std::ceil(records)) : *all;
  }
};

}  // namespace

std::optional<Batches> batches_of(const StreamDecl& stream, const Experiment& experiment, Context& cx) {
  const DataObject& data = cx.program.datas[experiment.data];
  Counter counter{cx, experiment, data};
  const ExprView batches = behind_lets(stream.value, data, cx.program);
  const auto* collate = batches.get<node::Op>();
  if (collate == nullptr || collate->op != Id::Collate || collate->args.size() < 3) return std::nullopt;
  const auto size = counter.value(collate->args[1]), drops = counter.value(collate->args[2]);
  const auto most = counter.most(cx.at(collate->args[0]));
  if (!size || !drops || !most || size->whole <= 0) return std::nullopt;
  return Batches{*most,
                 size->whole,
                 drops->whole != 0,
                 counter.is_exact,
                 counter.lost_windows,
                 cx.at(collate->args[1]).span,
                 cx.at(collate->args[2]).span};
}

}  // namespace ltr::check
