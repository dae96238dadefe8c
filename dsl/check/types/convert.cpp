#include <algorithm>
#include <cctype>

#include "dsl/check/expressions/expressions.h"
#include "dsl/check/expressions/own_weight.h"
#include "dsl/check/scope/aside.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

bool is_host_list(const Type& type) {
  if (type.kind != Kind::List) return false;
  return std::all_of(type.fields.begin(), type.fields.end(),
                     [](const TypeField& field) { return field.type.is_host_number(); });
}

Element element_of_host(const Type& type) {
  return type.kind == Kind::Int ? Element::I64 : type.kind == Kind::Bool ? Element::Bool : Element::Float;
}

/// Whether a host number of this type may become an element of that one without a conversion in the
/// program.
bool host_fits(const Type& host, Element element) {
  if (element == Element::Any || element == element_of_host(host)) return true;
  if (host.kind == Kind::Bool) return element == Element::Bool;
  if (host.kind == Kind::Float) return is_floating(element);
  return element != Element::Bool;
}

/// Whether it is the declaration of a name of type `have` that was meant to be another where a `wanted` is asked for: a number
/// that is no int, a tuple that was not taken apart.
bool is_of_another_kind(const Type& have, const Type& wanted) {
  if (have.kind == Kind::Tuple) return wanted.is_tensor();
  return wanted.is_host_number() && (have.is_host_number() || have.kind == Kind::Str);
}

Expr fail(const ExprView& expr, const Type& wanted, Scope& scope, const std::string& what) {
  // That it is Python was said.
  if (expr.type.kind == Kind::Function && scope.cx.source_text(expr.span).starts_with("lambda "))
    return error_at(expr.span);
  if (expr.type.kind == Kind::Secret) {
    diagnostics::Diagnostic diagnostic = diag::secret_misplaced(expr.span, "given as " + what);
    diagnostic.note("it would be printed or saved; only settings that ask for a secret take one");
    help_of_argument(diagnostic, what);
    scope.cx.report(std::move(diagnostic));
    return error_at(expr.span);
  }
  diagnostics::Diagnostic diagnostic =
      wanted.is_tensor() && expr.type.is_tensor()
          ? diag::wrong_element(expr.span,
                                what + " must be " + scope.cx.text(wanted) + ", not " + scope.cx.text(expr.type))
          : diag::wrong_argument(expr.span,
                                 what + " must be " + scope.cx.text(wanted) + ", not " + scope.cx.text(expr.type));
  // Records become batches, which are tensors all the same: nothing has to be read.
  const bool is_of_record = scope.owner != nullptr && scope.owner->kind == Kind::Data;
  if (is_of_record && wanted.is_host_number() && expr.type.is_tensor() && expr.type.dims.empty())
    diagnostic.help("declare it as the tensor that it is: `{}`", scope.cx.text(expr.type));
  else if (!expr.type.is_tensor() || !help_of_argument(diagnostic, what))
    add_cure(diagnostic, expr, wanted, scope.cx);
  if (expr.type.kind == Kind::Period && diagnostic.helps.empty()) help_of_argument(diagnostic, what);
  if (is_of_another_kind(expr.type, wanted)) forget(expr, diagnostic, scope);
  scope.cx.report(std::move(diagnostic));
  return error_at(expr.span);
}

/// Whether a tensor of a size is wanted that a list whose length only the run knows may not have.
bool asks_for_length(const ExprView& list, const Type& wanted, const Context& cx) {
  const AtomTable& atoms = cx.program.atoms;
  if (list.type.value && !atoms.mentions_unknown(*list.type.value)) return false;
  if (wanted.dims.size() != 1 || wanted.dims[0].group != 0) return false;
  const std::vector<AtomId> parts = atoms.deep_atoms(wanted.dims[0].size);
  return std::none_of(parts.begin(), parts.end(),
                      [&](AtomId id) { return atoms.at(id).kind == Atom::Kind::Unknown || atoms.at(id).is_binder; });
}

