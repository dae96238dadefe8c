// W0508, W0514: what maps draw. Which fields of a record and which random numbers each field of the result is made of.

#include <algorithm>
#include <set>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/scope/reported.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

using library::Id;
using library::Records;

namespace {

/// A call that draws, and which of the two that it gives.
struct Drawn {
  Span call;
  size_t part = 0;
  auto operator<=>(const Drawn&) const = default;
};

/// What a value is made of.
struct Origin {
  std::set<std::string> fields;
  std::set<std::string> noisy;  ///< those that random numbers may have gone into
  std::set<Drawn> draws;
  bool is_all = false;  ///< of the record as a whole

  void add(const Origin& other) {
    fields.insert(other.fields.begin(), other.fields.end());
    noisy.insert(other.noisy.begin(), other.noisy.end());
    draws.insert(other.draws.begin(), other.draws.end());
    is_all = is_all || other.is_all;
  }
};

/// The function of the library that does to two tensors at once what `one` does to one.
Id pair_of(Id one) { return library::find(library::Space::Values, std::string(library::info(one).name) + "_pair"); }
bool is_pair(Id id) { return library::is_augmentation(id) && library::info(id).name.ends_with("_pair"); }
bool draws(Id id) { return library::info(id).always_draws(); }

/// Whether values lie in it beside each other, each as it was.
bool joins(const ExprView& expr) {
  const auto* op = expr.get<node::Op>();
  return expr.is<node::List>() || expr.is<node::Tuple>() ||
         (op != nullptr && (op->op == Id::Stack || op->op == Id::Cat));
}

/// The fields that a function reads of a record that it is given; nothing if it does something else with it.
std::optional<std::set<std::string>> fields_read(const Fn& fn, LocalId param, const Program& program) {
  std::set<std::string> fields;
  size_t uses = 0, reads = 0;
  for_each_expr(fn.body, program, [&](const ExprView& expr) {
    const auto* local = expr.get<node::Local>();
    if (local != nullptr && local->local == param) ++uses;
    const auto* field = expr.get<node::RecordField>();
    const auto* record = field != nullptr ? program.exprs[field->record].get<node::Local>() : nullptr;
    if (record == nullptr || record->local != param) return;
    ++reads;
    fields.insert(field->name);
  });
  return uses == reads ? std::optional(std::move(fields)) : std::nullopt;
}

/// What the code of a map makes of a record.
class MapFlow {
 public:
  MapFlow(FnId id, const Program& program) : program_(program), fn_(program.fns[id]), locals_(fn_.locals.size()) {
    for (LocalId param = 0; param < fn_.param_count; ++param) {
      const Type& type = fn_.locals[param].type;
      if (type.kind == Kind::Record) locals_[param].is_all = true;
    }
    // A later line of a loop may be read by an earlier one.
    for (int round = 0; round < 2; ++round) follow(fn_.body);
  }

  Origin of(ExprId id) const {
    const ExprView& expr = program_.exprs[id];
    Origin origin;
    if (const auto* local = expr.get<node::Local>()) return locals_[local->local];
    if (expr.is<node::Shape>()) return origin;
    if (const auto* field = expr.get<node::RecordField>()) {
      const auto* record = program_.exprs[field->record].get<node::Local>();
      if (record == nullptr || record->local >= fn_.param_count) return of(field->record);
      origin.fields.insert(field->name);
      return origin;
    }
    if (const auto* call = expr.get<node::CallFn>()) {
      for (size_t i = 0; i < call->args.size(); ++i) origin.add(of_argument(*call, i));
    } else {
      for_each_child(expr, [&](ExprId child) { origin.add(of(child)); });
    }
    const auto* part = expr.get<node::TupleElement>();
    const auto* op = expr.get<node::Op>();
    if (part != nullptr && pair_call(part->tuple) != nullptr) return of_part(part->tuple, size_t(part->index));
    if (op != nullptr && is_pair(op->op)) origin.draws.insert({expr.span, 1});
    if (op != nullptr && draws(op->op)) origin.draws.insert({expr.span, 0});
    if (drawn_in(expr) != Id::None) origin.draws.insert({expr.span, 0});
    if (!origin.draws.empty() && !joins(expr)) origin.noisy = origin.fields;
    return origin;
  }

  /// The record that the function ends with, if that is the only way to its end.
  const node::Record* result() const {
    if (fn_.body.empty()) return nullptr;
    const auto* end = fn_.body.back().get<stmt::Return>();
    size_t ends = 0;
    count_ends(fn_.body, ends);
    if (end == nullptr || !end->value || ends != 1) return nullptr;
    return program_.exprs[*end->value].get<node::Record>();
  }
  const Type& result_type() const { return program_.exprs[*fn_.body.back().get<stmt::Return>()->value].type; }
  const Body& body() const { return fn_.body; }

