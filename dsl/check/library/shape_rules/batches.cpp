// `window`, `collate` and `bucket`: several records as one.

#include <algorithm>
#include <cmath>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/rules.h"
#include "dsl/check/library/shape_rules/streams.h"

namespace ltr::check {

namespace {

/// A field in a window or batch: one more axis in front. Host fields become tensors; texts stay texts, in batches alone.
std::optional<Type> widened(const TypeField& field, const Polynomial& size, bool is_batch, Span span, Scope& scope) {
  Type type = field.type;
  switch (type.kind) {
    case Kind::Int: type = Type::tensor(Element::I64, {}); break;
    case Kind::Float: type = Type::tensor(Element::Float, {}); break;
    case Kind::Bool: type = Type::tensor(Element::Bool, {}); break;
    case Kind::Tensor: break;
    case Kind::Error: return std::nullopt;  // Its type could not be read, which was said.
    case Kind::Option:
      scope.cx.report(diag::cannot_collate(span, field.name, scope.cx.text(type))
                          .help("say in a map what stands for a missing value: `or_else(row.{}, …)`", field.name));
      return std::nullopt;
    case Kind::Str:
    case Kind::Path:
      if (is_batch) return Type{.kind = Kind::Texts, .dims = {Dim{.size = size, .group = 0}}};
      [[fallthrough]];
    default:
      scope.cx.report(diag::cannot_collate(span, field.name, scope.cx.text(type))
                          .help("encode it in a map: `class_of(row.{}, [\"…\", \"…\"])` is its number", field.name));
      return std::nullopt;
  }
  type.dims.insert(type.dims.begin(), Dim{.size = size, .group = 0});
  return type;
}

/// An argument of a stage.
ExprView argument(const Expr& stage, size_t i, const Context& cx) { return cx.at(stage.get<node::Op>()->args[i]); }

/// Whether a batch can hold a field; one whose last size differs from record to record if it is filled up.
bool check_batched(const TypeField& field, const Type& wide, bool is_padded, CallSite& site) {
  Context& cx = site.scope.cx;
  for (size_t i = 1; i < wide.dims.size(); ++i) {
    if (!cx.program.atoms.mentions_unknown(wide.dims[i].size)) continue;
    const bool is_last = i + 1 == wide.dims.size();
    if (is_padded && is_last) continue;
    diagnostics::Diagnostic diagnostic = diag::cannot_collate(site.name_span, field.name, cx.text(field.type));
    diagnostic.note("its size differs from record to record");
    if (is_last)
      diagnostic.help("`collate(…, pad = 0)` fills the shorter ones up");
    else
      diagnostic.help("bring all records to one size in a map, such as `resize(64, 64)`");
    cx.report(std::move(diagnostic));
    return false;
  }
  return true;
}

/// Whether `value` is one of `element`, bounds included.
bool is_value_of(double value, Element element) {
  const auto is_whole_in = [&](double low, double high) {
    return value == std::floor(value) && value >= low && value <= high;
  };
  switch (element) {
    case Element::I8: return is_whole_in(-128, 127);
    case Element::I16: return is_whole_in(-32768, 32767);
    case Element::I32: return is_whole_in(-2147483648.0, 2147483647.0);
    case Element::I64: return is_whole_in(-9223372036854775808.0, 9223372036854774784.0);
    case Element::U8: return is_whole_in(0, 255);
    case Element::Bool: return value == 0 || value == 1;
    default: return true;
  }
}

/// Whether all fields `filled` of a record can hold the value of `what`: E0309. One that is not known yet is looked at when a run starts.
bool check_filling(const ExprView& pad, const char* what, const std::vector<TypeField>& record,
                   const std::vector<std::string>& filled, Context& cx) {
  const std::optional<HostValue> known = evaluate(pad, cx.program);
  if (!known || known->kind != HostValue::Kind::Float) return true;
  for (const TypeField& field : record) {
    const bool is_filled = std::find(filled.begin(), filled.end(), field.name) != filled.end();
    if (!is_filled || is_value_of(known->real, field.type.element)) continue;
    cx.report(diag::wrong_argument(pad.span, "`" + std::string(what) + "` fills up `" + field.name + ": " +
                                                 cx.text(field.type) + "`, which cannot hold " +
                                                 cx.source_text(pad.span)));
    return false;
  }
  return true;
}

bool has_open_end(const Type& type, const Context& cx) {
  return type.is_tensor() && !type.dims.empty() && cx.program.atoms.mentions_unknown(type.dims.back().size);
}

/// The fields that are filled up, in the order of the batch schema where there is one.
std::vector<std::string> padded_fields(const std::vector<TypeField>& record, const Scope& scope) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    for (const TypeField& field : record) {
      if (field.name == name && has_open_end(field.type, scope.cx) &&
          std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  };
  if (scope.owner != nullptr) {
    for (const TypeField& field : scope.owner->batch.fields) add(field.name);
  }
  for (const TypeField& field : record) add(field.name);
  return names;
}

/// `lengths = "n"` as the pairs that it stands for: the first field that is filled up, and the name of its lengths.
void spread_lengths(CallSite& site, const std::vector<std::string>& padded) {
  for (Given& given : site.given) {
    if (!given.name || given.name->text != "lengths" || given.value == nullptr) continue;
    Expr value = check_expr(*given.value, site.scope);
    if (value.type.kind == Kind::Str && !padded.empty()) {
      const Type text = Type::of(Kind::Str);
      Type pair = Type::of(Kind::Tuple), list = Type::of(Kind::List);
      pair.fields = {{"", text}, {"", text}};
      list.fields = {{"", pair}};
      list.value = Polynomial(1);
      const Span span = value.span;
      Context& cx = site.scope.cx;
      const ExprId field = cx.keep(str_const(padded[0], span)), name = cx.keep(std::move(value));
      const ExprId one = cx.keep({pair, span, node::Tuple{{field, name}}});
      value = {list, span, node::List{{one}}};
    }
    given.checked = std::move(value);
  }
}

/// The pairs of a list that is written, such as `[("ids", "n")]`.
ExprIds pairs_of(const ExprView& list) {
  const auto* pairs = list.get<node::List>();
  return pairs != nullptr ? pairs->elements : ExprIds{};
}

/// The field that a pair is about: one that is filled up; nothing, and reported, where it is none.
std::optional<std::string> field_of(const ExprView& given, const std::vector<std::string>& padded, Context& cx) {
  const auto* pair = given.get<node::Tuple>();
  const auto* name = pair != nullptr ? cx.at(pair->elements[0]).get<node::StrConst>() : nullptr;
  if (name == nullptr) {
    cx.report(diag::not_a_constant(given.span, "the name of a field"));
    return std::nullopt;
  }
  if (std::find(padded.begin(), padded.end(), name->text) != padded.end()) return name->text;
  diagnostics::Diagnostic diagnostic =
      diag::wrong_argument(cx.at(pair->elements[0]).span, "`" + name->text + "` is no field that is filled up");
  note_known(diagnostic, padded);
  cx.report(std::move(diagnostic));
  return std::nullopt;
}

/// What `pad` and `pads` fill fields up with; false where a field is named wrongly, twice, or not at all, or cannot hold its value.
bool check_pads(const ExprView& pad, const ExprView& pads, const std::vector<TypeField>& record,
                const std::vector<std::string>& padded, Context& cx) {
  std::vector<std::string> others = padded;
  for (const ExprId id : pairs_of(pads)) {
    const auto field = field_of(cx.at(id), padded, cx);
    if (!field) return false;
    const ExprView value = cx.at(cx.at(id).get<node::Tuple>()->elements[1]);
    if (!check_filling(value, "pads", record, {*field}, cx)) return false;
    if (std::erase(others, *field) > 0) continue;
    cx.report(diag::wrong_argument(cx.at(id).span, "`" + *field + "` has two values that it is filled up with"));
    return false;
  }
  if (!pad.is<node::NoneConst>()) return check_filling(pad, "pad", record, others, cx);
  if (others.empty()) return true;
  cx.report(diag::wrong_argument(pads.span, "nothing says what `" + others[0] + "` is filled up with")
                .help("`pad = 0` says it for all that `pads` does not name"));
  return false;
}

/// Adds the fields that `lengths` asks for; false where one cannot be.
bool add_lengths(const ExprIds& lengths, const std::vector<std::string>& padded, Type& batch, CallSite& site) {
  Context& cx = site.scope.cx;
  for (const ExprId id : lengths) {
    if (!field_of(cx.at(id), padded, cx)) return false;
    const auto* pair = cx.at(id).get<node::Tuple>();
    const auto* second = cx.at(pair->elements[1]).get<node::StrConst>();
    if (second == nullptr) {
      cx.report(diag::not_a_constant(cx.at(id).span, "the name of a field"));
      return false;
    }
    const std::string& name = second->text;
    for (const TypeField& field : batch.fields) {
      if (field.name != name) continue;
      cx.report(diag::wrong_argument(cx.at(pair->elements[1]).span, "the record has a field `" + name + "` already"));
      return false;
    }
    batch.fields.push_back({name, Type::tensor(Element::I64, {Dim{.size = cx.program.atoms.unknown(), .group = 0}})});
  }
  return true;
}

}  // namespace

bool stands_before_batches(const Type& stream, CallSite& site) {
  if (!stream.uniform) return true;
  diagnostics::Diagnostic diagnostic =
      diag::wrong_place(site.name_span, "`" + site.name + "` stands behind `collate`, where there are batches already");
  label_batches(diagnostic, site.name_span, site.scope);
  site.scope.cx.report(std::move(diagnostic));
  return false;
}

Expr rule_window(const FnInfo& op, CallSite& site) {
  auto group = stage(op, site);
  if (!group || !stands_before_batches(group->type, site)) return error_at(site.span);
  const ExprView count = argument(*group, 1, site.scope.cx);
  const Polynomial size = count.type.value ? *count.type.value : site.scope.cx.program.atoms.unknown();
  for (TypeField& field : group->type.fields) {
    const auto wide = widened(field, size, false, site.name_span, site.scope);
    if (!wide) return error_at(site.span);
    field.type = *wide;
  }
  return std::move(*group);
}

Expr rule_collate(const FnInfo& op, CallSite& site) {
  constexpr size_t kPad = 3, kLengths = 4, kPads = 5, kPadTo = 6, kSide = 7;
  Context& cx = site.scope.cx;
  const std::vector<TypeField> record = site.given[0].checked->type.fields;
  const std::vector<std::string> padded = padded_fields(record, site.scope);
  spread_lengths(site, padded);
  auto group = stage(op, site);
  if (!group || !stands_before_batches(group->type, site)) return error_at(site.span);
  const ExprView pad = argument(*group, kPad, cx), pads = argument(*group, kPads, cx);
  const bool is_padded = !pad.is<node::NoneConst>() || !pairs_of(pads).empty();
  const ExprIds asked = pairs_of(argument(*group, kLengths, cx));
  const auto* to = argument(*group, kPadTo, cx).get<node::IntConst>();
  const auto* side = argument(*group, kSide, cx).get<node::Symbol>();
  const std::pair<bool, size_t> wanting_pad[] = {{!asked.empty(), kLengths},
                                                 {to == nullptr || to->value != 1, kPadTo},
                                                 {side == nullptr || side->text != "right", kSide}};
  if (!asked.empty() && side != nullptr && side->text == "left") {
    cx.report(diag::wrong_argument(argument(*group, kSide, cx).span,
                                   "`lengths` count from the left, where `side = left` fills up")
                  .help("leave out one of them: what reads lengths takes the first places of a record"));
    return error_at(site.span);
  }
  for (const auto& [is_given, place] : wanting_pad) {
    if (is_padded || !is_given) continue;
    cx.report(diag::wrong_argument(argument(*group, place, cx).span, "`" + op.params[place].name + "` goes with `pad`")
                  .help("`pad = 0` fills the shorter records up with 0"));
    return error_at(site.span);
  }
  if (is_padded && padded.empty()) {
    cx.report(diag::wrong_argument((pad.is<node::NoneConst>() ? pads : pad).span,
                                   "no field of the record has a size that differs, so nothing is filled up"));
    return error_at(site.span);
  }
  if (is_padded && !check_pads(pad, pads, record, padded, cx)) return error_at(site.span);
  Type& type = group->type;
  for (TypeField& field : type.fields) {
    const auto wide = widened(field, cx.program.atoms.unknown(), true, site.name_span, site.scope);
    if (!wide || !check_batched(field, *wide, is_padded, site)) return error_at(site.span);
    field.type = *wide;
  }
  if (!add_lengths(asked, padded, type, site)) return error_at(site.span);
  type.uniform = true;
  return std::move(*group);
}

namespace {

/// `by = ids`: a field that is named as a function would be.
bool report_unquoted(const Given& by, const Type& stream, Scope& scope) {
  const auto* name = by.value != nullptr ? by.value->get<ast::NameRef>() : nullptr;
  if (name == nullptr || is_in_scope(name->name.text, scope)) return false;
  const bool is_field = std::any_of(stream.fields.begin(), stream.fields.end(),
                                    [&](const TypeField& field) { return field.name == name->name.text; });
  if (!is_field) return false;
  const std::string quoted = "\"" + name->name.text + "\"";
  scope.cx.report(diag::unknown_name(name->name.span, name->name.text)
                      .help("a field is named by a text: `{}`", quoted)
                      .fix(name->name.span, quoted));
  return true;
}

}  // namespace

Expr value_by(const ExprView& stream, const Given& by, const WantedValue& wanted, CallSite& site) {
  Context& cx = site.scope.cx;
  if (by.value == nullptr || by.value->get<ast::StrLiteral>() == nullptr) {
    if (report_unquoted(by, stream.type, site.scope)) return error_at(site.span);
    return mapped_value(stream, by, wanted.made, site);
  }
  Expr field = check_given(by, site.scope);
  const std::string word = text_of(field);
  const TypeField* found = stream.type.find(word);
  const bool is_there = found != nullptr;
  if (is_there && wanted.fits(found->type)) return field;
  if (is_there) {
    cx.report(diag::wrong_type(field.span, std::string("a field ") + wanted.description + " is wanted, and `" + word +
                                               "` is " + cx.text(found->type)));
    return error_at(site.span);
  }
  std::vector<std::string> known;
  for (const TypeField& one : stream.type.fields) known.push_back(one.name);
  diagnostics::Diagnostic diagnostic = diag::unknown_field(field.span, "the stream", word);
  if (!did_you_mean(diagnostic, word, field.span, known)) note_known(diagnostic, known);
  cx.report(std::move(diagnostic));
  return error_at(site.span);
}

/// The numbers that `by` gives are a stream of their own beside that of the records.
Expr rule_bucket(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  const Expr stream = *site.given[0].checked;
  if (stream.type.uniform) {
    cx.report(diag::wrong_place(site.name_span, "`bucket` stands in front of `collate`, which makes the batches"));
    return error_at(site.span);
  }
  const auto bound = bind_arguments(op.params, site, op.name);
  if (!bound) return error_at(site.span);
  const Given& by = *(*bound)[1];
  Expr width = (*bound)[2] != nullptr ? check_given_as(*(*bound)[2], Type::of(Kind::Int), site.scope, "`width`")
                                      : int_const(8, site.span);
  const auto has_length = [](const Type& type) {
    return type.kind == Kind::Str || (type.is_tensor() && !type.dims.empty());
  };
  Expr sizes = value_by(stream, by, {Type::of(Kind::Int), has_length, "of some length"}, site);
  if (sizes.type.is_error() || width.type.is_error()) return error_at(site.span);
  if (const auto* number = width.get<node::IntConst>(); number != nullptr && number->value < 1) {
    cx.report(diag::out_of_range(width.span, "`bucket` needs a width of at least 1"));
    return error_at(site.span);
  }
  const Type type = stream.type;
  return typed_call(op, type, site, {stream, std::move(sizes), std::move(width)});
}

}  // namespace ltr::check
