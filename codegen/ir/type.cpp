#include "codegen/ir/type.h"

#include <array>
#include <cctype>

namespace ltr::ir {
namespace {

struct PlainName {
  TypeKind kind;
  std::string_view name;
};

// Types that are one word. Those of tensors have brackets behind it.
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

std::string joined_fields(const Type& type, bool named, const DimStore& dims) {
  std::string text;
  for (const Field& field : type.fields) {
    if (!text.empty()) text += ", ";
    if (named) text += field.name + ": ";
    text += to_text(field.type, dims);
  }
  return text;
}

/// Reads by descent; a type of kind Error is a mistake.
class TypeReader {
 public:
  TypeReader(std::string_view text, size_t& position, DimStore& dims) : text_(text), position_(position), dims_(dims) {}

  Type type() {
    if (depth_ == kMaxDepth) return {};
    ++depth_;
    Type type = form();
    --depth_;
    return type;
  }

 private:
  Type form() {
    Type type;
    if (take('{')) {
      type.kind = TypeKind::Record;
      return fields('}', true, type.fields) ? type : Type{};
    }
    if (take('(')) {
      type.kind = TypeKind::Tuple;
      return fields(')', false, type.fields) ? type : Type{};
    }
    const std::string_view word = this->word();
    if (word.empty()) return {};
    if (word == "stream" && is_next('{')) {
      ++position_;
      type.kind = TypeKind::Stream;
      return fields('}', true, type.fields) ? type : Type{};
    }
    if (is_next('[')) {
      ++position_;
      if (word == "list" || word == "option") {
        type.kind = word == "list" ? TypeKind::List : TypeKind::Option;
        return fields(']', false, type.fields) ? type : Type{};
      }
      const std::optional<Element> element = find_element(word);
      if (!element) return {};
      type.kind = TypeKind::Tensor;
      type.element = *element;
      return axes(type.dims) ? type : Type{};
    }
    for (const PlainName& plain : kPlain) {
      if (plain.name == word) return Type::of(plain.kind);
    }
    for (const PlainName& named : kNamed) {
      if (named.name == word) return Type::object(named.kind, std::string(this->word()));
    }
    return {};
  }

  void skip_spaces() {
    while (is_next(' ')) ++position_;
  }

  bool is_next(char c) const { return position_ < text_.size() && text_[position_] == c; }

  bool take(char wanted) {
    skip_spaces();
    if (!is_next(wanted)) return false;
    ++position_;
    return true;
  }

  std::string_view word() {
    skip_spaces();
    const size_t begin = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  /// Fields up to `close`, which is consumed.
  bool fields(char close, bool named, std::vector<Field>& fields) {
    if (take(close)) return true;
    do {
      Field field;
      if (named) {
        field.name = std::string(word());
        if (!take(':')) return false;
      }
      field.type = type();
      if (field.type.is(TypeKind::Error)) return false;
      fields.push_back(std::move(field));
    } while (take(','));
    return take(close);
  }

  bool axes(std::vector<DimId>& dims) {
    if (take(']')) return true;
    do {
      const std::optional<DimId> dim = read_dim(text_, position_, dims_);
      if (!dim) return false;
      dims.push_back(*dim);
    } while (take(','));
    return take(']');
  }

  static constexpr int kMaxDepth = 256;  ///< that of a program, which the parser caps

  std::string_view text_;
  size_t& position_;
  DimStore& dims_;
  int depth_ = 0;
};

}  // namespace

Type Type::list(Type element) { return Type{.kind = TypeKind::List, .fields = {Field{"", std::move(element)}}}; }
Type Type::option(Type element) { return Type{.kind = TypeKind::Option, .fields = {Field{"", std::move(element)}}}; }

bool Type::is_object() const {
  return kind == TypeKind::Block || kind == TypeKind::Model || kind == TypeKind::Data || kind == TypeKind::Metric ||
         kind == TypeKind::Callback;
}

bool Type::operator==(const Type& other) const {
  return kind == other.kind && element == other.element && name == other.name && dims == other.dims &&
         fields == other.fields;
}

std::string_view to_text(TypeKind kind) {
  for (const PlainName& plain : kPlain) {
    if (plain.kind == kind) return plain.name;
  }
  return "";
}

std::string to_text(const Type& type, const DimStore& dims) {
  if (const std::string_view plain = to_text(type.kind); !plain.empty()) return std::string(plain);
  for (const PlainName& named : kNamed) {
    if (named.kind == type.kind) return std::string(named.name) + " " + type.name;
  }
  if (type.is_tensor()) {
    std::string text = std::string(to_text(type.element)) + "[";
    for (size_t i = 0; i < type.dims.size(); ++i) text += (i == 0 ? "" : ", ") + to_text(type.dims[i], dims);
    return text + "]";
  }
  if (type.is(TypeKind::Record)) return "{" + joined_fields(type, true, dims) + "}";
  if (type.is(TypeKind::Stream)) return "stream{" + joined_fields(type, true, dims) + "}";
  if (type.is(TypeKind::Tuple)) return "(" + joined_fields(type, false, dims) + ")";
  if (type.is(TypeKind::Option)) return "option[" + joined_fields(type, false, dims) + "]";
  return "list[" + joined_fields(type, false, dims) + "]";
}

Type read_type(std::string_view text, size_t& position, DimStore& dims) {
  return TypeReader(text, position, dims).type();
}

}  // namespace ltr::ir