  /// What a call of a function of the program draws first.
  Id drawn_in(const ExprView& expr) const {
    const auto* call = expr.get<node::CallFn>();
    const auto* method = expr.get<node::CallMethod>();
    Id found = Id::None;
    if (call == nullptr && method == nullptr) return found;
    for_each_reached(call != nullptr ? call->fn : method->fn, program_, [&](const ExprView& inner) {
      const auto* op = inner.get<node::Op>();
      if (found == Id::None && op != nullptr && draws(op->op)) found = op->op;
    });
    return found;
  }

 private:
  const node::Op* pair_call(ExprId id) const {
    const auto* op = program_.exprs[id].get<node::Op>();
    return op != nullptr && is_pair(op->op) && op->args.size() >= 2 ? op : nullptr;
  }

  /// Of a record that a function is given only what it reads goes on.
  Origin of_argument(const node::CallFn& call, size_t index) const {
    const auto* local = program_.exprs[call.args[index]].get<node::Local>();
    const bool is_record = local != nullptr && local->local < fn_.param_count && locals_[local->local].is_all;
    auto fields = is_record ? fields_read(program_.fns[call.fn], LocalId(index), program_) : std::nullopt;
    if (!fields) return of(call.args[index]);
    Origin origin;
    origin.fields = std::move(*fields);
    return origin;
  }

  /// Each of a pair is made of the one that was given in its place.
  Origin of_part(ExprId pair, size_t index) const {
    const node::Op& call = *pair_call(pair);
    Origin origin = of(call.args[index]);
    origin.draws.insert({program_.exprs[pair].span, index});
    for (size_t i = 2; i < call.args.size(); ++i) origin.add(of(call.args[i]));
    origin.noisy = origin.fields;
    return origin;
  }

  void follow(const Body& body) {
    for (const Stmt& one : body) {
      if (const auto* let = one.get<stmt::Let>()) locals_[let->local].add(of(let->value));
      if (const auto* unpack = one.get<stmt::Unpack>()) {
        const auto* tuple = program_.exprs[unpack->value].get<node::Tuple>();
        const bool is_each = tuple != nullptr && tuple->elements.size() == unpack->locals.size();
        for (size_t i = 0; i < unpack->locals.size(); ++i)
          locals_[unpack->locals[i]].add(pair_call(unpack->value) != nullptr && i < 2 ? of_part(unpack->value, i)
                                         : is_each                                    ? of(tuple->elements[i])
                                                                                      : of(unpack->value));
      }
      for_each_body(one, [&](const Body& inner) { follow(inner); });
    }
  }

  static void count_ends(const Body& body, size_t& ends) {
    for (const Stmt& one : body) {
      if (one.is<stmt::Return>()) ++ends;
      for_each_body(one, [&](const Body& inner) { count_ends(inner, ends); });
    }
  }

