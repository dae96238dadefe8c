#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

using library::Records;

namespace {

/// The function of a map or filter as it is written, or null.
const std::string* written_function(const ExprView& stage) {
  if (const auto* map = stage.get<node::MapStage>()) return &map->written;
  const auto* filter = stage.get<node::FilterStage>();
  return filter != nullptr ? &filter->written : nullptr;
}

/// Whether two expressions of `data` have the same value.
bool are_equal(const ExprView& one, const ExprView& other, const DataObject& data, const Program& program) {
  const ExprView& left = behind_lets(one, data, program);
  const ExprView& right = behind_lets(other, data, program);
  const std::string* function = written_function(left);
  // A lambda is another function at each place that it is written.
  const bool is_same_stage = function != nullptr && left.node.index() == right.node.index();
  const auto *path = left.get<node::StrConst>(), *other_path = right.get<node::StrConst>();
  if (path != nullptr && other_path != nullptr && left.type.kind == Kind::Path && right.type.kind == Kind::Path) {
    return std::filesystem::path(path->text).lexically_normal() ==
           std::filesystem::path(other_path->text).lexically_normal();
  }
  if (is_same_stage ? *function != *written_function(right) : !is_like(left, right)) return false;
  ExprIds parts;
  for_each_child(left, [&](ExprId part) { parts.push_back(part); });
  ExprIds others;
  for_each_child(right, [&](ExprId part) { others.push_back(part); });
  return std::equal(parts.begin(), parts.end(), others.begin(), others.end(), [&](ExprId one, ExprId other) {
    return are_equal(program.exprs[one], program.exprs[other], data, program);
  });
}

/// Whether a stage chooses records; all others deliver those that they are given.
bool chooses(library::Id stage) {
  switch (library::info(stage).records) {
    case Records::First:
    case Records::Rest:
    case Records::Part:
    case Records::Chosen:
    case Records::Joined: return true;
    case Records::None:
    case Records::Filed:
    case Records::Counted:
    case Records::Same:
    case Records::Mixed:
    case Records::Again:
    case Records::Windows:
    case Records::Packed:
    case Records::Batches: return false;
  }
  return false;
}

/// The streams that a stage takes: several of a `concat` or `mix`.
ExprIds inputs_of(const ExprView& stage, const DataObject& data, const Program& program) {
  const auto* op = stage.get<node::Op>();
  if (op == nullptr || library::info(op->op).records != Records::Joined) {
    const auto input = input_of(stage, program);
    return input ? ExprIds{*input} : ExprIds{};
  }
  ExprIds found;
  for (const ExprId arg : op->args) {
    const ExprView& given = behind_lets(program.exprs[arg], data, program);
    const auto* list = given.get<node::List>();
    if (given.type.kind == Kind::Stream) found.push_back(arg);
    if (list != nullptr) found.insert(found.end(), list->elements.begin(), list->elements.end());
  }
  return found;
}

/// Whether records are made by a function of their number: that, and not the numbers, is where they come from.
bool makes_records(const ExprView& stream, const DataObject& data, const Program& program) {
  const auto* map = stream.get<node::MapStage>();
  return map != nullptr &&
         library::info(stage_of(behind_lets(program.exprs[map->stream], data, program))).records == Records::Counted;
}

/// Whether a function draws random numbers, itself or in what it calls: those of each stream are its own.
bool draws(FnId fn, const Program& program) {
  bool is_drawn = false;
  for_each_reached(fn, program, [&](const ExprView& expr) {
    const auto* op = expr.get<node::Op>();
    is_drawn = is_drawn || (op != nullptr && library::info(op->op).draws != library::Draws::Never);
  });
  return is_drawn;
}

/// What a stream delivers: first exactly its records, then what these were chosen from.
std::vector<ExprView> origins(const ExprView& expr, const DataObject& data, const Program& program) {
  const ExprView stream = behind_lets(expr, data, program);
  if (makes_records(stream, data, program)) {
    const bool is_drawn = draws(stream.get<node::MapStage>()->fn, program);
    return is_drawn ? std::vector<ExprView>() : std::vector<ExprView>{stream};
  }
  const auto input = input_of(stream, program);
  const bool is_choice =
      stream.is<node::ListElement>() || stream.is<node::TupleElement>() || chooses(stage_of(stream)) || !input;
  std::vector<ExprView> found;
  // A list of parts is no stream; its parts are.
  if (is_choice && stream.type.kind == Kind::Stream) found.push_back(stream);
  for (const ExprId one : inputs_of(stream, data, program)) {
    for (const ExprView& before : origins(program.exprs[one], data, program)) found.push_back(before);
  }
  return found;
}

/// What a choice chooses from: the parts of a `split` from what is split.
std::optional<ExprView> chosen_from(const ExprView& choice, const DataObject& data, const Program& program) {
  auto input = input_of(choice, program);
  if (input && (choice.is<node::ListElement>() || choice.is<node::TupleElement>()))
    input = input_of(behind_lets(program.exprs[*input], data, program), program);
  return input ? std::optional(behind_lets(program.exprs[*input], data, program)) : std::nullopt;
}

/// The stage that brings records in another order in each epoch, if one does; what chooses behind it chooses others in each.
std::optional<ExprView> mixer_of(const ExprView& expr, const DataObject& data, const Program& program) {
  const ExprView& stream = behind_lets(expr, data, program);
  if (library::info(stage_of(stream)).records == Records::Mixed) return stream;
  const auto input = input_of(stream, program);
  return input ? mixer_of(program.exprs[*input], data, program) : std::nullopt;
}

/// Why two streams have records in common.
struct Overlap {
  std::string why;
  std::optional<ExprView> split = {};  ///< where one stage in front of its parts is why
  std::optional<ExprView> stage = {};  ///< that stage
  std::string does = {};               ///< what it does
  std::string cure = {};
};

bool holds(const std::vector<ExprView>& list, const ExprView& one, const DataObject& data, const Context& cx) {
  return std::any_of(list.begin(), list.end(),
                     [&](const ExprView& other) { return are_equal(one, other, data, cx.program); });
}

/// The stage that brings records several times, `repeat(2)` or a `concat` of the same ones, however they are varied there; what chooses
/// behind it may leave copies out.
std::optional<ExprView> copier_of(const ExprView& expr, const DataObject& data, const Context& cx) {
  const ExprView& stream = behind_lets(expr, data, cx.program);
  const auto* op = stream.get<node::Op>();
  const library::Id stage = stage_of(stream);
  if (op != nullptr && stage == library::Id::RepeatStream && op->args.size() > 1) {
    const auto times = evaluate(behind_lets(cx.at(op->args[1]), data, cx.program), cx.program);
    if (times && times->kind == HostValue::Kind::Int && times->whole > 1) return stream;
  }
  if (op != nullptr && stage == library::Id::Concat && op->args.size() == 2) {
    const std::vector<ExprView> first = origins(cx.at(op->args[0]), data, cx.program),
                                second = origins(cx.at(op->args[1]), data, cx.program);
    if (first.empty() || second.empty()) return std::nullopt;
    const bool are_copies = holds(first, second.front(), data, cx) || holds(second, first.front(), data, cx);
    return are_copies ? std::optional(stream) : std::nullopt;
  }
  const bool keeps_all = stream.is<node::MapStage>() || stream.is<node::FilterStage>() ||
                         library::info(stage).records == Records::Again ||
                         library::info(stage).records == Records::Same;
  const auto input = keeps_all ? input_of(stream, cx.program) : std::nullopt;
  return input ? copier_of(cx.at(*input), data, cx) : std::nullopt;
}

/// What two parts of one split of the stream `from` have in common.
std::optional<Overlap> overlap_of_parts(const ExprView& split, const ExprView& from, const DataObject& data,
                                        const Context& cx) {
  if (const auto mixer = mixer_of(from, data, cx.program)) {
    return Overlap{"its parts exchange records from epoch to epoch", split, mixer, "mixes anew in each epoch",
                   "split the records in their own order, and mix behind it: `train = parts[0] |> shuffle(1) |> …`"};
  }
  const auto copier = copier_of(from, data, cx);
  if (!copier) return std::nullopt;
  // In the order of files the copies of one part may all lie in a third one.
  constexpr size_t kParts = 1, kSeed = 2;  // of `split(stream, parts, seed, by)`
  const auto& args = split.get<node::Op>()->args;
  const auto* parts = args.size() > kParts ? cx.at(args[kParts]).get<node::List>() : nullptr;
  const bool is_drawn = args.size() > kSeed && !cx.at(args[kSeed]).is<node::NoneConst>();
  if (!is_drawn && (parts == nullptr || parts->elements.size() != 2)) return std::nullopt;
  return Overlap{
      "copies of one record go into several of its parts", split, copier, "brings records several times",
      stage_of(*copier) == library::Id::Concat
          ? "split the records first, and join behind it: `train = concat(parts[0], parts[0] |> map(f)) |> …`"
          : "split the records first, and repeat behind it: `train = parts[0] |> repeat(2) |> …`"};
}

/// What two streams that are chosen from the same one have in common, if they surely do.
std::optional<Overlap> overlap(const ExprView& one, const ExprView& other, const DataObject& data, const Context& cx) {
  const auto is_part = [](const ExprView& choice) {
    return choice.is<node::ListElement>() || choice.is<node::TupleElement>();
  };
  if (one.is<node::MapStage>() || other.is<node::MapStage>()) return std::nullopt;
  const auto from = chosen_from(one, data, cx.program), of_other = chosen_from(other, data, cx.program);
  if (!from || !of_other) return std::nullopt;
  const std::vector<ExprView> left = origins(*from, data, cx.program), right = origins(*of_other, data, cx.program);
  if (left.empty() || right.empty() || !are_equal(left.front(), right.front(), data, cx.program)) return std::nullopt;
  const bool are_parts = is_part(one) && is_part(other);
  if (are_parts &&
      are_equal(cx.at(*input_of(one, cx.program)), cx.at(*input_of(other, cx.program)), data, cx.program)) {
    return overlap_of_parts(behind_lets(cx.at(*input_of(one, cx.program)), data, cx.program), *from, data, cx);
  }
  if (is_part(one) || is_part(other)) return Overlap{"they are chosen from the same records, each by itself"};
  const Records first = library::info(stage_of(one)).records, second = library::info(stage_of(other)).records;
  const bool is_start = first == Records::First && second == Records::First;
  const bool is_end = first == Records::Rest && second == Records::Rest;
  if (is_start || is_end) return Overlap{"they are chosen from the same records, each by itself"};
  const bool is_cut =
      (first == Records::First && second == Records::Rest) || (first == Records::Rest && second == Records::First);
  const bool are_shares = first == Records::Part && second == Records::Part;
  if (!is_cut && !are_shares) return std::nullopt;
  if (mixer_of(*from, data, cx.program) || mixer_of(*of_other, data, cx.program))
    return Overlap{"what stands in front of them mixes anew in each epoch, so that they exchange records"};
  if (are_shares) return std::nullopt;
  const auto count = [&](const ExprView& choice) {
    const auto value = evaluate(behind_lets(cx.at(choice.get<node::Op>()->args[1]), data, cx.program), cx.program);
    return value && value->kind == HostValue::Kind::Int ? std::optional(value->whole) : std::nullopt;
  };
  const auto taken = count(first == Records::First ? one : other),
             skipped = count(first == Records::First ? other : one);
  if (!taken || !skipped || *taken <= *skipped) return std::nullopt;
  return Overlap{"`take` reaches beyond what `skip` leaves out"};
}

std::optional<Overlap> overlap(const std::vector<ExprView>& trained, const std::vector<ExprView>& measured,
                               const DataObject& data, const Context& cx) {
  for (const ExprView& one : trained) {
    for (const ExprView& other : measured) {
      // What both are chosen from is no difference between them.
      if (are_equal(one, other, data, cx.program)) continue;
      if (auto why = overlap(one, other, data, cx)) return why;
    }
  }
  return std::nullopt;
}

/// Whether both are made by one function from the number of the record, so that the larger holds those of the smaller.
bool are_made_alike(const ExprView& one, const ExprView& other, const DataObject& data, const Program& program) {
  if (!makes_records(one, data, program) || !makes_records(other, data, program)) return false;
  if (*written_function(one) != *written_function(other)) return false;
  const ExprView& left = behind_lets(program.exprs[one.get<node::MapStage>()->stream], data, program);
  const ExprView& right = behind_lets(program.exprs[other.get<node::MapStage>()->stream], data, program);
  return stage_of(left) == stage_of(right);
}

/// Whether a stage that the records of a stream come through is told to want them in another order.
bool is_order_told(const ExprView& expr, const DataObject& data, const Context& cx) {
  const ExprView& stream = behind_lets(expr, data, cx.program);
  if (is_reported(cx, diagnostics::Code::E0309, stream.span)) return true;
  const auto input = input_of(stream, cx.program);
  return input && is_order_told(cx.at(*input), data, cx);
}

/// What is mixed or copied in front of a split is one mistake, there, whichever of its parts are measured.
struct MixedSplit {
  Overlap overlap;
  std::string streams;
};

void report_mixed(const MixedSplit& one, Context& cx) {
  cx.report(diag::shared_records(stage_span(cx, *one.overlap.split), one.streams, "train")
                .label(stage_span(cx, *one.overlap.stage), "{}", one.overlap.does)
                .note("{}", one.overlap.why)
                .help("{}", one.overlap.cure));
}

}  // namespace

