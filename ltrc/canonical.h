#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/step.h"

namespace ltr::driver {

/// One experiment in the form by which programs are compared: no comments, layout, doc texts, local
/// names or order of declarations; library functions by name, everything else written out.
struct Canonical {
  /// What a name (a setting, a stream, a method) stands for.
  using Entries = std::vector<std::pair<std::string, std::string>>;

  std::string experiment;
  Entries hparams;     ///< those that something reads, sorted
  Entries data;        ///< batch and streams
  Entries model;       ///< arguments
  Entries optimizers;  ///< with schedule and groups
  Entries steps;       ///< what they log
  Entries trainer;     ///< sorted
  Entries topology;    ///< sorted
  Entries callbacks;
  Entries loggers;                         ///< compute nothing
  std::map<std::string, Entries> outside;  ///< likewise: by section, settings of what is around training
  /// Code by the name that the program gives it, in the order met; other code and objects are
  /// written as `fn3` and `object2` in all texts.
  Entries code;
  std::vector<std::string> objects;  ///< names of `object0` …

  /// All that is computed; equal texts compute the same.
  std::string text() const;
  /// SHA-256 of `text`, in hex.
  std::string hash() const;
  /// `text` with the names of code and objects in place of their numbers, for people.
  std::string with_names(const std::string& text) const;
};

/// The experiments of a module that went through the passes, in order of declaration.
std::vector<Canonical> canonical_forms(const ir::Module& module);

}  // namespace ltr::driver
