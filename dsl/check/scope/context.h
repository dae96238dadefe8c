#pragma once

// What all of `check` reads and writes for one program.

#include <deque>
#include <tuple>
#include <unordered_map>

#include "dsl/check/check.h"
#include "dsl/check/scope/declared.h"
#include "dsl/diagnostics/diagnostic.h"
#include "dsl/diagnostics/sink.h"

namespace ltr::check {

/// Levels of what stands on each other: functions that call, types made of types, what amends. The walks over them have no
/// stack without end.
inline constexpr uint32_t kDeepest = 256;

/// How far the type behind a name has been read. It is read anew at each use, since each `?` in it is another, and its mistakes
/// are reported once.
enum class TypeNameState { New, InWork, Good, TooLarge, Bad };

struct Context {
  const source::SourceManager& sources;
  diagnostics::Sink* sink;  ///< not a reference: for a while it may be another (`Aside`)
  const resolve::ModuleGraph& graph;
  const DataFiles* files = nullptr;
  Program program;
  std::map<const ast::Decl*, std::unique_ptr<ObjectInfo>> objects;
  std::map<std::pair<Kind, DeclIndex>, ObjectInfo*> objects_of_kind;  ///< the same, in the order of the program
  std::map<const ast::Fn*, std::unique_ptr<FnInfo>> fns;
  std::map<const ast::Decl*, TypeNameState> type_names;
  std::map<const ast::Decl*, Expr> consts;
  std::set<const ast::Decl*> consts_in_work;                           ///< to stop a constant that mentions itself
  std::map<std::string, uint32_t> calls;                               ///< index into Program::calls
  std::set<const ast::Expr*> broken_defaults;                          ///< of parameters, whose mistake was reported
  std::set<const ast::Decl*> defaults_in_work;                         ///< to stop an hparam whose default mentions it
  std::vector<Requirement> facts;                                      ///< `where` clauses of hparams
  std::map<std::pair<std::string, std::string>, Kind> missing_fields;  ///< of which kind of value it was said first
  std::set<std::string> told_fields;                           ///< that a record lacks, where one is wanted with them
  std::set<std::pair<uint32_t, std::string>> told_qualifiers;  ///< by file: names that no file is imported as
  std::set<std::tuple<Span, std::string, std::string>> told_dims;  ///< places where two sizes differ
  std::set<std::pair<Span, std::string>> told_sizes;               ///< lines with a size that cannot be
  std::deque<ast::Fn> synthetic;                                   ///< functions made of hooks and tests
  std::deque<Closure> closures;
  std::vector<const ast::Expr*> applied;  ///< code of closures that is being read, outermost first
  size_t applications = 0;                ///< closures that were read for the outermost one
  size_t all_applications = 0;            ///< and for all of the program
  Span applied_at;                        ///< where that one stands
  bool is_runaway = false;                ///< there are too many of them, which was said
  bool is_trying = false;                 ///< a call is read as it is not written, to find out what is wrong with it
  bool is_depth_told = false;             ///< more than `kDeepest` levels: what is so further on waits for that
  uint32_t open_bodies = 0;               ///< functions whose bodies are being read, each for a call in the one before
  uint32_t open_types = 0;                ///< names whose types are being read, each for the one before
  uint32_t types_deep = 0;                ///< levels of names below the type in hand
  size_t type_parts = 0;                  ///< types that were read, parts of types too
  size_t named_parts = 0;                 ///< of these, what names of types stand for
  uint32_t next_key = 1;
  uint32_t next_group = 1;
  std::map<uint32_t, std::set<uint32_t>> callees;  ///< fn -> fns it calls, for recursion and randomness
  std::map<uint32_t, AtomId> group_counts;  ///< how many numbers a `...` stands for, of those that were asked for
  std::map<uint32_t, AtomId> group_ranks;   ///< and how many dims

  ExprId keep(Expr expr) { return program.exprs.add(std::move(expr)); }
  ExprIds keep(std::vector<Expr> list) {
    ExprIds ids;
    for (Expr& expr : list) ids.push_back(keep(std::move(expr)));
    return ids;
  }
  ExprView at(ExprId id) const { return program.exprs[id]; }
  void report(diagnostics::Diagnostic diagnostic) { sink->report(std::move(diagnostic)); }
  /// E0008 for the first of all that are too deep; `what` has the levels.
  void report_too_deep(Span span, const std::string& what) {
    if (!is_trying && !std::exchange(is_depth_told, true))
      report(diag::nesting_too_deep(span, std::to_string(kDeepest)).note("{}", what));
  }
  std::string text(const Type& type) const { return to_text(type, program.atoms); }
  std::string text(const Polynomial& value) const { return program.atoms.to_text(value); }
  /// The same as an operand of `%` or `/`: a sum in brackets.
  std::string operand(const Polynomial& value) const {
    return value.terms().size() > 1 ? "(" + text(value) + ")" : text(value);
  }
  std::string source_text(Span span) const;
  /// Whether a size that cannot be was not told of in this line; it is from now on, unless this is a trial.
  bool is_size_new(Span use, const std::string& size);
  /// Where the line of `place` begins: what was told of a line is not told again.
  Span line_of(Span place) const;
};

/// Takes what is reported while it lives, which is not told by that.
class Aside {
 public:
  Aside(Context& cx, diagnostics::Sink& into) : cx_(cx), outer_(cx.sink), is_depth_told_(cx.is_depth_told) {
    cx_.sink = &into;
  }
  ~Aside() {
    cx_.sink = outer_;
    cx_.is_depth_told = is_depth_told_;
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  Context& cx_;
  diagnostics::Sink* outer_;
  bool is_depth_told_;
};

}  // namespace ltr::check