void check_same_records(Context& cx, const DataObject& data) {
  const auto train = std::find_if(data.streams.begin(), data.streams.end(),
                                  [](const StreamDecl& one) { return one.role == kTrainRole; });
  if (train == data.streams.end() || train->value.type.is_error()) return;
  const std::vector<ExprView> trained = origins(train->value, data, cx.program);
  if (trained.empty()) return;
  std::map<Span, MixedSplit> mixed;  // by the split
  for (const StreamDecl& stream : data.streams) {
    if ((stream.role != kValRole && stream.role != kTestRole) || stream.value.type.is_error()) continue;
    const std::vector<ExprView> measured = origins(stream.value, data, cx.program);
    if (measured.empty()) continue;
    const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
    if (holds(measured, trained.front(), data, cx) || holds(trained, measured.front(), data, cx)) {
      cx.report(diag::same_records(stream.value.span, name, "train")
                    .label(train->value.span, "trained on here")
                    .note("what is measured on them says nothing about other records")
                    .help("keep some records for evaluation: `split([0.9, 0.1], seed = 1)`"));
    } else if (!cx.sink->has_errors() && are_made_alike(trained.front(), measured.front(), data, cx.program)) {
      cx.report(
          diag::shared_records(stream.value.span, name, "train")
              .label(train->value.span, "trained on here")
              .note("both begin with the record of number 0: the larger holds those of the smaller")
              .help(
                  "make all at once, and take them apart: `let parts = synthetic(1200, make) |> split([1000, 200])`"));
    } else if (const auto found = overlap(trained, measured, data, cx); found && found->split) {
      if (is_order_told(train->value, data, cx)) continue;
      std::string& streams = mixed.try_emplace(found->split->span, MixedSplit{*found, ""}).first->second.streams;
      streams += (streams.empty() ? "" : "`, `") + name;
    } else if (found) {
      cx.report(
          diag::shared_records(stream.value.span, name, "train")
              .label(train->value.span, "trained on here")
              .note("{}", found->why)
              .help("one split of records in their own order, `parts = rows |> split([0.9, 0.1], seed = 1)`, and what "
                    "mixes or chooses behind it"));
    }
  }
  for (const auto& [split, one] : mixed) report_mixed(one, cx);
}

