#include <array>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/host_types.h"
#include "dsl/check/scope/twice.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

std::optional<Element> element_of(const std::string& name) {
  for (auto element = Element::Float; element <= Element::Any; element = Element(int(element) + 1)) {
    if (name == to_text(element)) return element;
  }
  return std::nullopt;
}

std::vector<std::string> element_names() {
  std::vector<std::string> names;
  for (auto element = Element::Float; element != Element::Any; element = Element(int(element) + 1))
    names.emplace_back(to_text(element));
  return names;
}

std::vector<std::string> type_words() {
  std::vector<std::string> names;
  for (const HostType& type : kHostTypes) {
    if (type.is_written && !element_of(std::string(type.name))) names.emplace_back(type.name);
  }
  names.insert(names.end(), {"list", "option", "one_of"});
  for (std::string& name : element_names()) names.push_back(std::move(name));
  return names;
}

namespace {

/// A kind of value that callbacks alone take: which one, the name of its type says, as messages and runs write it.
std::string name_in_settings(const std::string& name) {
  if (name == "int_or_all") return kIntOrAll;
  if (name == "float_or_period") return kFloatOrPeriod;
  return name == "receiver" || name == "weight_path" ? name : "";
}

/// What programs may write where a type stands: what the language has, and behind it the types of the program.
std::vector<std::string> type_names(const Scope& scope) {
  std::vector<std::string> names = type_words();
  for (const std::string& name : scope.cx.graph.visible(scope.module)) {
    const Symbol* symbol = scope.cx.graph.find(scope.module, name);
    if (symbol != nullptr && symbol->kind == SymbolKind::Type) names.push_back(name);
  }
  return names;
}

bool is_object(SymbolKind kind) {
  return kind == SymbolKind::Block || kind == SymbolKind::Model || kind == SymbolKind::Data ||
         kind == SymbolKind::Metric;
}

void report_unknown_type(const ast::Name& name, Scope& scope) {
  if (!scope.cx.may_search(scope.module)) return scope.cx.report(diag::unknown_type(name.span, name.text));
  const std::vector<std::string> types = type_names(scope);
  std::vector<std::string> known = types;
  // Blocks and what else has a type of its name are many; those of the library are not read before they are asked for, but
  // begin with a capital.
  for (const std::string& visible : scope.cx.graph.visible(scope.module)) {
    const Symbol* symbol = scope.cx.graph.find(scope.module, visible);
    if (symbol == nullptr ? std::isupper(static_cast<unsigned char>(visible[0])) != 0 : is_object(symbol->kind))
      known.push_back(visible);
  }
  diagnostics::Diagnostic diagnostic = diag::unknown_type(name.span, name.text);
  if (!help_qualifier(diagnostic, name.text, name.span, resolve::Space::Symbols, scope.module, scope.cx)) return;
  if (!diagnostic.helps.empty()) return scope.cx.report(std::move(diagnostic));
  if (name.text == "list" || name.text == "option")
    diagnostic.help("it says of what: `{}[int]`", name.text);
  else if (name.text == "one_of")
    diagnostic.help("it says of which names: `one_of[min, max]`");
  else if (name.text == "None")
    diagnostic.help("a function that gives nothing has no `->`");
  else if (name.text == "tensor")
    diagnostic.help("{}", std::string(*diagnostics::foreign_advice("Tensor")));
  else if (name.text == "Tuple" || name.text == "tuple")
    diagnostic.help("a tuple of types has round brackets: `(int, int)`");
  else if (!did_you_mean(diagnostic, name.text, name.span, known))
    note_there_are(diagnostic, types);
  scope.cx.report(std::move(diagnostic));
}

Type check_dims(const ast::NamedType& named, Element element, Scope& scope) {
  std::vector<Dim> dims;
  for (const ast::Dim& dim : named.dims) {
    switch (dim.kind) {
      case ast::Dim::Kind::Error: return Type::error();
      case ast::Dim::Kind::Unknown: dims.push_back({.size = scope.cx.program.atoms.unknown(), .group = 0}); break;
      case ast::Dim::Kind::Ellipsis: {
        uint32_t group = scope.signature_group != 0 ? scope.signature_group
                         : scope.info != nullptr    ? scope.info->group
                                                    : 0;
        if (group == 0) {
          group = scope.cx.groups.next++;
          if (scope.info != nullptr) scope.info->group = group;
        }
        dims.push_back({.size = {}, .group = group});
        break;
      }
      case ast::Dim::Kind::Expr: {
        const std::optional<Polynomial> size = check_dim(**dim.value, scope);
        if (!size) return Type::error();
        if (const auto constant = size->constant(); constant && *constant < 0) {
          scope.cx.report(diag::negative_dim(dim.span, scope.cx.source_text(dim.span), std::to_string(*constant)));
          return Type::error();
        }
        dims.push_back({.size = *size, .group = 0});
        break;
      }
    }
  }
  Type type = Type::tensor(element, std::move(dims));
  return report_unfit_size(type, named.name.span, scope.cx) ? Type::error() : type;
}

/// What a name may stand for, written out: types that hold one other twice double with each level.
constexpr size_t kMostParts = 100'000;
/// And all uses of names together: each has its own copy.
constexpr size_t kMostPartsInAll = 500'000;

/// The type that a name of the program stands for.
Type named_type(const Symbol& symbol, Span use, Context& cx) {
  Work& work = cx.work;
  TypeNameState& state = cx.declared.type_names[symbol.decl];
  if (state == TypeNameState::Bad || work.named_parts > kMostPartsInAll) return Type::error();
  if (state == TypeNameState::TooLarge) {
    work.type_parts += kMostParts;  // What holds it is too large too.
    return Type::error();
  }
  if (state == TypeNameState::InWork) {
    cx.report(diag::type_cycle(use, symbol.name));
    state = TypeNameState::Bad;
    return Type::error();
  }
  if (work.open_types > kDeepest) {
    cx.report_too_deep(use, "of names of types");
    return Type::error();
  }
  const bool is_new = state == TypeNameState::New;
  const size_t errors = cx.sink->error_count(), parts = work.type_parts;
  const uint32_t deep_beside = std::exchange(work.types_deep, 0);
  state = TypeNameState::InWork;
  ++work.open_types;
  std::vector<Local> locals;
  Scope scope{.cx = cx, .module = symbol.module, .place = Place::Const, .locals = locals};
  Type type = check_type(symbol.decl->get<ast::TypeName>()->type, scope);
  --work.open_types;
  const bool is_too_deep = work.types_deep >= kDeepest, is_too_large = work.type_parts - parts > kMostParts;
  if (is_too_deep) cx.report_too_deep(symbol.span, "of names of types");
  // The next that doubles it so often would say the same.
  if (is_too_large && !std::exchange(cx.told.is_too_deep, true))
    cx.report(diag::stands_for_too_many(symbol.span, "100,000", "types"));
  if (work.open_types == 0) work.named_parts += work.type_parts - parts;
  if (work.named_parts > kMostPartsInAll && !std::exchange(cx.told.is_too_deep, true))
    cx.report(diag::stands_for_too_many(use, "500,000", "types, with all that names of types stand for before it"));
  work.types_deep = std::max(deep_beside, work.types_deep + 1);
  if (state == TypeNameState::InWork) state = TypeNameState::Good;
  if (is_too_deep || (is_new && cx.sink->error_count() != errors)) state = TypeNameState::Bad;
  if (is_too_large) state = TypeNameState::TooLarge;
  return state == TypeNameState::Good ? std::move(type) : Type::error();
}

/// Functions of the library take streams; those of a program take records.
bool may_name_streams(Span span, Scope& scope) {
  if (scope.cx.graph.modules[scope.module].is_library) return true;
  scope.cx.report(diag::unknown_type(span, "stream")
                      .help("a stream is made and joined in `data`: `train = csv(\"a.csv\") as {…} |> collate(8)`"));
  return false;
}

Type check_named(const ast::TypeExpr& type, const ast::NamedType& named, Scope& scope) {
  const std::string& name = named.name.text;
  if (name == "one_of") {
    Type result = Type::of(Kind::OneOf);
    for (const ast::Dim& dim : named.dims) {
      const ast::NameRef* choice = dim.value ? (*dim.value)->get<ast::NameRef>() : nullptr;
      if (choice != nullptr) {
        result.choices.push_back(choice->name.text);
      } else if (dim.value && (*dim.value)->get<ast::NoneLiteral>() != nullptr) {
        result.choices.emplace_back("none");
      }
    }
    return result;
  }
  if (named.has_dims) {
    if (const auto element = element_of(name)) return check_dims(named, *element, scope);
    if (name == "str") {
      Type texts = check_dims(named, Element::Error, scope);
      if (texts.is_error()) return texts;
      if (texts.dims.size() != 1 || texts.dims[0].group != 0) {
        scope.cx.report(diag::wrong_rank(type.span, "texts have one dim, that of the batch: `str[B]`"));
        return Type::error();
      }
      texts.kind = Kind::Texts;
      return texts;
    }
    if (name == "int") {
      scope.cx.report(diag::unknown_type(named.name.span, name + "[…]")
                          .help("a tensor of whole numbers is `i64[…]`")
                          .fix(named.name.span, "i64"));
      return Type::error();
    }
  }
  if (const auto kind = host_kind(name)) {
    if (*kind == Kind::Stream && !may_name_streams(type.span, scope)) return Type::error();
    Type result = Type::of(*kind);
    result.name = name_in_settings(name);
    return result;
  }
  if (const auto element = element_of(name)) return Type::tensor(*element, {});
  const Symbol* symbol = scope.cx.graph.find(scope.module, name);
  if (symbol != nullptr && symbol->kind == SymbolKind::Type) {
    if (!named.has_dims) return named_type(*symbol, named.name.span, scope.cx);
    scope.cx.report(diag::unknown_type(type.span, scope.cx.source_text(type.span))
                        .label(symbol->span, "`{}` stands for a whole type and takes no dims", symbol->name));
    return Type::error();
  }
  if (symbol != nullptr && is_object(symbol->kind)) {
    const ObjectInfo& object = object_of(scope.cx, *symbol);
    Type result = Type::of(object.kind);
    result.decl = object.index;
    result.name = object.name;
    return result;
  }
  if (symbol != nullptr && symbol->kind == SymbolKind::Error) return Type::error();
  report_unknown_type(named.name, scope);
  return Type::error();
}

/// `stream[{image: u8[28, 28]}]`: a stream by what it delivers.
Type check_stream(const ast::AppliedType& applied, Span span, Scope& scope) {
  if (!may_name_streams(span, scope)) return Type::error();
  Type record = check_type(*applied.argument, scope);
  if (record.is_error()) return record;
  if (record.kind != Kind::Record) {
    scope.cx.report(diag::wrong_type(applied.argument->span, "a stream delivers records: `stream[{name: float}]`"));
    return Type::error();
  }
  Type result = Type::of(Kind::Stream);
  result.fields = std::move(record.fields);
  return result;
}

}  // namespace

