#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/walk.h"

namespace ltr::check {

using library::Id;

namespace {

/// The first of the streams of a list that is endless, if all are.
std::optional<ExprView> all_endless(const ExprIds& streams, const DataObject& data, const Program& program) {
  if (streams.empty()) return std::nullopt;
  for (const ExprId stream : streams) {
    if (!find_endless(program.exprs[stream], data, program)) return std::nullopt;
  }
  return find_endless(program.exprs[streams.front()], data, program);
}

std::optional<ExprView> find_endless_zip(const node::Op& zip, const DataObject& data, const Program& program) {
  if (zip.args.size() < 2) return std::nullopt;
  const auto* length = zip.args.size() > 2 ? program.exprs[zip.args[2]].get<node::Symbol>() : nullptr;
  if (length == nullptr || length->text != "cycle") return all_endless({zip.args[0], zip.args[1]}, data, program);
  const auto left = find_endless(program.exprs[zip.args[0]], data, program);
  return left ? left : find_endless(program.exprs[zip.args[1]], data, program);
}

/// Whether a stage needs all records that come in. A shuffle of so many at a time does not.
bool wants_end(const ExprView& stage, const Program& program) {
  const auto* op = stage.get<node::Op>();
  const bool is_buffered = stage_of(stage) == Id::Shuffle && op != nullptr && op->args.size() > 2 &&
                           !program.exprs[op->args[2]].is<node::NoneConst>();
  return library::info(stage_of(stage)).wants_end && !is_buffered;
}

void find_inputs(Context& cx, const ExprView& expr, const DataObject& data) {
  for_each_child(expr, [&](ExprId child) { find_inputs(cx, cx.at(child), data); });
  const auto input = input_of(expr, cx.program);
  if (!wants_end(expr, cx.program) || !input) return;
  const auto endless = find_endless(cx.at(*input), data, cx.program);
  if (!endless) return;
  const std::string name(library::info(stage_of(expr)).name);
  diagnostics::Diagnostic diagnostic = diag::endless_input(expr.span, name)
                                           .label(endless->span, "this goes on for ever")
                                           .help("put `{}` in front of `repeat`, or say how often: `repeat(10)`", name);
  if (stage_of(expr) == Id::Shuffle)
    diagnostic.help("or shuffle so many neighbours at a time: `shuffle(1, buffer = 1000)`");
  cx.report(std::move(diagnostic));
}

}  // namespace

std::optional<ExprView> find_endless(const ExprView& expr, const DataObject& data, const Program& program) {
  const ExprView stream = behind_lets(expr, data, program);
  const auto* op = stream.get<node::Op>();
  const Id stage = stage_of(stream);
  if (stage == Id::RepeatStream) {
    const bool is_counted = op->args.size() < 2 || !program.exprs[op->args[1]].is<node::NoneConst>();
    return is_counted ? std::nullopt : std::optional(stream);
  }
  if (stage == Id::Take) return std::nullopt;
  if (stage == Id::Zip) return find_endless_zip(*op, data, program);
  if (stage == Id::Concat && op->args.size() > 1) return find_endless(program.exprs[op->args[1]], data, program);
  if (stage == Id::Mix && !op->args.empty()) {
    const ExprView streams = behind_lets(program.exprs[op->args[0]], data, program);
    const auto* list = streams.get<node::List>();
    return list != nullptr ? all_endless(list->elements, data, program) : std::nullopt;
  }
  // What wants an end is an error of its own, E0517.
  if (wants_end(stream, program)) return std::nullopt;
  const auto input = input_of(stream, program);
  return input ? find_endless(program.exprs[*input], data, program) : std::nullopt;
}

void check_endless_inputs(Context& cx, const DataObject& data) {
  for (const Member& member : data.object.members) find_inputs(cx, member.value, data);
  for (const StreamDecl& stream : data.streams) find_inputs(cx, stream.value, data);
}

}  // namespace ltr::check