void check_given_records(Context& cx, const DataObject& data, const Experiment& experiment) {
  const auto source_of = [&](const StreamDecl& stream) -> std::optional<ExprView> {
    if (stream.value.type.is_error()) return std::nullopt;
    const std::vector<ExprView> found = origins(stream.value, data, cx.program);
    return found.empty() || library::info(stage_of(found.front())).records != Records::Filed
               ? std::nullopt
               : std::optional(found.front());
  };
  const auto train = std::ranges::find(data.streams, kTrainRole, &StreamDecl::role);
  const auto trained = train != data.streams.end() ? source_of(*train) : std::nullopt;
  if (!trained) return;
  const auto given = [&](const ExprView& source) {
    return wire(source, data.object, experiment.data_arguments, experiment, cx.program).expr;
  };
  for (const StreamDecl& stream : data.streams) {
    const auto measured = stream.role == kValRole || stream.role == kTestRole ? source_of(stream) : std::nullopt;
    if (!measured || is_reported(cx, diagnostics::Code::W0504, stream.value.span)) continue;
    if (!are_equal(given(*trained), given(*measured), data, cx.program)) continue;
    const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
    cx.report(diag::same_records(stream.value.span, name, "train")
                  .label(train->value.span, "trained on here")
                  .note("experiment `{}` gives both the same files", experiment.name));
  }
}

