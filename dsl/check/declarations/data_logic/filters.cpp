#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

bool draws(const Context& cx, FnId fn) {
  KnownDraws known;
  return draws_random(cx.program, fn, known);
}

/// Where the map in front of a stage is that draws random numbers, if there is one.
std::optional<Span> random_map(const ExprView& expr, const Context& cx, const DataObject& data) {
  const ExprView stream = behind_lets(expr, data, cx.program);
  const auto* map = stream.get<node::MapStage>();
  if (map != nullptr && draws(cx, map->fn)) return stream.span;
  std::optional<Span> found;
  for_each_child(stream, [&](ExprId child) {
    const ExprView arg = cx.at(child);
    const bool is_stream = arg.type.kind == Kind::Stream || arg.type.kind == Kind::List;
    if (is_stream && !found) found = random_map(arg, cx, data);
  });
  return found;
}

/// `stage` belongs in front of the map that draws. A `synthetic(n, f)` is source and map in one, and nothing stands between.
void help_in_front(diagnostics::Diagnostic& diagnostic, const std::string& stage, Span map, const Context& cx) {
  const std::string written = cx.source_text(map);
  const std::string word = stage.substr(0, stage.find('('));
  constexpr std::string_view kSynthetic = "synthetic(";
  const size_t comma = written.rfind(", ");
  if (written.starts_with(kSynthetic) && written.ends_with(")") && comma != std::string::npos) {
    diagnostic.help("in front of what draws: `range({}) |> {} |> map({})`",
                    written.substr(kSynthetic.size(), comma - kSynthetic.size()), stage,
                    written.substr(comma + 2, written.size() - comma - 3));
  } else {
    diagnostic.help("put `{}` in front of `map`", word);
  }
}

void find_filters(Context& cx, const ExprView& expr, const DataObject& data) {
  for_each_child(expr, [&](ExprId child) { find_filters(cx, cx.at(child), data); });
  const auto* filter = expr.get<node::FilterStage>();
  if (filter == nullptr) return;
  if (draws(cx, filter->fn)) {
    cx.report(diag::filter_draws(expr.span)
                  .note("it looks at each record once, at the start of a run")
                  .help("`split([0.9, 0.1], seed = 1)` takes a part at random"));
  } else if (const auto map = random_map(cx.at(filter->stream), cx, data)) {
    diagnostics::Diagnostic diagnostic = diag::filter_draws(expr.span);
    diagnostic.label(*map, "this map draws random numbers, others in each epoch");
    help_in_front(diagnostic, "filter(…)", *map, cx);
    cx.report(std::move(diagnostic));
  }
}

/// `cache` keeps records, and those behind a random map are others in each epoch.
void find_caches(Context& cx, const ExprView& expr, const DataObject& data) {
  for_each_child(expr, [&](ExprId child) { find_caches(cx, cx.at(child), data); });
  const auto* stage = expr.get<node::Op>();
  if (stage == nullptr || stage->op != library::Id::Cache || stage->args.empty()) return;
  if (const auto map = random_map(cx.at(stage->args[0]), cx, data)) {
    diagnostics::Diagnostic diagnostic =
        diag::wrong_argument(expr.span, "`cache` keeps records that are others in each epoch");
    diagnostic.label(*map, "this map draws random numbers");
    help_in_front(diagnostic, "cache()", *map, cx);
    cx.report(std::move(diagnostic));
    return;
  }
  // Which bad records a batch lacks is known by whoever made it: a later run would not hear of them.
  const auto* place = stage->args.size() > 1 ? cx.at(stage->args[1]).get<node::Symbol>() : nullptr;
  if (place != nullptr && place->text == "disk" && expr.type.uniform) {
    cx.report(diag::wrong_argument(expr.span, "`cache(disk)` keeps records, and these are batches")
                  .help("put it in front of `collate`"));
  }
}

/// Where records in front of a stage are put into another order, which each epoch has its own of.
std::optional<Span> shuffled_at(const ExprView& expr, const Context& cx, const DataObject& data) {
  const ExprView stream = behind_lets(expr, data, cx.program);
  const auto* stage = stream.get<node::Op>();
  if (stage != nullptr && library::info(stage->op).records == library::Records::Mixed) return stream.span;
  const auto input = input_of(stream, cx.program);
  return input ? shuffled_at(cx.at(*input), cx, data) : std::nullopt;
}

/// `pack` joins records once, in one order.
void find_packs(Context& cx, const ExprView& expr, const DataObject& data) {
  for_each_child(expr, [&](ExprId child) { find_packs(cx, cx.at(child), data); });
  const auto* stage = expr.get<node::Op>();
  if (stage == nullptr || stage->op != library::Id::Pack || stage->args.empty()) return;
  const auto map = random_map(cx.at(stage->args[0]), cx, data);
  const auto place = map ? map : shuffled_at(cx.at(stage->args[0]), cx, data);
  if (!place) return;
  cx.report(diag::wrong_argument(expr.span, "`pack` joins records that have another order in each epoch")
                .label(*place, "by this")
                .help("put `shuffle`, and maps that draw random numbers, behind it"));
}

}  // namespace

void check_filters(Context& cx, const DataObject& data) {
  const auto find = [&](const Expr& value) {
    find_filters(cx, value, data);
    find_caches(cx, value, data);
    find_packs(cx, value, data);
  };
  for (const Member& member : data.object.members) find(member.value);
  for (const StreamDecl& stream : data.streams) find(stream.value);
}

}  // namespace ltr::check