Expr convert_to_tensor(Expr expr, const Type& wanted, Scope& scope, const std::string& what) {
  const Span span = expr.span;
  if (expr.type.is_host_number() && host_fits(expr.type, wanted.element)) {
    Type type = wanted;
    if (type.element == Element::Any) type.element = element_of_host(expr.type);
    if (!std::all_of(type.dims.begin(), type.dims.end(), [](const Dim& dim) { return dim.group != 0; })) {
      return fail(expr, wanted, scope, what);
    }
    type.dims.clear();
    return {std::move(type), span, node::Convert{scope.cx.keep(std::move(expr))}};
  }
  if (is_host_list(expr.type) && !expr.type.fields.empty()) {
    Element element = wanted.element;
    bool all_fit = true;
    if (element == Element::Any) {
      element = Element::I64;
      for (const TypeField& field : expr.type.fields) {
        if (field.type.kind == Kind::Float) element = Element::Float;
        if (field.type.kind == Kind::Bool) element = Element::Bool;
      }
    }
    for (const TypeField& field : expr.type.fields) all_fit = all_fit && host_fits(field.type, element);
    if (all_fit && asks_for_length(expr, wanted, scope.cx)) {
      const std::string text = scope.cx.text(wanted), list = scope.cx.source_text(span);
      scope.cx.report(diag::unknown_size(span, "the length of " + scope.cx.text(expr.type), "`" + text + "`")
                          .help("`stack({}) as {}` checks it once", list, text));
      return error_at(span);
    }
    // Numbers of different types become those of the tensor one by one.
    const bool is_mixed = std::any_of(expr.type.fields.begin(), expr.type.fields.end(), [&](const TypeField& field) {
      return field.type.kind != expr.type.fields[0].type.kind;
    });
    if (all_fit && is_mixed) {
      expr = convert(std::move(expr), Type::list_of(Type::of(is_floating(element) ? Kind::Float : Kind::Int)), scope,
                     what.c_str());
      if (expr.type.is_error()) return expr;
    }
    if (all_fit) {
      const Polynomial length = expr.type.value ? *expr.type.value : scope.cx.program.atoms.unknown();
      return {Type::tensor(element, {{.size = length, .group = 0}}), span,
              node::Convert{scope.cx.keep(std::move(expr))}};
    }
  }
  return fail(expr, wanted, scope, what);
}

/// What is not written part by part is converted as a whole.
Expr convert_whole(Expr expr, const Type& wanted, Scope& scope, const std::string& what) {
  switch (fit_of(expr.type, wanted)) {
    case Fit::Same: return expr;
    case Fit::Converts: {
      Type type = converted(expr.type, wanted);
      const Span span = expr.span;
      return {std::move(type), span, node::Convert{scope.cx.keep(std::move(expr))}};
    }
    case Fit::No: break;
  }
  return fail(expr, wanted, scope, what);
}

/// Converts a part of a whole that is written part by part; `type` becomes that of the part. False after a report.
bool convert_part(ExprId& part, Type& type, const Type& wanted, Scope& scope, const char* what) {
  Expr converted = convert(scope.cx.at(part), wanted, scope, what);
  type = converted.type;
  part = scope.cx.keep(std::move(converted));
  return !type.is_error();
}

Expr convert_list(Expr expr, const Type& wanted, Scope& scope, const char* what) {
  if (wanted.fields.empty()) return expr;
  auto* list = expr.get<node::List>();
  if (list == nullptr) return convert_whole(std::move(expr), wanted, scope, what);
  if (list->elements.empty()) {
    // Of what it holds nothing, only the place that takes it knows.
    expr.type = wanted;
    expr.type.value = Polynomial(0);
    return expr;
  }
  const bool is_each = are_each_by_each(expr.type, wanted);
  for (size_t i = 0; i < list->elements.size(); ++i) {
    if (!convert_part(list->elements[i], expr.type.fields[i].type, wanted.fields[is_each ? i : 0].type, scope, what))
      return error_at(expr.span);
  }
  return expr;
}

bool is_of_ints(const Type& type) {
  if (type.kind != Kind::Tuple) return type.kind == Kind::Int;
  return std::all_of(type.fields.begin(), type.fields.end(),
                     [](const TypeField& field) { return is_of_ints(field.type); });
}

/// An int for each part of a tuple of ints, and for each part of those.
Expr spread(const Expr& one, const Type& wanted, Context& cx) {
  if (wanted.kind == Kind::Int) return one;
  Type type = Type::of(Kind::Tuple);
  std::vector<Expr> parts;
  for (const TypeField& field : wanted.fields) {
    parts.push_back(spread(one, field.type, cx));
    type.fields.push_back({"", parts.back().type});
  }
  return {std::move(type), one.span, node::Tuple{cx.keep(std::move(parts))}};
}

