#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/check/types/dims/polynomial.h"

namespace ltr::check {

/// Element types. `Float` is the policy type; `Any` stands in library declarations for the
/// argument's own type.
enum class Element {
  Error,
#define LTR_ELEMENT(Name, ...) Name,
#include "runtime/tables/elements.def"
#undef LTR_ELEMENT
  Any
};

/// One axis of a tensor: a size, or a group of leading axes bound by `...`.
struct Dim {
  Polynomial size;
  uint32_t group = 0;  ///< not 0: the group of this number, `size` unused
  bool operator==(const Dim&) const = default;
};

struct TypeField;

/// Index of a declared thing in `Program`: which of its vectors is told by the type's kind.
using DeclIndex = uint32_t;

enum class Kind {
  Error,
  Void,
  None,
  Int,
  Float,
  Bool,
  Str,
  Path,
  Duration,
  Period,
  Bytes,
  Secret,  // host values
  Tensor,
  Texts,  ///< `str[B]`: a text for each record of a batch
  Record,
  Tuple,
  List,
  Option,
  OneOf,
  Series,
  Weights,
  Range,
  Block,
  Model,
  Data,
  Metric,
  MetricValue,
  Optimizer,
  Stream,
  Schedule,
  Logger,
  CallbackValue,
  Function,  ///< a fn or op as a value: what may stand behind `|>` or in a chain
  Device,
  Precision,
  Initializer,
  TrainerValue,  ///< `fraction(0.1)`, `by_epoch([(0, 1)])`
  Draw,          ///< `log_uniform(1e-4, 1e-2)`
  Facts,         ///< what `facts(stream)` gives: `fields` of the stream, `name` of its `let`
  FieldFacts,    ///< of one field, whose type is in `fields`
  Vocabulary,    ///< `uniform`: a word that is not there has a number, or is left out
  Tokenizer,     ///< a vocabulary of parts of words, which cuts texts itself
  Gradients,
  Batches,
};

/// A type as a value. Which fields mean something depends on `kind`; all others stay empty, so that
/// `==` works.
struct Type {
  Kind kind = Kind::Error;
  Element element = Element::Error;  ///< Tensor
  std::vector<Dim> dims;             ///< Tensor, Texts, MetricValue
  std::vector<TypeField> fields;  ///< Record, Stream: named; Tuple, List: elements; Option: one; Function: its params
  std::vector<std::string> choices;  ///< OneOf
  std::optional<Polynomial> value;   ///< Int, Bool (1 or 0): its value as a dim; List with `uniform`: its length
  bool uniform = false;              ///< List: `fields` has one element type for all, and `value` is the length
  bool has_vocab = false;            ///< Stream: of characters, whose number is known at start
  bool gives_each = false;           ///< Metric: built with `average = none`, it gives what `compute_each` says
  DeclIndex decl = 0;                ///< Block, Model, Data, Metric
  std::string name;                  ///< Block, Model, Data, Metric: for messages; Function: which one `module` has
  std::optional<uint32_t> module;    ///< Function: that declares it, or what it is imported from
  std::vector<std::pair<AtomId, Polynomial>> arguments;  ///< Block …: its int parameters at this instance

  bool is_error() const { return kind == Kind::Error; }
  bool is_tensor() const { return kind == Kind::Tensor; }
  /// What a text becomes ids by.
  bool is_vocabulary() const { return kind == Kind::Vocabulary || kind == Kind::Tokenizer; }
  bool is_host_number() const { return kind == Kind::Int || kind == Kind::Float || kind == Kind::Bool; }
  bool operator==(const Type&) const;
  /// The field of this name, or null. Most records say theirs in one order: `place` is where it likely is.
  const TypeField* find(const std::string& field, size_t place = 0) const;

  static Type of(Kind kind);
  static Type error();
  /// list[element], of a length that the caller may add as its `value`.
  static Type list_of(Type element);
  static Type host_int(std::optional<Polynomial> value = std::nullopt);
  static Type tensor(Element element, std::vector<Dim> dims);
};

struct TypeField {
  std::string name;
  Type type;
  bool operator==(const TypeField&) const = default;
};

// Behind TypeField: a function that makes a Type destroys its fields.
inline Type Type::of(Kind kind) { return Type{.kind = kind}; }
inline Type Type::error() { return {}; }
inline Type Type::host_int(std::optional<Polynomial> value) {
  Type type = of(Kind::Int);
  type.value = std::move(value);
  return type;
}
inline Type Type::tensor(Element element, std::vector<Dim> dims) {
  Type type = of(Kind::Tensor);
  type.element = element;
  type.dims = std::move(dims);
  return type;
}
inline Type Type::list_of(Type element) {
  Type list = of(Kind::List);
  list.uniform = true;
  list.fields.push_back({"", std::move(element)});
  return list;
}

inline bool Type::operator==(const Type& other) const {
  return kind == other.kind && element == other.element && dims == other.dims && fields == other.fields &&
         choices == other.choices && value == other.value && uniform == other.uniform && decl == other.decl &&
         arguments == other.arguments && gives_each == other.gives_each &&
         // Which function it is stands in its type alone.
         (kind != Kind::Function || (name == other.name && module == other.module));
}

const char* to_text(Element element);
/// A list, tuple or record with blocks or functions in it, at any depth.
bool holds_layers(const Type& type);
/// Likewise a metric, or what holds one.
bool holds_metrics(const Type& type);
bool is_floating(Element element);
/// Whether a type is of one of `kinds`, and so is all that it is made of: elements, fields, what an option may hold.
bool is_made_of(const Type& type, std::initializer_list<Kind> kinds);
/// An option, or what has one in it, at any depth.
bool holds_options(const Type& type);
/// The variable that stands for a list or tuple whose ints are elements of it.
std::optional<AtomId> list_variable(const Type& type, const AtomTable& atoms);
/// `float[B, 10]`, `{image: u8[28, 28]}`, `Linear`.
std::string to_text(const Type& type, const AtomTable& atoms);

}  // namespace ltr::check
