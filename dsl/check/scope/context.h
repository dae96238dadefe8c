#pragma once

// What all of `check` reads and writes for one program.

#include <deque>
#include <tuple>

#include "dsl/check/check.h"
#include "dsl/check/scope/declared.h"
#include "dsl/check/scope/facts.h"
#include "dsl/diagnostics/diagnostic.h"
#include "dsl/diagnostics/sink.h"

namespace ltr::check {

/// Levels of what stands on each other: functions that call, types made of types, what amends. The walks over them have no
/// stack without end.
inline constexpr uint32_t kDeepest = 256;

/// What was said already: it is said once.
struct Told {
  std::map<std::pair<std::string, std::string>, Kind> missing_fields;  ///< of which kind of value it was said first
  std::set<std::string> fields;                               ///< that a record lacks, where one is wanted with them
  std::set<std::pair<uint32_t, std::string>> closed_words;    ///< by data: vocabularies without "<unk>"
  std::set<std::pair<uint32_t, std::string>> qualifiers;      ///< by file: names that no file is imported as
  std::set<std::tuple<Span, std::string, std::string>> dims;  ///< places where two sizes differ
  std::set<Span> wrong_for_all;                               ///< rules of blocks that do not hold with their defaults
  std::set<Span> wrong_uses;                                  ///< rules of blocks that do not hold where one is built
  std::set<std::pair<Span, std::string>> sizes;               ///< lines with a size that cannot be
  std::set<const ast::Expr*> broken_defaults;                 ///< of parameters
  bool is_too_deep = false;  ///< more than `kDeepest` levels: what is so further on waits for that
};

/// Functions without a declaration, and those of them that are being read: each application reads the code anew.
struct Closures {
  std::deque<Closure> all;
  std::vector<const ast::Expr*> open;  ///< code that is being read, outermost first
  Span outermost;                      ///< where that one stands
  size_t applied = 0;                  ///< closures that were read for it
  size_t applied_in_all = 0;           ///< and for all of the program
  bool is_runaway = false;             ///< there are too many of them, which was said
};

/// How deep reading is, and how much was read: the limits are for programs of hostile size.
struct Work {
  uint32_t open_bodies = 0;  ///< functions whose bodies are being read, each for a call in the one before
  uint32_t open_types = 0;   ///< names whose types are being read, each for the one before
  uint32_t types_deep = 0;   ///< levels of names below the type in hand
  size_t type_parts = 0;     ///< types that were read, parts of types too
  size_t named_parts = 0;    ///< of these, what names of types stand for
  size_t searched = 0;       ///< names that were looked through for one like a name that is not there
};

/// The `...` of signatures, by number.
struct Groups {
  uint32_t next = 1;
  std::map<uint32_t, AtomId> counts;  ///< how many numbers it stands for, of those that were asked for
  std::map<uint32_t, AtomId> ranks;   ///< and how many dims
};

struct Context {
  const source::SourceManager& sources;
  diagnostics::Sink* sink;  ///< not a reference: for a while it may be another (`Aside`)
  const resolve::ModuleGraph& graph;
  const DataFiles* files = nullptr;
  Program program;
  Facts facts;
  Declared declared;
  Told told;
  Closures closures;
  Work work;
  Groups groups;
  std::set<AtomId> truths;  ///< that are 1 or 0: bools that sizes hang on (`name_truth`)
  uint32_t next_key = 1;    ///< of atoms that are not hparams
  bool is_trying = false;   ///< a call is read as it is not written, to find out what is wrong with it

  ExprId keep(Expr&& expr) { return program.exprs.add(std::move(expr)); }
  ExprId keep(const Expr& expr) { return keep(Expr(expr)); }
  ExprIds keep(std::vector<Expr> list) {
    ExprIds ids;
    ids.reserve(list.size());
    for (Expr& expr : list) ids.push_back(keep(std::move(expr)));
    return ids;
  }
  ExprView at(ExprId id) const { return program.exprs[id]; }
  /// Whether all names that `module` sees may be looked through once more, for one like a name that is not there. Of thousands of
  /// mistakes among thousands of names the first ones are told what may be meant.
  bool may_search(uint32_t module) {
    constexpr size_t kMostSearched = 1'000'000;
    work.searched += graph.visible(module).size();
    return work.searched <= kMostSearched;
  }
  void report(diagnostics::Diagnostic diagnostic) { sink->report(std::move(diagnostic)); }
  /// E0008 for the first of all that are too deep; `what` has the levels.
  void report_too_deep(Span span, const std::string& what) {
    if (!is_trying && !std::exchange(told.is_too_deep, true))
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

}  // namespace ltr::check
