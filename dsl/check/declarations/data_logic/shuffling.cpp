#include <algorithm>
#include <set>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/scope/reported.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

using library::Records;

namespace {

/// The `let`s that something is made of, at any depth.
void add_lets(const ExprView& expr, const DataObject& data, const Program& program, std::set<std::string>& names) {
  const auto* use = expr.get<node::Member>();
  if (use != nullptr && program.exprs[use->object].is<node::Self>() && names.insert(use->name).second) {
    const auto let = std::ranges::find(data.object.members, use->name, &Member::name);
    if (let != data.object.members.end()) add_lets(let->value, data, program, names);
  }
  for_each_child(expr, [&](ExprId part) { add_lets(program.exprs[part], data, program, names); });
}

/// Where the stages of a stream that is measured stand: those of a `let` are its own where nothing trains on that.
struct Stages {
  const DataObject& data;
  const Program& program;
  std::set<std::string> of_train = {};

  Stages(const DataObject& data, const Program& program) : data(data), program(program) {
    for (const StreamDecl& stream : data.streams) {
      if (stream.role == kTrainRole) add_lets(stream.value, data, program, of_train);
    }
  }

  /// Behind the names of `let`s that are of nothing else; nothing if another stream has its part in them.
  std::optional<ExprView> own(const ExprView& expr) const {
    const auto* use = expr.get<node::Member>();
    if (use == nullptr) return expr.is<node::ListElement>() ? std::nullopt : std::optional(expr);
    if (of_train.contains(use->name) || !program.exprs[use->object].is<node::Self>()) return std::nullopt;
    const auto let = std::ranges::find(data.object.members, use->name, &Member::name);
    return let != data.object.members.end() ? own(let->value) : std::nullopt;
  }

  /// The `shuffle` that a stream itself has behind all that chooses records: what stands before a
  /// `take` or `split` chooses which records they are.
  std::optional<ExprView> shuffle_of(const ExprView& expr) const {
    const auto stream = own(expr);
    if (!stream) return std::nullopt;
    const Records records = library::info(stage_of(*stream)).records;
    if (records == Records::Mixed) return stream;
    if (records == Records::First || records == Records::Rest || records == Records::Part) return std::nullopt;
    const auto input = input_of(*stream, program);
    return input ? shuffle_of(program.exprs[*input]) : std::nullopt;
  }

  /// The `bucket` of a stream that nothing joins with another one.
  std::optional<ExprView> bucket_of(const ExprView& expr) const {
    const auto stream = own(expr);
    if (!stream || stage_of(*stream) == library::Id::Bucket) return stream;
    const auto input = input_of(*stream, program);
    return input ? bucket_of(program.exprs[*input]) : std::nullopt;
  }
};

/// W0518 of what is predicted.
void check_order(Context& cx, const StreamDecl& stream, const std::string& name, const Stages& stages) {
  const auto bucket = stages.bucket_of(stream.value);
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
  const Stages stages(data, cx.program);
  for (const StreamDecl& stream : data.streams) {
    if (stream.value.type.is_error()) continue;
    if (stream.role != kTrainRole) {
      const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
      if (stream.role == kPredictRole) check_order(cx, stream, name, stages);
      const auto shuffle = stages.shuffle_of(stream.value);
      if (!shuffle) continue;
      const auto pipe = pipe_of(cx, *shuffle);
      if (is_reported(cx, diagnostics::Code::W0502, pipe ? *pipe : shuffle->span)) continue;
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
