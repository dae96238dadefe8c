#pragma once

// Step IR: typed SSA over tensors and host values. Functions hold a region, regions hold ops, ops may hold regions.
// Constants are values without an op; they are written where they are used.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/ir/op.h"
#include "codegen/ir/type.h"
#include "dsl/host/op.h"
#include "dsl/source/span.h"
#include "runtime/tables/name_rule.h"

namespace ltr::ir {

/// Index into `Function::values`.
using ValueId = uint32_t;

/// A place in a source: `file` indexes `Module::files`. Line 0 is nowhere.
struct Loc {
  uint32_t file = 0;
  int32_t line = 0;
  int32_t column = 0;
  source::Span span;  ///< all of it, for diagnostics; not part of the text form, nor of `==`
  bool operator==(const Loc& other) const { return file == other.file && line == other.line && column == other.column; }
};

struct NoneConstant {
  bool operator==(const NoneConstant&) const = default;
};
using Constant = std::variant<NoneConstant, bool, int64_t, double, std::string>;

struct Value {
  Type type;
  std::optional<Constant> constant;
  std::string name;  ///< of the variable in the program, for readable C++; "" if it has none
};

using Texts = std::vector<std::string>;
/// What a `from` says of names.
using NameRules = std::vector<NameRule>;
using AttrValue = std::variant<int64_t, std::string, Texts, NameRules>;
struct Attr {
  std::string key;
  AttrValue value;
  bool operator==(const Attr&) const = default;
};

struct Op;

struct Region {
  std::vector<ValueId> params;
  std::vector<Op> ops;  ///< the last one is Yield or Return
};

struct Op {
  OpKind kind = OpKind::CallOp;
  library::Id function = library::Id::None;  ///< CallOp, Trainer: which one
  host::Op host = host::Op::Add;             ///< HostOp: which one
  std::string name;                          ///< printed as `@name`: a path, a function
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Attr> attrs;
  std::vector<Region> regions;
  std::vector<source::Span> written;  ///< where each operand stands in the source, where that is known
  source::Span element;  ///< where what is called is written, if that is in a list that `loc` applies as a whole
  Loc loc;

  const OpInfo& info() const { return kind == OpKind::CallOp ? call_info(function) : ir::info(kind); }
  /// What stands behind `@`: `name`, or what a `call.op`, a `trainer` or a `host` is.
  std::string_view target() const;
  Effect effect() const { return info().effect; }
  const Attr* find(const std::string& key) const;
  /// The attribute, which must be there.
  int64_t number(const std::string& key) const;
  const std::string& text(const std::string& key) const;
  const Texts& texts(const std::string& key) const;
  /// Likewise, none if it is not there.
  NameRules name_rules(const std::string& key) const;
};

/// What a function is for; tells which parameters C++ adds to it, and how it is reached.
enum class Role {
  Free,
  Method,
  Step,
  Hook,
  Test,
  MetricUpdate,
  MetricCompute,
  MetricEach,    ///< `compute_each`, asked in its place where `MetricLength` is not -1
  MetricLength,  ///< (self) -> int
  MetricMerge,   ///< (self, first, second) -> states, each a record of all
  Constructor,   ///< (self, scope, params…); a model's takes `world` behind the scope
  MetricMaker,   ///< (self) -> metric: one state of a metric member
  InitRule,      ///< (self, shape) -> tensor
  Resolve,
  Defaults,
  Fits,
  MakeData,
  MakeModel,
  ListCallbacks,
};

struct Function {
  std::string name;   ///< unique: `Owner.fn`, `fn`, or what the role makes of it
  std::string owner;  ///< the object whose method it is, as `%0`
  Role role = Role::Free;
  std::vector<Value> values;
  Type result;
  Region body;  ///< its params are the function's
  Loc loc;
  bool is_library = false;
  bool draws_random = false;
  bool is_manual = false;
  bool is_recomputed = false;  ///< what it gives may be computed again in the backward pass: its calls stay calls
  bool has_error = false;      ///< some of its code could not be checked; such a module is for analysis only
};

struct Tables;

struct Module {
  std::string name;
  std::vector<std::string> files;
  DimStore dims;  ///< of all types of the module, its tables' too
  std::vector<Function> functions;
  std::shared_ptr<const Tables> tables;  ///< what is not code; absent in tests of passes

  const Function* find(const std::string& function) const;
};

const char* to_text(Role role);
std::optional<Role> role_of(const std::string& text);

}  // namespace ltr::ir
