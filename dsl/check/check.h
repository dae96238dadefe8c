#pragma once

#include "dsl/check/types/requirement.h"
#include "dsl/resolve/resolve.h"

namespace ltr::check {

/// What a file of data says of its records.
struct StoredFields {
  std::string place;  ///< as messages name it: `"points.csv"`, `reviews/a.jsonl:1`
  std::string word;   ///< what each is there: `column`
  std::vector<std::string> names;
  bool may_lack_options = false;  ///< a record need not have what is an option
  std::string number = "";        ///< one of the names that is a number: they are a row then, and no header
  std::string kind = "";  ///< what the file is, where the source cannot read it: "a Parquet file"; then it has no names
  std::string reader = "";  ///< the source that reads it, "" if there is none
};

/// How `check` looks into data files; it opens none itself.
struct DataFiles {
  virtual ~DataFiles() = default;
  /// What the file says that the source `source` names with the texts `arguments` ("" for what is none) in the program
  /// at `from`; nothing if it is not there, cannot be read, or says nothing before it is read as a whole.
  virtual std::optional<StoredFields> fields_of(std::string_view source, const std::vector<std::string>& arguments,
                                                const std::string& from) const = 0;
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
