#include <algorithm>

#include "dsl/check/expressions/index.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/expressions/rounds.h"

namespace ltr::check {

std::vector<std::pair<AtomId, Polynomial>> list_element_arguments(const Type& list, const Polynomial& index) {
  if (list.kind != Kind::List || list.arguments.empty()) return {};
  return {{list.arguments[0].first, list.arguments[0].second + index}};
}

namespace {

/// Whether values of this type can be chosen among at run time: what is built once or is no value has one place.
bool is_chosen(const Type& type) {
  return is_made_of(type, {Kind::Int, Kind::Float, Kind::Bool, Kind::Str, Kind::Path, Kind::OneOf, Kind::Tensor,
                           Kind::Option, Kind::Record, Kind::Tuple, Kind::List});
}

/// A list that is written element by element as one of elements of the type that they have in common.
std::optional<Expr> with_one_type(const Expr& list, Context& cx) {
  if (list.type.kind != Kind::List || list.type.fields.empty() || !is_chosen(list.type)) return std::nullopt;
  std::optional<Type> common = list.type.fields[0].type;
  for (const TypeField& field : list.type.fields) {
    if (common) common = merge(*common, field.type, cx);
  }
  if (!common) return std::nullopt;
  Type type = Type::of(Kind::List);
  type.uniform = true;
  type.value = list.type.value;
  type.fields.push_back({"", *common});
  return Expr{std::move(type), list.span, node::Convert{cx.keep(list)}};
}

/// The stream that each of a list is, if they deliver the same: such as the parts of a `split`, of which a run chooses one.
std::optional<Type> one_stream(const Type& list) {
  if (list.kind != Kind::List || list.fields.empty() || list.fields[0].type.kind != Kind::Stream) return std::nullopt;
  const Type& first = list.fields[0].type;
  const bool are_alike =
      std::all_of(list.fields.begin(), list.fields.end(), [&](const TypeField& one) { return one.type == first; });
  return are_alike ? std::optional(first) : std::nullopt;
}

diagnostics::Diagnostic no_choice(Span index, const Type& list, const Context& cx) {
  const bool is_tuple = list.kind == Kind::Tuple;
  diagnostics::Diagnostic diagnostic =
      diag::not_a_constant(index, is_tuple ? "the index of a tuple" : "the index of a list whose elements differ");
  diagnostic.note("the {} is {}", is_tuple ? "tuple" : "list", cx.text(list));
  if (!is_tuple && std::any_of(list.fields.begin(), list.fields.end(),
                               [](const TypeField& field) { return field.type.kind == Kind::Block; }))
    diagnostic.help("blocks of one type are made by a comprehension: `[Linear(4, 4) for i in 0 .. 3]`");
  return diagnostic;
}

constexpr const char* kList = "a list of length ";

/// What can be read again and again without building anything.
bool has_a_name(const ExprView& list, const Context& cx) {
  if (const auto* member = list.get<node::Member>()) return has_a_name(cx.at(member->object), cx);
  if (const auto* part = list.get<node::ListElement>())
    return has_a_name(cx.at(part->list), cx) && cx.at(part->index).is<node::IntConst>();
  if (const auto* part = list.get<node::TupleElement>()) return has_a_name(cx.at(part->tuple), cx);
  if (const auto* field = list.get<node::RecordField>()) return has_a_name(cx.at(field->record), cx);
  return list.is<node::Local>() || list.is<node::Self>() || list.is<node::ModelOf>();
}

/// Some of a list of blocks, functions or values without a type in common: those elements, which must be known.
Expr written_part(const Expr& list, const Bounds& bounds, Span span, Scope& scope) {
  Context& cx = scope.cx;
  const auto from = bounds.from ? bounds.from->constant() : std::nullopt;
  const auto to = bounds.to ? bounds.to->constant() : std::nullopt;
  if (!from || !to || !list.type.value || !list.type.value->constant()) {
    cx.report(diag::not_a_constant(from && to ? list.span : span,
                                   from && to ? "the length of a list of blocks of which some are taken"
                                              : "the range of a list whose elements differ or are blocks"));
    return error_at(span);
  }
  const auto* written = list.get<node::List>();
  if (written == nullptr && !has_a_name(list, cx)) {
    cx.report(diag::wrong_type(span, "this list is built where some of it are taken").help("give it a name"));
    return error_at(span);
  }
  Type type = Type::of(Kind::List);
  node::List part;
  for (int64_t i = *from; i < *to; ++i) {
    const Type element = list.type.uniform
                             ? instantiate(list.type.fields[0].type, list_element_arguments(list.type, i), cx)
                             : list.type.fields[size_t(i)].type;
    type.fields.push_back({"", element});
    part.elements.push_back(
        written != nullptr ? written->elements[size_t(i)]
                           : cx.keep({element, span, node::ListElement{cx.keep(list), cx.keep(int_const(i, span))}}));
  }
  type.value = Polynomial(*to - *from);
  return {std::move(type), span, std::move(part)};
}

Expr slice_list(Expr list, const ast::IndexItem& item, Span span, Scope& scope) {
  Context& cx = scope.cx;
  AtomTable& atoms = cx.program.atoms;
  const Polynomial length = list.type.value ? *list.type.value : atoms.unknown();
  const Bounds bounds = read_bounds(item, length, kList, scope);
  if (bounds.has_error) return error_at(span);
  const bool is_known = bounds.are_known && !atoms.mentions_unknown(length);
  if (is_known) {
    const size_t errors = cx.sink->error_count();
    require_within(bounds, length, span, scope);
    if (cx.sink->error_count() != errors) return error_at(span);
  }
  const auto as_one = list.type.uniform ? std::nullopt : with_one_type(list, cx);
  const bool is_value = list.type.uniform ? is_chosen(list.type) : as_one.has_value();
  if (!is_value) return written_part(list, bounds, span, scope);
  Type type = as_one ? as_one->type : list.type;
  if (type.arguments.empty()) name_elements(type, list.type, cx);
  type.value = is_known ? *bounds.to - *bounds.from : atoms.unknown();
  for (auto& [index, first] : type.arguments) first = first + (bounds.from ? *bounds.from : atoms.unknown());
  Expr whole = as_one ? std::move(*as_one) : std::move(list);
  return op_expr(library::Id::SliceList, std::move(type), span,
                 {cx.keep(std::move(whole)), cx.keep(bounds.first), cx.keep(bounds.end)});
}

/// What to do about a tuple of which dims are taken: one of two results in the other's place, or both as one.
void help_of_tuple(diagnostics::Diagnostic& diagnostic, const ExprView& tuple, const Scope& scope) {
  diagnostic.label(tuple.span, "{}", scope.cx.text(tuple.type));
  const Assigned assigned = find_assigned(tuple, scope);
  if (assigned.part == 1 && assigned.names->size() == 2) {
    const std::string name = scope.cx.source_text(tuple.span), first = assigned.names->front().text;
    diagnostic.label(assigned.name, "`{}` is the second of two results", name)
        .help("is the first meant? `{}, {} = …`", name, first);
    return;
  }
  diagnostic.help("take it apart where it comes from: `a, b = …`");
}

}  // namespace

Expr index_list(Expr base, const ast::Index& index, Span span, Scope& scope) {
  const auto kind = index.items.size() == 1 ? index.items[0].kind : ast::IndexItem::Kind::New;
  if (kind == ast::IndexItem::Kind::Error) return error_at(span);
  if (kind == ast::IndexItem::Kind::Range && base.type.kind == Kind::List)
    return slice_list(std::move(base), index.items[0], span, scope);
  if (kind != ast::IndexItem::Kind::Expr) {
    const bool is_list = base.type.kind == Kind::List;
    diagnostics::Diagnostic diagnostic =
        diag::wrong_type(span, is_list ? "a list takes one index, or one range" : "a tuple takes one index");
    if (!is_list) help_of_tuple(diagnostic, base, scope);
    forget(base, diagnostic, scope);
    scope.cx.report(std::move(diagnostic));
    return error_at(span);
  }
  Expr at = check_as(**index.items[0].first, Type::of(Kind::Int), scope, "an index");
  if (at.type.is_error()) return error_at(span);
  const bool is_constant = at.type.value && at.type.value->constant();
  if (!is_constant && !base.type.uniform) {
    if (auto same = with_one_type(base, scope.cx)) base = std::move(*same);
  }
  Type element = Type::error();
  if (base.type.uniform && !base.type.fields.empty()) {
    if (base.type.value && !lies_within(at.type.value, *base.type.value, false, kList, at.span, scope))
      return error_at(span);
    const bool has_length = base.type.value && !scope.cx.program.atoms.mentions_unknown(*base.type.value);
    const auto furthest = has_length || !at.type.value ? std::nullopt : extreme_of(*at.type.value, true, scope);
    if (const auto place = furthest ? furthest->index.constant() : std::nullopt)
      require_element(base, *place, at.span, scope);
    const Polynomial index = at.type.value ? *at.type.value : scope.cx.program.atoms.unknown();
    element = instantiate(base.type.fields[0].type, list_element_arguments(base.type, index), scope.cx);
  } else if (const auto stream = is_constant ? std::nullopt : one_stream(base.type)) {
    if (!lies_within(at.type.value, int64_t(base.type.fields.size()), false, kList, at.span, scope))
      return error_at(span);
    element = *stream;
  } else {
    const auto constant = at.type.value ? at.type.value->constant() : std::nullopt;
    const int64_t size = int64_t(base.type.fields.size());
    if (!constant) {
      scope.cx.report(no_choice(at.span, base.type, scope.cx));
      return error_at(span);
    }
    if (!lies_within(constant, size, false, kList, at.span, scope)) return error_at(span);
    const int64_t place = *constant < 0 ? *constant + size : *constant;
    element = base.type.fields[size_t(place)].type;
    if (base.type.kind == Kind::Tuple)
      return {element, span, node::TupleElement{scope.cx.keep(std::move(base)), place}};
    at = int_const(place, at.span);
  }
  return {element, span, node::ListElement{scope.cx.keep(std::move(base)), scope.cx.keep(std::move(at))}};
}

}  // namespace ltr::check