  const Program& program_;
  const Fn& fn_;
  std::vector<Origin> locals_;
};

/// What a call at `place` in a map draws.
Id drawn_at(const Span& place, const MapFlow& flow, const Program& program) {
  Id found = Id::None;
  for_each_expr(flow.body(), program, [&](const ExprView& expr) {
    if (!(expr.span == place)) return;
    const auto* op = expr.get<node::Op>();
    if (op != nullptr && draws(op->op)) found = op->op;
    if (found == Id::None) found = flow.drawn_in(expr);
  });
  return found;
}

/// Where records of which nothing else is kept get random numbers into them, and what is drawn. A field that the result has
/// without them, too, or whose random numbers it has, is made for a task: what was there shall be found again.
std::optional<std::pair<Span, Id>> noise_in(FnId map, const Program& program) {
  const MapFlow flow(map, program);
  const node::Record* record = flow.result();
  std::vector<Origin> results;
  for (const ExprId value : record != nullptr ? record->values : ExprIds{}) results.push_back(flow.of(value));
  for (size_t i = 0; i < results.size(); ++i) {
    const Origin& noisy = results[i];
    if (noisy.is_all || noisy.draws.empty() || noisy.fields.empty()) continue;
    const std::set<std::string>& fields = noisy.noisy.empty() ? noisy.fields : noisy.noisy;
    bool is_kept = false;
    for (size_t k = 0; k < results.size(); ++k) {
      if (k == i) continue;
      is_kept = is_kept || results[k].is_all;
      for (const std::string& field : fields) is_kept = is_kept || results[k].fields.contains(field);
      for (const Drawn& drawn : noisy.draws) is_kept = is_kept || results[k].draws.contains(drawn);
    }
    const Span place = noisy.draws.begin()->call;
    const Id id = is_kept ? Id::None : drawn_at(place, flow, program);
    if (id != Id::None) return std::pair(place, id);
  }
  return std::nullopt;
}

/// The maps of a stream, the last one first; nothing is known of several streams in one, nor of records that are made.
bool add_maps(const ExprView& expr, const DataObject& data, const Program& program, std::vector<FnId>& maps) {
  const ExprView& stream = behind_lets(expr, data, program);
  if (const auto* map = stream.get<node::MapStage>()) maps.push_back(map->fn);
  const auto input = input_of(stream, program);
  return input ? add_maps(program.exprs[*input], data, program, maps)
               : library::info(stage_of(stream)).records == Records::Filed;
}

bool varies_images(FnId map, const Program& program) {
  bool is_found = false;
  for_each_reached(map, program, [&](const ExprView& expr) {
    const auto* op = expr.get<node::Op>();
    is_found = is_found || (op != nullptr && library::is_augmentation(op->op));
  });
  return is_found;
}

void check_noise(Context& cx, const StreamDecl& stream, const DataObject& data) {
  std::vector<FnId> maps;
  if (!add_maps(stream.value, data, cx.program, maps)) return;
  const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
  // What varies images is told by itself.
  if (std::ranges::any_of(maps, [&](FnId map) { return varies_images(map, cx.program); })) return;
  for (const FnId map : maps) {
    const auto noise = noise_in(map, cx.program);
    if (!noise) continue;
    if (is_reported(cx, diagnostics::Code::W0508, noise->first)) return;
    cx.report(diag::varied_evaluation(noise->first, name, std::string(library::info(noise->second).name))
                  .label(stream.value.span, "`{}` passes it", name)
                  .note("it changes the records in each round, so that rounds measure different things")
                  .help("what is measured passes a map without it"));
    return;
  }
}

/// A call that varies one field of the record.
struct Varied {
  Span call;
  Id op = Id::None;
  std::string field;
  std::string second;  ///< of a pair
};

/// What surely belongs together: what one call for pairs takes, or an image and the class of each of its places.
class Partners {
 public:
  Partners(const MapFlow& flow, const Program& program) {
    for_each_expr(flow.body(), program, [&](const ExprView& expr) {
      const auto* op = expr.get<node::Op>();
      if (op == nullptr || !is_pair(op->op) || op->args.size() < 2) return;
      add(flow.of(op->args[0]), flow.of(op->args[1]), true);
    });
    const node::Record* record = flow.result();
    const size_t count = record != nullptr ? record->values.size() : 0;
    for (size_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < count; ++k) {
        const Type &image = flow.result_type().fields[i].type, &classes = flow.result_type().fields[k].type;
        const bool are_tensors = image.is_tensor() && classes.is_tensor() && classes.dims.size() >= 2;
        if (!are_tensors || !is_floating(image.element) || is_floating(classes.element)) continue;
        const bool is_place =
            image.dims.size() >= 2 && std::equal(image.dims.end() - 2, image.dims.end(), classes.dims.end() - 2);
        add(flow.of(record->values[i]), flow.of(record->values[k]), is_place);
      }
    }
  }

  bool are(const std::string& one, const std::string& other) const {
    return pairs_.contains({one, other}) || pairs_.contains({other, one});
  }
  /// Whether each place of one stands for the same place of the other.
  bool lie_alike(const std::string& one, const std::string& other) const {
    return alike_.contains({one, other}) || alike_.contains({other, one});
  }

 private:
  void add(const Origin& left, const Origin& right, bool is_place) {
    if (left.is_all || right.is_all || left.fields.size() != 1 || right.fields.size() != 1) return;
    pairs_.emplace(*left.fields.begin(), *right.fields.begin());
    if (is_place) alike_.emplace(*left.fields.begin(), *right.fields.begin());
  }
  std::set<std::pair<std::string, std::string>> pairs_;
  std::set<std::pair<std::string, std::string>> alike_;
};

/// The calls of a map that vary fields, in the order of the program.
std::vector<Varied> varied_fields(const MapFlow& flow, const Program& program) {
  std::vector<Varied> found;
  const auto only = [&](ExprId id) {
    const Origin origin = flow.of(id);
    return origin.is_all || origin.fields.size() != 1 ? std::string() : *origin.fields.begin();
  };
  for_each_expr(flow.body(), program, [&](const ExprView& expr) {
    const auto* op = expr.get<node::Op>();
    if (op == nullptr || op->args.size() < 2 || !library::is_augmentation(op->op)) return;
    if (!is_pair(op->op) && pair_of(op->op) == Id::None) return;
    Varied one{expr.span, op->op, only(op->args[0]), is_pair(op->op) ? only(op->args[1]) : ""};
    if (!one.field.empty() && (!is_pair(op->op) || !one.second.empty())) found.push_back(std::move(one));
  });
  return found;
}