namespace {

/// The parts of the split `name` that something of the data uses, by their numbers; false if something uses all of them together, or
/// one that only a run knows.
bool add_used_parts(const ExprView& expr, const std::string& name, const Program& program, std::set<int64_t>& used) {
  const auto* member = expr.get<node::Member>();
  if (member != nullptr && member->name == name && program.exprs[member->object].is<node::Self>()) return false;
  const auto* part = expr.get<node::ListElement>();
  const auto* list = part != nullptr ? program.exprs[part->list].get<node::Member>() : nullptr;
  if (list != nullptr && list->name == name) {
    const auto index = evaluate(program.exprs[part->index], program);
    if (!index || index->kind != HostValue::Kind::Int) return false;
    used.insert(index->whole);
    return true;
  }
  return !any_child(expr, [&](ExprId child) { return !add_used_parts(program.exprs[child], name, program, used); });
}

/// A part of the split that `part` is of, which nothing uses: `parts[2]`.
std::optional<std::string> unused_part(const ExprView& part, const DataObject& data, const Program& program) {
  const auto* element = part.get<node::ListElement>();
  const auto* name = element != nullptr ? program.exprs[element->list].get<node::Member>() : nullptr;
  if (name == nullptr) return std::nullopt;
  const auto* split = behind_lets(program.exprs[element->list], data, program).get<node::Op>();
  const auto* shares = split != nullptr && split->op == library::Id::SplitStream && split->args.size() > 1
                           ? program.exprs[split->args[1]].get<node::List>()
                           : nullptr;
  if (shares == nullptr) return std::nullopt;
  std::set<int64_t> used;
  for (const Member& member : data.object.members) {
    if (!add_used_parts(member.value, name->name, program, used)) return std::nullopt;
  }
  for (const StreamDecl& stream : data.streams) {
    if (stream.value.type.is_error() || !add_used_parts(stream.value, name->name, program, used)) return std::nullopt;
  }
  const auto count = int64_t(shares->elements.size());
  for (int64_t i = 0; i < count; ++i) {
    if (!used.contains(i) && !used.contains(i - count)) return name->name + "[" + std::to_string(i) + "]";
  }
  return std::nullopt;
}

}  // namespace

