#pragma once

#include <set>
#include <string>

#include "codegen/ir/tables.h"
#include "dsl/check/typed.h"
#include "dsl/source/source_manager.h"

namespace ltr::lower {

struct Options {
  std::set<uint32_t> library_sources;  ///< ids of files of the standard library
  std::string source_hash;             ///< SHA-256 over all sources, hex
  std::string compiler;                ///< version of ltrc
  std::string folder;                  ///< that paths of sources begin at; "" if they are absolute
  bool has_errors = false;             ///< `check` reported some: analysis gives up what cannot be lowered
};

/// Makes the functions of a typed program that may have errors, for analysis: constructors of blocks and models, the
/// makers of models that experiments give blocks, and one function per `check::Fn`, `fails` tests too. An expression with an error is an op `unknown`; its function, or one
/// that cannot be lowered at all because of errors and has no ops, says `has_error`. Places have spans alone, no lines.
ir::Module lower_for_analysis(const check::Program& program, const source::SourceManager& sources,
                              const Options& options);

/// Makes Step IR of a typed program without errors: one function per `check::Fn`, constructors, and the functions that
/// resolve settings and build data and models; tables beside them in `Module::tables`.
/// Leaves to passes: inlining, folding, removal of what is not used.
ir::Module lower(const check::Program& program, const source::SourceManager& sources, const Options& options);

/// A module of nothing but the C++ functions that the program declares.
ir::Module lower_externs(const check::Program& program, const source::SourceManager& sources);

}  // namespace ltr::lower
