// W0507 to W0510, W0513: stages whose order makes something else of the records.

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

using library::Id;
using library::Records;

namespace {

/// Whether a split or its like draws which record goes where.
bool is_drawn(const node::Op& stage, Id with_seed, size_t seed, const Program& program) {
  return stage.op == with_seed && stage.args.size() > seed && !program.exprs[stage.args[seed]].is<node::NoneConst>();
}
bool is_drawn(const node::Op& stage, const Program& program) {
  return is_drawn(stage, Id::SplitStream, 2, program) || is_drawn(stage, Id::Folds, 3, program);
}

/// Where records in front of a stage are mixed, if nothing has joined them to larger ones before that.
std::optional<ExprView> mixed_rows(const ExprView& expr, const DataObject& data, const Program& program) {
  const ExprView& stream = behind_lets(expr, data, program);
  const Records records = library::info(stage_of(stream)).records;
  const auto* stage = stream.get<node::Op>();
  if (records == Records::Mixed || (stage != nullptr && is_drawn(*stage, program))) return stream;
  if (records == Records::Packed || records == Records::Windows || records == Records::Joined) return std::nullopt;
  const auto input = input_of(stream, program);
  return input ? mixed_rows(program.exprs[*input], data, program) : std::nullopt;
}

std::optional<int64_t> number_of(const node::Op& stage, size_t arg, const DataObject& data, const Program& program) {
  if (arg >= stage.args.size()) return std::nullopt;
  const auto value = evaluate(behind_lets(program.exprs[stage.args[arg]], data, program), program);
  return value && value->kind == HostValue::Kind::Int ? std::optional(value->whole) : std::nullopt;
}

/// The windows that a stage takes, where some hold rows of others.
std::optional<ExprView> overlapping_windows(const ExprView& expr, const DataObject& data, const Program& program) {
  const ExprView& stream = behind_lets(expr, data, program);
  const auto* stage = stream.get<node::Op>();
  if (stage != nullptr && stage->op == Id::Window) {
    const auto rows = number_of(*stage, 1, data, program), stride = number_of(*stage, 2, data, program);
    // Windows of a length that is given are longer than one row.
    return stride && *stride < rows.value_or(2) ? std::optional(stream) : std::nullopt;
  }
  const Records records = library::info(stage_of(stream)).records;
  if (records == Records::Batches || records == Records::Packed || records == Records::Joined) return std::nullopt;
  const auto input = input_of(stream, program);
  return input ? overlapping_windows(program.exprs[*input], data, program) : std::nullopt;
}

void find_windows(Context& cx, const ExprView& expr, const DataObject& data) {
  for_each_child(expr, [&](ExprId child) { find_windows(cx, cx.at(child), data); });
  const auto* stage = expr.get<node::Op>();
  if (stage == nullptr || stage->args.empty()) return;
  const ExprView input = cx.at(stage->args[0]);
  if (stage->op == Id::Window) {
    if (const auto mixed = mixed_rows(input, data, cx.program)) {
      const std::string name(library::info(stage_of(*mixed)).name);
      diagnostics::Diagnostic diagnostic = diag::windows_of_mixed(stage_span(cx, expr));
      diagnostic.label(stage_span(cx, *mixed), "mixed here");
      if (library::info(stage_of(*mixed)).records == Records::Mixed) {
        diagnostic.help("put `{}` behind `window`: whole windows are mixed then", name);
      } else {
        diagnostic.help("without a seed `{}` takes the rows in their order", name);
      }
      cx.report(std::move(diagnostic));
    }
  } else if (stage->op == Id::SplitStream || stage->op == Id::Folds) {
    const auto windows = overlapping_windows(input, data, cx.program);
    if (!windows) return;
    diagnostics::Diagnostic diagnostic =
        diag::overlapping_windows(stage_span(cx, expr), std::string(library::info(stage->op).name));
    diagnostic.label(stage_span(cx, *windows), "neighbours hold the same rows");
    if (!is_drawn(*stage, cx.program))
      diagnostic.note("the last windows of a part hold rows that the first ones of the next part begin with");
    cx.report(std::move(diagnostic.help(
        "split the rows in their order, and make windows of each part: `parts = rows |> split([0.9, 0.1])`")));
  }
}

/// The `shuffle` of batches whose records nothing has mixed.
std::optional<ExprView> shuffled_batches(const ExprView& expr, const DataObject& data, const Program& program) {
  const ExprView& stream = behind_lets(expr, data, program);
  const auto input = input_of(stream, program);
  if (!input) return std::nullopt;
  if (library::info(stage_of(stream)).records != Records::Mixed)
    return shuffled_batches(program.exprs[*input], data, program);
  bool are_batches = false;
  for (std::optional<ExprId> at = input; at;) {
    const ExprView& below = behind_lets(program.exprs[*at], data, program);
    const Records records = library::info(stage_of(below)).records;
    // Batches of records of one length are made before they are mixed.
    if (records == Records::Mixed || records == Records::Joined || stage_of(below) == Id::Bucket) return std::nullopt;
    are_batches = are_batches || records == Records::Batches;
    at = input_of(below, program);
  }
  return are_batches ? std::optional(stream) : std::nullopt;
}

/// The `bucket` of a stream whose records, one by one, are mixed behind it, and what mixes them: `mixing`, unless that is still
/// to be found.
std::optional<std::pair<ExprView, ExprView>> mixed_bucket(const ExprView& expr, const ExprView* mixing,
                                                          const DataObject& data, const Program& program) {
  const ExprView& stream = behind_lets(expr, data, program);
  const Records records = library::info(stage_of(stream)).records;
  if (mixing != nullptr && stage_of(stream) == Id::Bucket) return std::pair(stream, *mixing);
  if (records == Records::Mixed) mixing = &stream;
  if (records == Records::Batches || records == Records::Joined) mixing = nullptr;
  const auto input = input_of(stream, program);
  return input ? mixed_bucket(program.exprs[*input], mixing, data, program) : std::nullopt;
}

/// The first function of the library that a map calls to vary images at random.
Id augmentation_in(FnId map, const Program& program) {
  Id found = Id::None;
  for_each_reached(map, program, [&](const ExprView& expr) {
    const auto* op = expr.get<node::Op>();
    if (found == Id::None && op != nullptr && library::is_augmentation(op->op)) found = op->op;
  });
  return found;
}

/// The map of a stream that varies its images at random, and what it calls for that.
std::optional<std::pair<Span, Id>> augmenting_map(const ExprView& expr, const DataObject& data, const Context& cx) {
  const Program& program = cx.program;
  const ExprView& stream = behind_lets(expr, data, program);
  const auto* map = stream.get<node::MapStage>();
  const Id varies = map != nullptr ? augmentation_in(map->fn, program) : Id::None;
  if (varies != Id::None) return std::pair(stage_span(cx, stream), varies);
  const auto input = input_of(stream, program);
  return input ? augmenting_map(program.exprs[*input], data, cx) : std::nullopt;
}

void check_augmented(Context& cx, const StreamDecl& stream, const DataObject& data) {
  const auto map = augmenting_map(stream.value, data, cx);
  if (!map) return;
  const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
  cx.report(diag::varied_evaluation(map->first, name, std::string(library::info(map->second).name))
                .note("it changes the records in each round, so that rounds measure different things")
                .help("what is measured passes a map without it; `center_crop` takes the middle"));
}

}  // namespace

void check_stages(Context& cx, const DataObject& data) {
  for (const Member& member : data.object.members) find_windows(cx, member.value, data);
  for (const StreamDecl& stream : data.streams) {
    if (stream.value.type.is_error()) continue;
    find_windows(cx, stream.value, data);
    if (const auto mixed = mixed_bucket(stream.value, nullptr, data, cx.program)) {
      cx.report(
          diag::lost_neighbours(stage_span(cx, mixed->second), std::string(library::info(stage_of(mixed->second)).name))
              .label(stage_span(cx, mixed->first), "sorted here")
              .help("put it in front of `bucket`, which shuffles its batches by itself"));
    }
    if (stream.role != kTrainRole) {
      check_augmented(cx, stream, data);
    } else if (const auto shuffle = shuffled_batches(stream.value, data, cx.program)) {
      cx.report(diag::shuffled_batches(stage_span(cx, *shuffle), std::string(library::info(stage_of(*shuffle)).name))
                    .note("the same neighbours make a batch in every epoch")
                    .help("put it in front of `collate`"));
    }
  }
}

}  // namespace ltr::check