/// Which of a pair the result is made of.
std::set<size_t> used_parts(const Span& call, const MapFlow& flow) {
  std::set<size_t> parts;
  for (const ExprId value : flow.result()->values) {
    for (const Drawn& drawn : flow.of(value).draws) {
      if (drawn.call == call) parts.insert(drawn.part);
    }
  }
  return parts;
}

bool is_of(const Origin& origin, const std::string& field) {
  return !origin.is_all && origin.fields.size() == 1 && *origin.fields.begin() == field;
}

/// The field that belongs to what one call varies, and that the result has without it: varied by calls for pairs at most.
std::string left_as_it_was(const Varied& one, const std::vector<Varied>& all, const MapFlow& flow,
                           const Partners& partners) {
  std::vector<Origin> results;
  for (const ExprId value : flow.result()->values) results.push_back(flow.of(value));
  const auto is_varied = [&](const Origin& origin) {
    return is_of(origin, one.field) && origin.draws.contains({one.call, 0});
  };
  const auto is_for_pairs = [&](const Drawn& drawn) {
    return std::ranges::any_of(all, [&](const Varied& other) { return other.call == drawn.call && is_pair(other.op); });
  };
  if (is_pair(one.op) || std::ranges::none_of(results, is_varied)) return "";
  for (const Origin& origin : results) {
    if (origin.is_all || origin.fields.size() != 1 || !std::ranges::all_of(origin.draws, is_for_pairs)) continue;
    const std::string& field = *origin.fields.begin();
    if (field != one.field && partners.lie_alike(one.field, field)) return field;
  }
  return "";
}

/// What is varied while the mask that belongs to it is given on as it was.
void check_alone(Context& cx, const MapFlow& flow, const std::vector<Varied>& all, const Partners& partners) {
  for (const Varied& one : all) {
    const std::string other = left_as_it_was(one, all, flow, partners);
    if (other.empty() || is_reported(cx, diagnostics::Code::W0514, one.call)) continue;
    const std::string pair(library::info(pair_of(one.op)).name);
    cx.report(diag::varied_apart(one.call, one.field, other)
                  .note("what belongs to a place of `{}` no longer stands there in `{}`", one.field, other)
                  .help("one call varies both alike: `{}, {} = {}(…)`", one.field, other, pair));
  }
}

void check_apart(Context& cx, FnId map) {
  const MapFlow flow(map, cx.program);
  if (flow.result() == nullptr) return;
  const std::vector<Varied> all = varied_fields(flow, cx.program);
  if (all.empty()) return;
  const Partners partners(flow, cx.program);
  std::set<Id> told;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = i + 1; k < all.size(); ++k) {
      const Varied &one = all[i], &other = all[k];
      if (one.op != other.op || told.contains(one.op)) continue;
      const bool are_fields = !is_pair(one.op) && one.field != other.field && partners.are(one.field, other.field);
      const bool are_pairs = is_pair(one.op) && one.field == other.field && one.second == other.second &&
                             used_parts(one.call, flow).size() == 1 && used_parts(other.call, flow).size() == 1 &&
                             used_parts(one.call, flow) != used_parts(other.call, flow);
      if ((!are_fields && !are_pairs) || is_reported(cx, diagnostics::Code::W0514, other.call)) continue;
      told.insert(one.op);
      const std::string pair(library::info(is_pair(one.op) ? one.op : pair_of(one.op)).name);
      const std::string second = are_pairs ? one.second : other.field;
      cx.report(diag::varied_apart(other.call, one.field, second)
                    .label(one.call, "other random numbers here")
                    .note("what belongs to a place of `{}` no longer stands there in `{}`", one.field, second)
                    .help("one call varies both alike: `{}, {} = {}(…)`", one.field, second, pair));
    }
  }
  check_alone(cx, flow, all, partners);
}

}  // namespace

void check_varied(Context& cx, const DataObject& data) {
  std::set<FnId> seen;
  for (const StreamDecl& stream : data.streams) {
    if (stream.value.type.is_error()) continue;
    if (stream.role != kTrainRole) check_noise(cx, stream, data);
    std::vector<FnId> maps;
    add_maps(stream.value, data, cx.program, maps);
    for (const FnId map : maps) {
      if (seen.insert(map).second) check_apart(cx, map);
    }
  }
}

}  // namespace ltr::check
