#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/ir/dim.h"
#include "codegen/ir/element.h"

namespace ltr::ir {

enum class TypeKind {
  Error,
  Void,
  None,
  Int,
  Float,
  Bool,
  Str,
  Value,   ///< a host value of a setting: `200 steps`, `max`, `AdamW(lr = …)`
  Tensor,  ///< of `element`, with `dims` as axes
  Record,
  Tuple,
  List,
  Option,
  Weights,
  Gradients,
  Block,
  Model,
  Data,
  Metric,
  Callback,     ///< `name` is the object's
  MetricValue,  ///< the state of a metric after an update; `name` is the metric's
  Optimizer,
  Stream,
  Scope,
  Function,
  Handle,  ///< what only the runtime looks into: `Facts`, `Vocabulary`; `name` is its class
};

struct Field;

/// The type of a value. Lists hold one element type; a list of mixed blocks is a tuple.
struct Type {
  TypeKind kind = TypeKind::Error;
  Element element = Element::Float;  ///< Tensor
  std::string name;                  ///< of what was declared
  std::vector<DimId> dims;
  std::vector<Field> fields;  ///< Record: named; Tuple: elements; List and Option: one; Stream: its record

  static Type of(TypeKind kind);
  static Type object(TypeKind kind, std::string name);
  static Type tensor(Element element, std::vector<DimId> dims);
  static Type list(Type element);
  static Type option(Type element);

  bool is(TypeKind other) const { return kind == other; }
  bool is_tensor() const { return kind == TypeKind::Tensor; }
  bool is_host_number() const { return kind == TypeKind::Int || kind == TypeKind::Float || kind == TypeKind::Bool; }
  bool is_object() const;
  bool operator==(const Type& other) const;
};

struct Field {
  std::string name;
  Type type;
  bool operator==(const Field& other) const = default;
};

// Behind Field: a function that makes a Type destroys its fields.
inline Type Type::of(TypeKind kind) { return Type{.kind = kind}; }
inline Type Type::object(TypeKind kind, std::string name) { return Type{.kind = kind, .name = std::move(name)}; }
inline Type Type::tensor(Element element, std::vector<DimId> dims) {
  return Type{.kind = TypeKind::Tensor, .element = element, .dims = std::move(dims)};
}

/// `float[B, 10]`, `list[int]`, `block Linear`, `{x: f32[4], label: i64[]}`; reads back with `read_type`.
std::string to_text(const Type& type, const DimStore& dims);
/// A type that is one word.
std::string_view to_text(TypeKind kind);

/// Reads a type at `position` and moves behind it; `TypeKind::Error` if there is none.
Type read_type(std::string_view text, size_t& position, DimStore& dims);

}  // namespace ltr::ir
