#include "codegen/ir/type.h"

#include <array>
#include <cctype>

namespace ltr::ir {
namespace {

struct PlainName {
  TypeKind kind;
  std::string_view name;
};

// Types that are one word. The tensor element types are any other word with brackets behind it.
constexpr std::array kPlain = {
    PlainName{TypeKind::Void, "void"},
    PlainName{TypeKind::None, "none"},
    PlainName{TypeKind::Int, "int"},
    PlainName{TypeKind::Float, "float"},
    PlainName{TypeKind::Bool, "bool"},
    PlainName{TypeKind::Str, "str"},
    PlainName{TypeKind::Value, "value"},
    PlainName{TypeKind::Weights, "weights"},
    PlainName{TypeKind::Gradients, "gradients"},
    PlainName{TypeKind::Optimizer, "optimizer"},
    PlainName{TypeKind::Scope, "scope"},
    PlainName{TypeKind::Function, "function"},
    PlainName{TypeKind::Error, "error"},
};

// Types that are a word and the name of a declaration.
constexpr std::array kNamed = {
    PlainName{TypeKind::Block, "block"},       PlainName{TypeKind::Model, "model"},
    PlainName{TypeKind::Data, "data"},         PlainName{TypeKind::Metric, "metric"},
    PlainName{TypeKind::Callback, "callback"}, PlainName{TypeKind::MetricValue, "metric_value"},
    PlainName{TypeKind::Handle, "handle"},
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void skip_spaces(std::string_view text, size_t& position) {
  while (position < text.size() && text[position] == ' ') ++position;
}

std::string_view read_word(std::string_view text, size_t& position) {
  skip_spaces(text, position);
  const size_t begin = position;
  while (position < text.size() && is_word(text[position])) ++position;
  return text.substr(begin, position - begin);
}

bool take(std::string_view text, size_t& position, char wanted) {
  skip_spaces(text, position);
  if (position >= text.size() || text[position] != wanted) return false;
  ++position;
  return true;
}

std::string joined_fields(const Type& type, bool named) {
  std::string text;
  for (const Field& field : type.fields) {
    if (!text.empty()) text += ", ";
    if (named) text += field.name + ": ";
    text += to_text(field.type);
  }
  return text;
}

/// Fields up to `close`, which is consumed.
bool read_fields(std::string_view text, size_t& position, char close, bool named, std::vector<Field>& fields) {
  if (take(text, position, close)) return true;
  do {
    Field field;
    if (named) {
      field.name = std::string(read_word(text, position));
      if (!take(text, position, ':')) return false;
    }
    field.type = read_type(text, position);
    if (field.type.is(TypeKind::Error)) return false;
    fields.push_back(std::move(field));
  } while (take(text, position, ','));
  return take(text, position, close);
}

/// Dims are kept as text; a comma inside of brackets belongs to the dim.
bool read_dims(std::string_view text, size_t& position, std::vector<std::string>& dims) {
  if (take(text, position, ']')) return true;
  std::string dim;
  for (int depth = 0; position < text.size(); ++position) {
    const char c = text[position];
    if (c == '(' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == ']')) {
      dims.push_back(dim);
      dim.clear();
      if (c == ']') return ++position, true;
      skip_spaces(text, ++position);
      --position;
      continue;
    }
    if (c == ')' || c == ']') --depth;
    dim += c;
  }
  return false;
}

}  // namespace

Type Type::list(Type element) { return Type{TypeKind::List, {}, {}, {Field{"", std::move(element)}}}; }
Type Type::option(Type element) { return Type{TypeKind::Option, {}, {}, {Field{"", std::move(element)}}}; }

bool Type::is_object() const {
  return kind == TypeKind::Block || kind == TypeKind::Model || kind == TypeKind::Data || kind == TypeKind::Metric ||
         kind == TypeKind::Callback;
}

bool Type::operator==(const Type& other) const {
  return kind == other.kind && name == other.name && dims == other.dims && fields == other.fields;
}

std::string to_text(const Type& type) {
  for (const PlainName& plain : kPlain) {
    if (plain.kind == type.kind) return std::string(plain.name);
  }
  for (const PlainName& named : kNamed) {
    if (named.kind == type.kind) return std::string(named.name) + " " + type.name;
  }
  if (type.is_tensor()) {
    std::string text = type.name + "[";
    for (size_t i = 0; i < type.dims.size(); ++i) text += (i == 0 ? "" : ", ") + type.dims[i];
    return text + "]";
  }
  if (type.is(TypeKind::Record)) return "{" + joined_fields(type, true) + "}";
  if (type.is(TypeKind::Stream)) return "stream{" + joined_fields(type, true) + "}";
  if (type.is(TypeKind::Tuple)) return "(" + joined_fields(type, false) + ")";
  if (type.is(TypeKind::Option)) return "option[" + joined_fields(type, false) + "]";
  return "list[" + joined_fields(type, false) + "]";
}

Type read_type(std::string_view text, size_t& position) {
  Type type;
  if (take(text, position, '{')) {
    type.kind = TypeKind::Record;
    return read_fields(text, position, '}', true, type.fields) ? type : Type{};
  }
  if (take(text, position, '(')) {
    type.kind = TypeKind::Tuple;
    return read_fields(text, position, ')', false, type.fields) ? type : Type{};
  }
  const std::string_view word = read_word(text, position);
  if (word.empty()) return {};
  if (position < text.size() && text[position] == '{' && word == "stream") {
    ++position;
    type.kind = TypeKind::Stream;
    return read_fields(text, position, '}', true, type.fields) ? type : Type{};
  }
  if (position < text.size() && text[position] == '[') {
    ++position;
    if (word == "list" || word == "option") {
      type.kind = word == "list" ? TypeKind::List : TypeKind::Option;
      return read_fields(text, position, ']', false, type.fields) ? type : Type{};
    }
    type.kind = TypeKind::Tensor;
    type.name = std::string(word);
    return read_dims(text, position, type.dims) ? type : Type{};
  }
  for (const PlainName& plain : kPlain) {
    if (plain.name == word) return Type::of(plain.kind);
  }
  for (const PlainName& named : kNamed) {
    if (named.name == word) return Type::object(named.kind, std::string(read_word(text, position)));
  }
  return {};
}

}  // namespace ltr::ir