/// A tuple that has a name, part by part.
Expr taken_apart(const Expr& tuple, Context& cx) {
  const ExprId whole = cx.keep(tuple);
  std::vector<Expr> parts;
  for (size_t i = 0; i < tuple.type.fields.size(); ++i)
    parts.push_back({tuple.type.fields[i].type, tuple.span, node::TupleElement{whole, int64_t(i)}});
  return {tuple.type, tuple.span, node::Tuple{cx.keep(std::move(parts))}};
}

Expr convert_tuple(Expr expr, const Type& wanted, Scope& scope, const char* what) {
  // Ints may have to become pairs.
  const bool has_a_name = expr.is<node::Local>() || expr.is<node::Member>() || expr.is<node::Hparam>();
  if (has_a_name && is_of_ints(wanted) && fit_of(expr.type, wanted) == Fit::No) expr = taken_apart(expr, scope.cx);
  auto* tuple = expr.get<node::Tuple>();
  if (tuple == nullptr) return convert_whole(std::move(expr), wanted, scope, what);
  for (size_t i = 0; i < tuple->elements.size(); ++i) {
    if (!convert_part(tuple->elements[i], expr.type.fields[i].type, wanted.fields[i].type, scope, what))
      return error_at(expr.span);
  }
  return expr;
}

/// What was found of the fields of one record: of several that are of wrong types the first is told, with a label at the others.
void report_of_fields(const std::vector<diagnostics::Diagnostic>& found, bool fits, Context& cx) {
  std::optional<diagnostics::Diagnostic> first;
  for (const diagnostics::Diagnostic& one : found) {
    const bool is_error = one.severity == diagnostics::Severity::Error;
    if (fits || !is_error) {
      cx.report(one);
    } else if (!first) {
      first = one;
    } else if (first->code == one.code && one.code == diagnostics::Code::E0309 && one.span != first->span) {
      first->label(one.span, "{}", one.message);
    }
  }
  if (first) cx.report(std::move(*first));
}

/// A record that has more fields than are wanted will do.
Expr convert_record(Expr expr, const Type& wanted, Scope& scope, const char* what) {
  for (size_t i = 0; i < wanted.fields.size(); ++i) {
    const TypeField& field = wanted.fields[i];
    if (expr.type.find(field.name, i) != nullptr) continue;
    scope.cx.report(diag::unknown_field(expr.span, scope.cx.text(expr.type), field.name)
                        .note("{} is wanted", scope.cx.text(wanted)));
    if (!scope.cx.is_trying) scope.cx.told.fields.insert(field.name);
    return error_at(expr.span);
  }
  auto* record = expr.get<node::Record>();
  if (record == nullptr) return convert_whole(std::move(expr), wanted, scope, what);
  diagnostics::Sink found;
  bool fits = true;
  {
    const Aside aside(scope.cx, found);
    for (size_t i = 0; i < record->values.size(); ++i) {
      const TypeField* field = wanted.find(expr.type.fields[i].name, i);
      if (field == nullptr) continue;
      const std::string label = "the field `" + field->name + "`";
      fits = convert_part(record->values[i], expr.type.fields[i].type, field->type, scope, label.c_str()) && fits;
    }
  }
  report_of_fields(found.reported(), fits, scope.cx);
  return fits ? std::move(expr) : error_at(expr.span);
}

/// A tensor where weights are wanted: a `weight` of the model itself stands by its name.
Expr tensor_as_weights(Expr expr, const Type& wanted, Scope& scope, const char* what) {
  const Span span = expr.span;
  if (is_own_weight(expr, scope)) return weights_of(std::move(expr), span, scope.cx);
  const auto* member = expr.get<node::Member>();
  if (member == nullptr) return fail(expr, wanted, scope, what);
  const ExprView& holder = scope.cx.at(member->object);
  diagnostics::Diagnostic diagnostic =
      diag::wrong_argument(span, std::string(what) + " must be weights, not " + scope.cx.text(expr.type));
  if (holder.is<node::Self>() && expr.type.element == Element::Float)
    diagnostic.help("what is trained is declared so: `weight {}: {} = …`", member->name, scope.cx.text(expr.type));
  else if (!holder.is<node::Self>())
    diagnostic.help("all of the block: `{}.weights`", scope.cx.source_text(holder.span));
  scope.cx.report(std::move(diagnostic));
  return error_at(span);
}

