#pragma once

// What `check` knows of declarations before and while their code is read.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dsl/ast/decl.h"
#include "dsl/check/types/requirement.h"
#include "dsl/library/library.h"
#include "dsl/resolve/resolve.h"

namespace ltr::check {

using resolve::Symbol;
using resolve::SymbolKind;

/// Of a param that is declared `padding[kernel, stride, dilation]`: the params that it names. A pair of ints for each axis of
/// the kernel, or the word "same", which stands for the pairs that keep all sizes.
struct PaddingOf {
  size_t kernel = 0, stride = 0, dilation = 0;
};

struct ParamInfo {
  std::string name;
  Type type;
  const ast::Expr* initial = nullptr;
  Span span;
  std::vector<AtomId> sizes;  ///< what stands for the ints in it (`name_sizes`)
  bool is_block = false;
  std::optional<PaddingOf> padding;
};

struct ObjectInfo;

/// The signature of a function, and its body's place in `Program::fns` when it has one.
struct FnInfo {
  std::string name;
  Span span;  ///< of its name, where an object declares it
  const ast::Fn* ast = nullptr;
  uint32_t module = 0;
  ObjectInfo* owner = nullptr;
  FnRole role = FnRole::Free;
  std::vector<ParamInfo> params;
  std::map<std::string, AtomId> binders;
  uint32_t group = 0;  ///< of `...`
  Type result;
  std::vector<Requirement> requirements;
  uint32_t index = 0;
  bool is_op = false;
  library::Id id = library::Id::None;  ///< of an op
  std::string extern_file;
  bool is_checking = false;
  uint32_t calls_deep = 0;  ///< levels of calls below it
  bool is_manual = false;
  bool is_told_manual = false;  ///< that it is not, where it does what only manual steps do
  bool is_told_log = false;     ///< that it does not log, where it does
  bool infers_result = false;   ///< a lambda of a stage: it gives what its code gives
  std::set<std::string> logs;
  /// Of `step predict`: the vocabularies that the wired data must have, and where `sep` is given.
  std::vector<std::pair<ast::Name, std::optional<Span>>> decodes;
  std::optional<std::set<std::string>> assigned_inside;  ///< `ast::assigned_inside`, once it was asked for
  bool is_unread = false;  ///< a function of data whose signature may mention what a `let` is known to hold
};

struct MemberInfo {
  Type type;
  MemberKind kind = MemberKind::Let;
  Span span;
};

/// A block, model, data, metric or callback.
struct ObjectInfo {
  const ast::Decl* decl = nullptr;
  Kind kind = Kind::Block;
  std::string name;
  uint32_t module = 0;
  DeclIndex index = 0;
  Span span;
  std::vector<ParamInfo> params;
  std::map<std::string, MemberInfo> members;
  std::map<std::string, std::unique_ptr<FnInfo>> fns;
  std::vector<std::string> fn_order;
  std::vector<Requirement> requirements;
  const ObjectInfo* model = nullptr;  ///< of a callback: its `for`
  Type batch;                         ///< of data
  std::map<std::string, AtomId> batch_binders;
  bool is_checking = false;
  bool is_done = false;
  bool is_damaged = false;  ///< something in it could not be read: what is missing may be there
  /// What each member is given where it is declared, once it was asked for.
  mutable std::optional<std::unordered_map<std::string_view, Span>> built_at;
};

/// A function without a declaration of its own. What it gives hangs on what it is applied to, so its
/// code is read anew at each application. `Type::decl` of its value is its index plus one.
struct Closure {
  enum class Kind {
    Lambda,   ///< `x => expr`
    Partial,  ///< `leaky_relu(0.2)` in a chain: a call that lacks its first argument
    Frozen    ///< `frozen(net)`
  } kind = Kind::Lambda;
  const ast::Expr* code = nullptr;  ///< Lambda, Partial: stands in the tree of the module
  std::optional<Expr> frozen;       ///< Frozen: the block
  uint32_t module = 0;
  uint32_t fn = 0;  ///< whose locals it may read
  ObjectInfo* owner = nullptr;
  std::vector<std::map<std::string, LocalId>> frames;
};

/// How far the type behind a name has been read. It is read anew at each use, since each `?` in it is another, and its mistakes
/// are reported once.
enum class TypeNameState { New, InWork, Good, TooLarge, Bad };

/// What was read of declarations so far; what is in work is there to stop what mentions itself.
struct Declared {
  std::map<const ast::Decl*, std::unique_ptr<ObjectInfo>> objects;
  std::map<std::pair<Kind, DeclIndex>, ObjectInfo*> objects_of_kind;  ///< the same, in the order of the program
  std::map<const ast::Fn*, std::unique_ptr<FnInfo>> fns;
  std::map<uint32_t, std::set<uint32_t>> callees;  ///< fn -> fns it calls, for recursion and randomness
  std::deque<ast::Fn> synthetic;                   ///< functions made of hooks and tests
  std::map<const ast::Decl*, TypeNameState> type_names;
  std::map<const ast::Decl*, Expr> consts;
  std::set<const ast::Decl*> consts_in_work;
  std::set<const ast::Decl*> defaults_in_work;  ///< of hparams
};

}  // namespace ltr::check