Type check_type(const ast::TypeExpr& type, Scope& scope) {
  ++scope.cx.work.type_parts;
  if (const auto* named = type.get<ast::NamedType>()) return check_named(type, *named, scope);
  if (const auto* applied = type.get<ast::AppliedType>()) {
    if (applied->name.text == "stream") return check_stream(*applied, type.span, scope);
    Type result = Type::of(applied->name.text == "list" ? Kind::List : Kind::Option);
    result.uniform = result.kind == Kind::List;
    result.fields.push_back({"", check_type(*applied->argument, scope)});
    return result;
  }
  if (const auto* record = type.get<ast::RecordType>()) {
    Type result = Type::of(Kind::Record);
    check_names(scope.cx, record->fields);
    for (const ast::FieldType& field : record->fields) {
      result.fields.push_back({field.name.text, check_type(*field.type, scope)});
    }
    return result;
  }
  if (const auto* tuple = type.get<ast::TupleType>()) {
    Type result = Type::of(Kind::Tuple);
    for (const ast::TypeExpr& element : tuple->elements) result.fields.push_back({"", check_type(element, scope)});
    return result;
  }
  if (const auto* block = type.get<ast::BlockType>()) {
    Type result = Type::of(Kind::Function);
    result.name = "block";
    Scope inner = scope;
    inner.signature_group = scope.cx.groups.next++;
    for (const ast::Name& binder : block->binders) {
      const AtomId atom = scope.cx.program.atoms.variable(binder.text, scope.cx.next_key++, false, false, true);
      inner.dim_names[binder.text] = atom;
      result.arguments.emplace_back(atom, Polynomial::atom(atom));
    }
    for (const ast::TypeExpr& param : block->params) result.fields.push_back({"", check_type(param, inner)});
    result.fields.push_back({"->", check_type(*block->result, inner)});
    for (const TypeField& field : result.fields) {
      if (field.type.is_error()) return Type::error();
    }
    return result;
  }
  return Type::error();
}

}  // namespace ltr::check
