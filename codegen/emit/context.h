#pragma once

// What the files of `emit` share: names, types, places.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/emit/cpp_ast.h"
#include "codegen/ir/internal_error.h"
#include "codegen/ir/tables.h"

namespace ltr::emit {

struct Context {
  explicit Context(const ir::Module& from);

  const ir::Module& module;
  const ir::Tables& tables;
  cpp::File file;

  // ---- names (names.cpp)
  /// A name of the program as C++ identifier; `$name` is one of ours. Different names stay different.
  static std::string identifier(const std::string& name);
  /// A library function as C++ calls it, `ltr::relu`.
  static std::string facade_name(const std::string& op);
  /// The struct of an object, `program::Linear`.
  std::string struct_name(const std::string& object) const { return "program::" + identifier(object); }
  /// The function of an IR function: `program::verdict`, or the member's name for one that has an owner.
  std::string fn_name(const ir::Function& fn) const;
  /// The wrapper through which the runtime runs a step. Experiments that wire equal things share one.
  std::string wrapper_name(const ir::ExperimentInfo& experiment, const ir::StepInfo& step);
  /// The field that holds a member or param (`$name`) of an object.
  std::string field_name(const ir::ObjectInfo& object, const std::string& segment) const;
  const ir::ObjectInfo& object(const std::string& name) const;
  /// `base->a->b` for the path "a.b" of an object.
  cpp::Expr path(cpp::Expr base, const ir::Type& type, const std::string& path) const;

  // ---- types (types.cpp)
  cpp::Type type(const ir::Type& type);
  /// As parameter: what is large goes by reference.
  cpp::Type param_type(const ir::Type& type);
  cpp::Expr none_of(const ir::Type& type);
  /// A `Value` read as `type`, whatever its setting was declared to be.
  /// Makes the records in `type` such that `ltr::ValueOf` takes them apart and puts them together.
  void give_parts(const ir::Type& type);
  cpp::Expr read_value(cpp::Expr value, const ir::Type& type);
  static cpp::Expr dtype(ir::Element element);

  // ---- places
  /// `ltr_at[i]`, or `ltr::Location{}` for nowhere and for library code.
  cpp::Expr location(const ir::Loc& loc);
  bool is_users(const ir::Loc& loc) const;
  cpp::Origin origin(const ir::Loc& loc) const;

  std::vector<ir::Loc> places;
  std::set<std::string> written_buffers;  ///< names of members that some function writes
  int64_t truths = 0;                     ///< conditions on counts of the run, which are numbered

 private:
  std::map<std::string, std::string> records_;   ///< type text -> struct
  std::map<std::string, std::string> wrappers_;  ///< what a wrapper does -> its name
};

/// True for functions that are handed the `Context` of the running step.
bool takes_context(ir::Role role);

/// The body of one IR function, with `values` already named for its params.
cpp::Function emit_function(const ir::Function& function, Context& cx);

/// Declares the program's C++ functions.
void emit_externs(Context& cx);
void emit_objects(Context& cx);
void emit_wrappers(Context& cx);
void emit_tables(Context& cx);

}  // namespace ltr::emit
