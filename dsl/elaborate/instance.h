#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/check/typed.h"
#include "runtime/tables/weight_name.h"

/// What an experiment builds, with the numbers filled in: model, blocks, weights.
namespace ltr::elaborate {

/// A size; nothing if only data or the run can tell it.
using Size = std::optional<int64_t>;

/// Index into `Tree::weights` and `Tree::objects`.
using WeightId = uint32_t;
using ObjectId = uint32_t;

/// One of what a `weights` stands for, and the place that it was asked of, "" for the model.
struct GivenWeight {
  WeightId id = 0;
  std::string of;
};

/// What an expression stands for before the program runs: host values as far as they are known,
/// tensors as their sizes, objects as their instances.
struct Value {
  enum class Kind {
    Unknown,
    None,
    Bool,
    Int,
    Float,
    Str,
    Tensor,
    List,  ///< a tuple too
    Record,
    Object,
    Weights,
    Function,
    Closure,  ///< a function with what it was made of, its one item, whose locals are a frame of the machine
    Call,     ///< an optimizer, schedule, callback: `text` with named `items`
  };
  Kind kind = Kind::Unknown;
  int64_t whole = 0;  ///< Bool, Int; Object: its id; Function: index of the function; Closure: of the frame
  double real = 0;    ///< Float
  std::string text;   ///< Str, Call
  check::Element element = check::Element::Error;
  std::vector<Size> dims;
  int32_t node = -1;                 ///< Tensor: the entry of the tape that made it
  std::optional<WeightId> weight;    ///< Tensor: the weight that it is
  std::vector<Value> items;          ///< List, Record, Call
  std::vector<std::string> names;    ///< Record, Call: of the items
  std::vector<GivenWeight> weights;  ///< Weights
  std::optional<std::string> place;  ///< List, Record: where all blocks in it lie, if they lie at one place

  static Value of_int(int64_t whole);
  static Value of_float(double real);
  static Value of_bool(bool flag);
  static Value of_str(std::string text);
  static Value none();
  bool is_number() const { return kind == Kind::Int || kind == Kind::Float; }
  double number() const { return kind == Kind::Float ? real : double(whole); }
  const Value* find(const std::string& name) const;
};

/// The product of the sizes, if all are known and 64 bits hold it.
Size count_elements(const std::vector<Size>& dims);

/// A path is of a place: where a member, an element, a field or an argument that is built lies below the root of the tree,
/// which is the model.
struct Weight {
  std::string path;  ///< `net.fc1.weight`
  check::Element element = check::Element::Error;
  std::vector<Size> dims;
  std::vector<check::Dim> terms;  ///< dims in terms of what the tree was built from, where that is asked for
  bool is_buffer = false;
  bool is_frozen = false;  ///< by the `freeze` of a `from`: no optimizer moves it

  /// What people, files and patterns call it.
  std::string name() const { return weight_name(path); }
};

/// The place of `name` below `place`, "" for the model.
std::string below(const std::string& place, const std::string& name);
/// Whether `path` is the place `above`, or lies below it.
bool is_below(const std::string& path, const std::string& above);

/// What sizes mean inside one declaration or call.
struct Sizes {
  check::AtomTable::Substitution atoms;              ///< numbers, or terms of what the tree was built from
  std::map<uint32_t, std::vector<Size>> groups;      ///< what `...` stands for
  std::map<check::AtomId, std::vector<Size>> lists;  ///< what ints lists and tuples hold
};

struct Object {
  check::Kind kind = check::Kind::Block;
  check::DeclIndex decl = 0;
  std::string type;                 ///< name of the declaration
  std::optional<std::string> path;  ///< `net.fc1`, empty for the model; data, metrics and callbacks lie at no place
  std::map<std::string, Value> params;
  std::vector<std::pair<std::string, Value>> members;
  Sizes sizes;
  // Of the first call in the train step, if there was one.
  std::vector<Size> output;
  bool is_called = false;

  const Value* find(const std::string& name) const;
  /// Whether it lies at the place `above`, or below it.
  bool lies_below(const std::string& above) const;
};

struct Tree {
  std::vector<Object> objects;
  std::vector<Weight> weights;
  std::vector<std::pair<std::string, WeightId>> places;  ///< of weights, as declared; one that is tied has several
  std::vector<std::string> open;  ///< places at which there may be more, since nobody knows what is built there
  ObjectId model = 0;
  ObjectId data = 0;

  /// Those that may be trained and have a place at or below `path`.
  std::vector<WeightId> weights_at(const std::string& path) const;
};

}  // namespace ltr::elaborate
