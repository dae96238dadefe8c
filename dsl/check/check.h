#pragma once

#include "dsl/check/types/requirement.h"
#include "dsl/resolve/resolve.h"

namespace ltr::check {

/// The first row of files of rows.
struct FirstRow {
  std::string place;  ///< "reviews/a.jsonl:1"
  std::vector<std::string> fields;
};

/// How `check` looks into data files; it opens none itself.
struct DataFiles {
  virtual ~DataFiles() = default;
  /// The first line of a text file named in the source at `from`, without its line end; nothing if
  /// it is not there or cannot be read.
  virtual std::optional<std::string> first_line(const std::string& path, const std::string& from) const = 0;
  /// The names in the first JSON object of the files that a pattern names; nothing if there is none, or it cannot be read.
  virtual std::optional<FirstRow> first_row(const std::string& pattern, const std::string& from) const = 0;
};

/// Types, shapes, data streams and training logic of a program whose names are resolved. Everything
/// that module 0 declares is checked, of other modules what it uses. Afterwards every expression
/// has a type (`error` where a mistake was reported) and every shape obligation is proven, put off
/// to run time, or reported. With `files`, headers of data files that are there are read.
Program check(const resolve::ModuleGraph& graph, const source::SourceManager& sources, diagnostics::Sink& sink,
              const DataFiles* files = nullptr);

/// The checked program with what a later phase requires of its sizes: what does not follow from the program, nor is
/// reported, becomes an obligation.
Program oblige(Program checked, const std::vector<Requirement>& requirements, const resolve::ModuleGraph& graph,
               const source::SourceManager& sources, diagnostics::Sink& sink);

}  // namespace ltr::check
