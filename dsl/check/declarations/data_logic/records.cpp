#include <algorithm>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

using library::Records;

namespace {

/// Text that is equal for equal values.
std::string text_of(const Expr& expr, const DataObject& data) {
  const Expr& value = behind_lets(expr, data);
  std::string text = std::to_string(int(value.kind)) + "." + std::to_string(int(value.op)) + value.name + "#" +
                     std::to_string(value.whole) + "," + std::to_string(value.number);
  for (const Expr& arg : value.args) text += "(" + text_of(arg, data) + ")";
  return text;
}

/// Whether a stage chooses records; all others deliver those that they are given.
bool chooses(library::Id stage) {
  switch (library::info(stage).records) {
    case Records::First:
    case Records::Rest:
    case Records::Part:
    case Records::Chosen:
    case Records::Joined:
      return true;
    case Records::None:
    case Records::Filed:
    case Records::Counted:
    case Records::Same:
    case Records::Mixed:
    case Records::Again:
    case Records::Windows:
    case Records::Batches:
      return false;
  }
  return false;
}

/// What a stream delivers, as texts: first exactly its records, then what these were chosen from.
std::vector<std::string> origins(const Expr& expr, const DataObject& data) {
  std::vector<std::string> found;
  bool is_new = true;  // Whether `at` delivers other records than what was noted last.
  for (const Expr* at = &behind_lets(expr, data); at != nullptr;) {
    const Expr* input = input_of(*at);
    const bool is_choice = at->kind == ExprKind::ListElement ||
                           at->kind == ExprKind::TupleElement ||
                           chooses(at->op) || input == nullptr;
    // A list of parts is no stream; its parts are.
    if (is_choice && is_new && at->type.kind == Kind::Stream) found.push_back(text_of(*at, data));
    is_new = true;
    at = input != nullptr ? &behind_lets(*input, data) : nullptr;
  }
  return found;
}

bool holds(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// How many records a stream has, where that is written.
struct Counter {
  const Context& cx;
  const DataObject& data;
  std::set<std::string> hparams;

  std::optional<int64_t> number(const Expr& expr) {
    note(expr);
    const auto value = evaluate(behind_lets(expr, data), cx.program);
    return value && value->kind == HostValue::Kind::Int ? std::optional(value->whole)
                                                        : std::nullopt;
  }

  void note(const Expr& expr) {
    if (expr.kind == ExprKind::Hparam) hparams.insert(expr.name);
    for (const Expr& arg : expr.args) note(arg);
  }

  std::optional<int64_t> of(const Expr& expr) {
    const Expr& stream = behind_lets(expr, data);
    if (stream.kind == ExprKind::MapStage) return of(stream.args[0]);
    if (stream.kind != ExprKind::Op || stream.args.empty()) return std::nullopt;
    const Records records = library::info(stream.op).records;
    if (records == Records::Counted) return number(stream.args[0]);
    if (records == Records::Same || records == Records::Mixed) return of(stream.args[0]);
    if (records != Records::First && records != Records::Rest && records != Records::Windows)
      return std::nullopt;
    const auto all = of(stream.args[0]);
    const auto count = stream.args.size() > 1 ? number(stream.args[1]) : std::nullopt;
    if (!all || !count) return std::nullopt;
    if (records == Records::First) return std::min(*all, *count);
    if (records == Records::Rest) return std::max<int64_t>(0, *all - *count);
    const auto stride = stream.args.size() > 2 ? number(stream.args[2]) : std::nullopt;
    if (!stride || *stride < 1) return std::nullopt;
    return *all < *count ? 0 : (*all - *count) / *stride + 1;
  }
};

void check_split(Context& cx, const Expr& split, const DataObject& data) {
  if (split.args.size() < 2 || split.args[1].kind != ExprKind::List) return;
  Counter counter{cx, data, {}};
  const auto records = counter.of(split.args[0]);
  int64_t wanted = 0;
  for (const Expr& part : split.args[1].args) {
    if (part.type.kind != Kind::Int) return;
    const auto count = counter.number(part);
    if (!count) return;
    wanted += *count;
  }
  if (!records || wanted <= *records) return;
  diagnostics::Diagnostic diagnostic =
      diag::split_too_large(split.args[1].span, std::to_string(wanted), std::to_string(*records));
  for (const std::string& name : counter.hparams) {
    for (const Hparam& hparam : cx.program.hparams) {
      if (hparam.name == name)
        diagnostic.note("`{}` is {} unless it is set", name, cx.source_text(hparam.initial.span));
    }
  }
  cx.report(std::move(diagnostic));
}

void find_splits(Context& cx, const Expr& expr, const DataObject& data) {
  if (expr.op == library::Id::SplitStream)
    check_split(cx, expr, data);
  for (const Expr& arg : expr.args) find_splits(cx, arg, data);
}

}  // namespace

void check_same_records(Context& cx, const DataObject& data) {
  const auto train = std::find_if(data.streams.begin(), data.streams.end(),
                                  [](const StreamDecl& one) { return one.role == "train"; });
  if (train == data.streams.end() || train->value.type.is_error()) return;
  const std::vector<std::string> trained = origins(train->value, data);
  if (trained.empty()) return;
  for (const StreamDecl& stream : data.streams) {
    if ((stream.role != "val" && stream.role != "test") || stream.value.type.is_error()) continue;
    const std::vector<std::string> measured = origins(stream.value, data);
    if (measured.empty()) continue;
    if (!holds(measured, trained.front()) && !holds(trained, measured.front())) continue;
    const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
    cx.report(diag::same_records(stream.value.span, name, "train")
                  .label(train->value.span, "trained on here")
                  .note("what is measured on them says nothing about other records")
                  .help("keep some records for evaluation: `split([0.9, 0.1], seed = 1)`"));
  }
}

void check_splits(Context& cx, const DataObject& data) {
  for (const Member& member : data.object.members) find_splits(cx, member.value, data);
  for (const StreamDecl& stream : data.streams) find_splits(cx, stream.value, data);
}

}  // namespace ltr::check
