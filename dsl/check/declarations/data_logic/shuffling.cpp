#include <algorithm>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

using library::Records;

namespace {

/// The `shuffle` that a stream itself has behind all that chooses records: what stands before a
/// `take` or `split` chooses which records they are.
std::optional<ExprView> own_shuffle(const ExprView& stream, const Program& program) {
  const Records records = library::info(stage_of(stream)).records;
  if (records == Records::Mixed) return stream;
  if (records == Records::First || records == Records::Rest || records == Records::Part) return std::nullopt;
  if (stream.is<node::Member>() || stream.is<node::ListElement>()) return std::nullopt;
  const auto input = input_of(stream, program);
  return input ? own_shuffle(program.exprs[*input], program) : std::nullopt;
}

/// The `bucket` of a stream that nothing joins with another one.
std::optional<ExprView> own_bucket(const ExprView& stream, const Program& program) {
  if (stage_of(stream) == library::Id::Bucket) return stream;
  if (stream.is<node::Member>() || stream.is<node::ListElement>()) return std::nullopt;
  const auto input = input_of(stream, program);
  return input ? own_bucket(program.exprs[*input], program) : std::nullopt;
}

/// W0518 of what is predicted.
void check_order(Context& cx, const StreamDecl& stream, const std::string& name) {
  const auto bucket = own_bucket(stream.value, cx.program);
  if (!bucket) return;
  const auto pipe = pipe_of(cx, *bucket);
  diagnostics::Diagnostic diagnostic = diag::predictions_moved(pipe ? *pipe : bucket->span, "bucket", name);
  diagnostic.help("take `bucket` away, or return a field with them that says which record it is, `(id = id, y = …)`");
  if (pipe) diagnostic.fix(*pipe, "");
  cx.report(std::move(diagnostic));
}

/// Whether the order of a stream is, or may be, another one than that of its files.
bool may_be_mixed(const ExprView& expr, const DataObject& data, const Program& program) {
  const ExprView& stream = behind_lets(expr, data, program);
  if (stream.is<node::Error>() || stream.type.is_error()) return true;
  const Records records = library::info(stage_of(stream)).records;
  if (records == Records::Mixed || records == Records::Counted) return true;
  const bool is_known = stream.is<node::Op>() || stream.is<node::MapStage>() || stream.is<node::FilterStage>() ||
                        stream.is<node::ListElement>() || stream.is<node::TupleElement>() || stream.is<node::List>();
  if (!is_known) return true;
  return any_child(stream, [&](ExprId child) {
    const ExprView& arg = program.exprs[child];
    const bool is_list = arg.type.kind == Kind::List && !arg.type.fields.empty();
    return (is_list ? arg.type.fields[0].type : arg.type).kind == Kind::Stream && may_be_mixed(arg, data, program);
  });
}

}  // namespace

void check_shuffling(Context& cx, const DataObject& data) {
  const auto first_train = std::find_if(data.streams.begin(), data.streams.end(),
                                        [](const StreamDecl& one) { return one.role == kTrainRole; });
  for (const StreamDecl& stream : data.streams) {
    if (stream.value.type.is_error()) continue;
    if (stream.role != kTrainRole) {
      const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
      if (stream.role == kPredictRole) check_order(cx, stream, name);
      const auto shuffle = own_shuffle(stream.value, cx.program);
      if (!shuffle) continue;
      const auto pipe = pipe_of(cx, *shuffle);
      diagnostics::Diagnostic diagnostic = diag::evaluation_shuffled(pipe ? *pipe : shuffle->span, name);
      if (stage_of(*shuffle) == library::Id::Shuffle && stream.role == kPredictRole)
        diagnostic.help("take `shuffle` away: rows of predictions are in the order of their records then");
      else if (stage_of(*shuffle) == library::Id::Shuffle)
        diagnostic.help("take `shuffle` away: what is measured does not hang on the order");
      else
        diagnostic.help("take `{}` away: it draws other records than there are, which is what is measured then",
                        std::string(library::info(stage_of(*shuffle)).name));
      if (pipe) diagnostic.fix(*pipe, "");
      cx.report(std::move(diagnostic));
    } else if (&stream == &*first_train && !may_be_mixed(stream.value, data, cx.program)) {
      cx.report(diag::train_not_shuffled(stream.span)
                    .note("the same neighbours make a batch in every epoch, and in sorted files "
                          "they are all alike")
                    .help("put `|> shuffle(1)` before `collate`"));
    }
  }
}

}  // namespace ltr::check