Expr convert_to_weights(Expr expr, const Type& wanted, Scope& scope, const char* what) {
  if (expr.type.kind == Kind::Weights) return expr;
  if (expr.type.is_tensor()) return tensor_as_weights(std::move(expr), wanted, scope, what);
  auto* list = expr.get<node::List>();
  bool all_weights = list != nullptr && !list->elements.empty();
  for (size_t i = 0; list != nullptr && i < list->elements.size(); ++i) {
    const ExprView& one = scope.cx.at(list->elements[i]);
    if (one.type.is_tensor()) {
      Expr part = tensor_as_weights(one, wanted, scope, what);
      if (part.type.is_error()) return error_at(expr.span);
      list->elements[i] = scope.cx.keep(std::move(part));
    }
    all_weights = all_weights && scope.cx.at(list->elements[i]).type.kind == Kind::Weights;
  }
  if (!all_weights) return fail(expr, wanted, scope, what);
  expr.type = wanted;
  return expr;
}

Expr convert_choice(Expr expr, const Type& wanted, Scope& scope, const char* what) {
  const std::vector<std::string>& known = wanted.choices;
  const bool is_one = expr.type.kind == Kind::OneOf &&
                      std::all_of(expr.type.choices.begin(), expr.type.choices.end(), [&](const std::string& choice) {
                        return std::find(known.begin(), known.end(), choice) != known.end();
                      });
  if (is_one) return expr;
  std::string choices;
  for (const std::string& choice : known) choices += (choices.empty() ? "`" : ", `") + choice + "`";
  diagnostics::Diagnostic diagnostic =
      diag::wrong_argument(expr.span, std::string(what) + " must be one of " + choices);
  const auto* word = expr.get<node::StrConst>();
  const std::string written = word != nullptr ? word->text : scope.cx.source_text(expr.span);
  if (std::find(known.begin(), known.end(), written) != known.end()) {
    add_cure(diagnostic, expr, wanted, scope.cx);
  } else if (const auto ours = diagnostics::renamed(written, known)) {
    add_near(diagnostic, written, expr.span, *ours);
  } else if (const auto near = near_choice(written, known)) {
    add_near(diagnostic, written, expr.span, *near);
  } else {
    add_cure(diagnostic, expr, wanted, scope.cx);
  }
  scope.cx.report(std::move(diagnostic));
  return error_at(expr.span);
}

/// Whether it is another number in each round of a loop.
bool goes_with_rounds(const ExprView& expr, const Context& cx) {
  if (expr.is<node::Local>()) {
    const std::optional<AtomId> atom = expr.type.value ? expr.type.value->single_atom() : std::nullopt;
    return atom && cx.program.atoms.at(*atom).is_binder;
  }
  const auto* host = expr.get<node::Host>();
  return host != nullptr && host->op != host::Op::Mod &&
         std::ranges::any_of(host->args, [&](ExprId arg) { return goes_with_rounds(cx.at(arg), cx); });
}

/// A quotient of ints of which only a run knows whether it is whole, where a fraction would do; of one that goes with a loop it is
/// known that it mostly is not, unless it cancels.
void warn_of_quotient(const ExprView& value, Scope& scope) {
  const auto* quotient = value.get<node::Host>();
  if (quotient == nullptr || quotient->op != host::Op::Div) return;
  if (value.type.value) {
    const AtomTable& atoms = scope.cx.program.atoms;
    const auto is_quotient = [&](AtomId id) { return atoms.at(id).kind == Atom::Kind::Exact; };
    if (!goes_with_rounds(scope.cx.at(quotient->args[0]), scope.cx) ||
        std::ranges::none_of(atoms.deep_atoms(*value.type.value), is_quotient))
      return;
  }
  if (counts(scope.cx.at(quotient->args[0]), scope.cx)) return;  // Said where it is divided.
  report_quotient(value, scope);
}

}  // namespace

std::optional<std::string> near_choice(const std::string& written, const std::vector<std::string>& known) {
  for (const std::string& choice : known) {
    const size_t shorter = std::min(choice.size(), written.size());
    if (shorter > 2 && choice != written && choice.compare(0, shorter, written, 0, shorter) == 0) return choice;
  }
  return diagnostics::suggest(written, known);
}