void check_measured_twice(Context& cx, const DataObject& data) {
  for (const StreamDecl& val : data.streams) {
    if (val.role != kValRole || val.value.type.is_error()) continue;
    const std::vector<ExprView> chosen = origins(val.value, data, cx.program);
    for (const StreamDecl& test : data.streams) {
      if (test.role != kTestRole || test.value.type.is_error() || chosen.empty()) continue;
      const std::vector<ExprView> tested = origins(test.value, data, cx.program);
      if (tested.empty() || !are_equal(chosen.front(), tested.front(), data, cx.program)) continue;
      const auto unused = unused_part(tested.front(), data, cx.program);
      if (!unused || is_reported(cx, diagnostics::Code::W0504, test.value.span)) continue;
      cx.report(diag::same_records(test.value.span, "test" + (test.name.empty() ? "" : "." + test.name),
                                   "val" + (val.name.empty() ? "" : "." + val.name))
                    .label(val.value.span, "measured here, too")
                    .note("what was chosen by them in training looks better on them than on others")
                    .help("nothing uses `{}`", *unused));
    }
  }
}

namespace {

/// Adds what the maps of a stream read: those of its stages, and of the `let`s that it is made of.
void add_read_by_maps(const ExprView& expr, const DataObject& data, const Program& program,
                      std::set<std::string>& names) {
  const ExprView stream = behind_lets(expr, data, program);
  if (const auto* map = stream.get<node::MapStage>()) {
    for_each_reached(map->fn, program, [&](const ExprView& read) {
      const auto* member = read.get<node::Member>();
      if (member != nullptr && program.exprs[member->object].is<node::Self>()) names.insert(member->name);
    });
  }
  if (const auto input = input_of(stream, program)) add_read_by_maps(program.exprs[*input], data, program, names);
}

/// What a stream is made of first, as it is written: `parts[0]` of `parts[0] |> map(f)`.
std::string written_origin(const ExprView& stream, const DataObject& data, const Context& cx) {
  const auto input =
      stream.is<node::ListElement>() || stream.is<node::TupleElement>() ? std::nullopt : input_of(stream, cx.program);
  return input ? written_origin(cx.at(*input), data, cx) : cx.source_text(stream.span);
}

}  // namespace

