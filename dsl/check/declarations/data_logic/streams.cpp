#include "dsl/check/declarations/data_logic/data_logic.h"

namespace ltr::check {

ExprView behind_lets(const ExprView& expr, const DataObject& data, const Program& program) {
  const auto* use = expr.get<node::Member>();
  if (use == nullptr || !program.exprs[use->object].is<node::Self>()) return expr;
  for (const Member& member : data.object.members) {
    if (member.name == use->name) return behind_lets(member.value, data, program);
  }
  return expr;
}

std::optional<ExprId> input_of(const ExprView& stage, const Program& program) {
  if (const auto* map = stage.get<node::MapStage>()) return map->stream;
  if (const auto* filter = stage.get<node::FilterStage>()) return filter->stream;
  if (const auto* part = stage.get<node::ListElement>()) return part->list;
  if (const auto* part = stage.get<node::TupleElement>()) return part->tuple;
  const auto* op = stage.get<node::Op>();
  if (op == nullptr || op->args.empty()) return std::nullopt;
  return program.exprs[op->args[0]].type.kind == Kind::Stream ? std::optional(op->args[0]) : std::nullopt;
}

std::optional<Span> pipe_of(const Context& cx, const ExprView& stage) {
  const auto id = input_of(stage, cx.program);
  const Span input = id ? cx.at(*id).span : Span{};
  if (!id || input.source != stage.span.source || input.begin != stage.span.begin || input.end >= stage.span.end)
    return std::nullopt;
  const Span span{stage.span.source, input.end, stage.span.end};
  return cx.source_text(span).find("|>") != std::string::npos ? std::optional(span) : std::nullopt;
}

Span stage_span(const Context& cx, const ExprView& stage) {
  const auto pipe = pipe_of(cx, stage);
  if (!pipe) return stage.span;
  const size_t word = cx.source_text(*pipe).find_first_not_of(" \n\t|>");
  return {pipe->source, pipe->begin + uint32_t(word), pipe->end};
}

library::Id stage_of(const ExprView& stream) {
  if (stream.is<node::FilterStage>()) return library::Id::Filter;
  const auto* op = stream.get<node::Op>();
  return op != nullptr ? op->op : library::Id::None;
}

}  // namespace ltr::check