bool counts(const ExprView& expr, const Context& cx) {
  const auto* brought = expr.get<node::Context>();
  if (brought != nullptr)
    return brought->name == "epoch" || brought->name == "global_step" || brought->name == "batch_index";
  const auto* host = expr.get<node::Host>();
  return host != nullptr && host->op != host::Op::Mod &&
         std::any_of(host->args.begin(), host->args.end(), [&](ExprId arg) { return counts(cx.at(arg), cx); });
}

void report_quotient(const ExprView& value, Scope& scope) {
  const auto* quotient = value.get<node::Host>();
  const Span divisor = scope.cx.at(quotient->args[1]).span;
  const std::string text = scope.cx.source_text(value.span), below = scope.cx.source_text(divisor);
  diagnostics::Diagnostic diagnostic = diag::exact_quotient(value.span, text);
  // A `const` is a number, too, and is called by its name.
  if (scope.cx.at(quotient->args[1]).is<node::IntConst>() && std::isdigit(static_cast<unsigned char>(below[0])) != 0)
    diagnostic.help("a fraction is `/ {}.0`, and `floor({})` rounds", below, text)
        .fix({divisor.source, divisor.end, divisor.end}, ".0");
  else
    diagnostic.help("a fraction is `/ (1.0 * {})`, and `floor({})` rounds", below, text);
  scope.cx.report(std::move(diagnostic));
}

namespace {

/// An int where a float is wanted.
Expr widened(Expr expr, const Type& wanted, Scope& scope) {
  const Span span = expr.span;
  if (const auto* number = expr.get<node::IntConst>()) return {wanted, span, node::FloatConst{double(number->value)}};
  warn_of_quotient(expr, scope);
  return {wanted, span, node::Convert{scope.cx.keep(std::move(expr))}};
}

}  // namespace

Expr convert(Expr expr, const Type& wanted, Scope& scope, const char* what) {
  if (expr.type.is_error() || wanted.is_error()) return expr;
  const Type& have = expr.type;
  switch (wanted.kind) {
    case Kind::Option:
      if (have.kind == Kind::None) {
        expr.type = wanted;
        return expr;
      }
      if (have.kind == Kind::Option) return convert_whole(std::move(expr), wanted, scope, what);
      return convert(std::move(expr), wanted.fields[0].type, scope, what);
    case Kind::Float:
      if (have.kind == Kind::Int) return widened(std::move(expr), wanted, scope);
      break;
    case Kind::Path:
      if (have.kind != Kind::Str) break;
      expr.type = wanted;
      return expr;
    case Kind::Period:
      if (have.kind == Kind::Duration) return expr;
      if (wanted.name != kFloatOrPeriod) break;
      if (have.kind == Kind::Float) return expr;
      if (have.kind == Kind::Int) return widened(std::move(expr), Type::of(Kind::Float), scope);
      break;
    case Kind::Tensor:
      if (have.is_tensor()) return expr;
      return convert_to_tensor(std::move(expr), wanted, scope, what);
    case Kind::List:
      if (have.kind == Kind::List) return convert_list(std::move(expr), wanted, scope, what);
      break;
    case Kind::Tuple:
      if (have.kind == Kind::Int && is_of_ints(wanted)) return spread(expr, wanted, scope.cx);
      if (have.kind != Kind::Tuple || have.fields.size() != wanted.fields.size())
        return fail(expr, wanted, scope, what);
      return convert_tuple(std::move(expr), wanted, scope, what);
    case Kind::Function:
      if (wanted.fields.empty()) break;
      if (have.kind == Kind::Block || have.kind == Kind::List || have.kind == Kind::Function)
        return as_function(std::move(expr), wanted, scope, what);
      return fail(expr, wanted, scope, what);
    case Kind::Record:
      if (have.kind == Kind::Record) return convert_record(std::move(expr), wanted, scope, what);
      break;
    case Kind::Weights: return convert_to_weights(std::move(expr), wanted, scope, what);
    case Kind::OneOf: return convert_choice(std::move(expr), wanted, scope, what);
    default: break;
  }
  return have.kind == wanted.kind ? expr : fail(expr, wanted, scope, what);
}

}  // namespace ltr::check