void check_known_records(Context& cx, const DataObject& data) {
  const auto train = std::find_if(data.streams.begin(), data.streams.end(),
                                  [](const StreamDecl& one) { return one.role == kTrainRole; });
  if (train == data.streams.end() || train->value.type.is_error()) return;
  std::set<std::string> used;
  add_read_by_maps(train->value, data, cx.program, used);
  for (const Member& member : data.object.members) {
    const auto* op = member.value.get<node::Op>();
    const bool is_known = op != nullptr && (op->op == library::Id::Facts || op->op == library::Id::Vocab);
    if (!is_known || op->args.size() < 2 || !used.contains(member.name)) continue;
    const std::vector<ExprView> known = origins(cx.at(op->args[0]), data, cx.program);
    for (const StreamDecl& stream : data.streams) {
      if ((stream.role != kValRole && stream.role != kTestRole) || stream.value.type.is_error() || known.empty())
        continue;
      const std::vector<ExprView> measured = origins(stream.value, data, cx.program);
      if (measured.empty() || (!holds(measured, known.front(), data, cx) && !holds(known, measured.front(), data, cx)))
        continue;
      // What is also trained on is said by itself.
      if (is_reported(cx, diagnostics::Code::W0504, stream.value.span)) break;
      const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
      const std::string trained = written_origin(train->value, data, cx), taker(library::info(op->op).name);
      cx.report(diag::known_too_much(member.value.span, member.name, name)
                    .label(stream.value.span, "measured on these records")
                    .label(train->value.span, "trained on these")
                    .help("take it of the part that is trained on: `{}({})`", taker, trained));
      break;
    }
  }
}

}  // namespace ltr::check
