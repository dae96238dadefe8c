#pragma once

// What the files of `lower` share: names of objects and functions, types, places.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codegen/ir/internal_error.h"
#include "codegen/ir/tables.h"
#include "codegen/lower/lower.h"

namespace ltr::lower {

/// A declaration with members, under its unique name.
struct ObjectRef {
  ir::TypeKind kind = ir::TypeKind::Block;
  std::string name;
  const check::Object* object = nullptr;
  const check::DataObject* data = nullptr;
  std::unordered_map<std::string_view, const check::Member*> members;

  ObjectRef() = default;
  ObjectRef(ir::TypeKind as, std::string called, const check::Object& declared, const check::DataObject* of = nullptr);

  const check::Member* find_member(const std::string& member) const;
  bool has_param(const std::string& param) const;
  ir::Type type() const { return ir::Type::object(kind, name); }
};

struct Shared {
  const check::Program& program;
  const source::SourceManager& sources;
  const Options& options;
  ir::Module& module;
  ir::Tables& tables;
  std::map<std::pair<check::Kind, check::DeclIndex>, ObjectRef> objects;
  std::vector<ObjectRef> callbacks;
  std::vector<std::string> fn_names;        ///< by index in Program::fns
  std::vector<const ObjectRef*> fn_owners;  ///< likewise; null for free functions
  std::map<std::string, size_t> pairs;      ///< model and data: index of their TrainPair

  std::map<std::string, std::string> lists;  ///< text of a function that lists callbacks: its name
  bool is_analysis = false;                  ///< the program may have errors

  ir::Loc loc(check::Span span) const;
  bool is_library(check::Span span) const { return options.library_sources.count(span.source.index) != 0; }
  ir::Type type(const check::Type& type) const;
  ir::DimId dim(const check::Polynomial& size) const;
  const ObjectRef& object(const check::Type& type) const;
  const ObjectRef& object_named(const std::string& name) const;
  /// The C++ function `name`.
  const ir::ExternFn& extern_fn(const std::string& name) const;
  /// The type text of argument `argument` of library call `call`, "" if it is not declared.
  std::string argument_type(const std::string& call, const std::string& argument) const;
  /// Names every object and function, uniquely; fills `objects`, `callbacks`, `fn_names`, `fn_owners`.
  void name_everything();
};

/// Types that one C++ type stands for: tensors of any shape, blocks of one declaration.
bool same_storage(const ir::Type& left, const ir::Type& right);

/// Type text of a setting or flag: `int`, `option[float]`, `one_of[a, b]`.
std::string setting_text(const check::Type& type);

/// What the ops of functions do, and those of all that they call.
struct Effects {
  std::set<int> logs;  ///< slots of the log
  bool minimizes = false;
  bool draws_random = false;
};
void add_effects(const ir::Function& function, const ir::Module& module, Effects& effects);

/// Fills `updates_always` of a step from its body.
void note_updates(const ir::Function& body, ir::StepInfo& step);

void lower_externs(Shared& shared);
void lower_functions(Shared& shared);
void lower_objects(Shared& shared);
void lower_hparams(Shared& shared);
void lower_experiments(Shared& shared);
/// Of experiments, for analysis: the makers of those models that are given blocks.
void lower_given_blocks(Shared& shared);
void lower_topologies(Shared& shared);
void lower_tests(Shared& shared);

}  // namespace ltr::lower
