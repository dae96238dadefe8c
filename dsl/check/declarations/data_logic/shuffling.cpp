#include <algorithm>

#include "dsl/check/declarations/data_logic/data_logic.h"

namespace ltr::check {

using library::Records;

namespace {

/// The `shuffle` that a stream itself has behind all that chooses records: what stands before a
/// `take` or `split` chooses which records they are.
const Expr* own_shuffle(const Expr& stream) {
  for (const Expr* at = &stream; at != nullptr; at = input_of(*at)) {
    const Records records = library::info(at->op).records;
    if (records == Records::Mixed) return at;
    if (records == Records::First || records == Records::Rest || records == Records::Part) return nullptr;
    if (at->kind == ExprKind::Member || at->kind == ExprKind::ListElement) return nullptr;
  }
  return nullptr;
}

/// Whether the order of a stream is, or may be, another one than that of its files.
bool may_be_mixed(const Expr& expr, const DataObject& data) {
  const Expr& stream = behind_lets(expr, data);
  if (stream.kind == ExprKind::Error || stream.type.is_error()) return true;
  const Records records = library::info(stream.op).records;
  if (records == Records::Mixed || records == Records::Counted) return true;
  const bool is_known = stream.kind == ExprKind::Op || stream.kind == ExprKind::MapStage ||
                        stream.kind == ExprKind::FilterStage ||
                        stream.kind == ExprKind::ListElement ||
                        stream.kind == ExprKind::TupleElement;
  if (!is_known) return true;
  return std::any_of(stream.args.begin(), stream.args.end(), [&](const Expr& arg) {
    const bool is_stream = arg.type.kind == Kind::Stream || arg.type.kind == Kind::List;
    return is_stream && behind_lets(arg, data).kind != ExprKind::List && may_be_mixed(arg, data);
  });
}

/// The text to cut so that a stage goes: from behind its input to its end.
std::optional<Span> pipe_of(const Context& cx, const Expr& stage) {
  const Expr* input = input_of(stage);
  if (input == nullptr || input->span.source != stage.span.source ||
      input->span.begin != stage.span.begin || input->span.end >= stage.span.end)
    return std::nullopt;
  const Span span{stage.span.source, input->span.end, stage.span.end};
  return cx.source_text(span).find("|>") != std::string::npos ? std::optional(span) : std::nullopt;
}

}  // namespace

void check_shuffling(Context& cx, const DataObject& data) {
  const auto first_train = std::find_if(data.streams.begin(), data.streams.end(),
                                        [](const StreamDecl& one) { return one.role == "train"; });
  for (const StreamDecl& stream : data.streams) {
    if (stream.value.type.is_error()) continue;
    if (stream.role != "train") {
      const Expr* shuffle = own_shuffle(stream.value);
      if (shuffle == nullptr) continue;
      const auto pipe = pipe_of(cx, *shuffle);
      diagnostics::Diagnostic diagnostic =
          diag::evaluation_shuffled(pipe ? *pipe : shuffle->span,
                                    stream.role + (stream.name.empty() ? "" : "." + stream.name));
      diagnostic.help("take `shuffle` away: what is measured does not hang on the order");
      if (pipe) diagnostic.fix(*pipe, "");
      cx.report(std::move(diagnostic));
    } else if (&stream == &*first_train && !may_be_mixed(stream.value, data)) {
      cx.report(diag::train_not_shuffled(stream.span)
                    .note("the same neighbours make a batch in every epoch, and in sorted files "
                          "they are all alike")
                    .help("put `|> shuffle(1)` before `collate`"));
    }
  }
}

}  // namespace ltr::check
