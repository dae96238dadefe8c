#pragma once

#include <map>
#include <set>

#include "dsl/check/types/requirement.h"
#include "dsl/diagnostics/sink.h"
#include "dsl/weights/member_tensors.h"

namespace ltr::weights {

/// The first names of a list, and how many more there are.
std::string joined(const std::vector<std::string>& names);

/// Where what comparing finds goes.
struct Findings {
  const check::AtomTable& atoms;
  diagnostics::Sink& sink;
  std::vector<check::Requirement> requirements;
};

/// Compares one member with the file that its `from` names; without it, what it freezes with what it has.
class Comparison {
 public:
  Comparison(const check::Member& member, WeightsFile file, const Files& files, Findings& found);

  /// What holds wherever the member's object is built.
  void compare_alone(const MemberTensors& tensors);
  /// What holds as an experiment builds it; sizes that hang on hparams and data are required. What was said is not said again.
  void compare_in_experiment(const MemberTensors& tensors);

  const std::string& member() const { return member_.name; }

 private:
  bool is_there() const { return file_.problem == WeightsFile::Problem::None; }
  LoadPlan plan_for(const MemberTensors& tensors) const;
  /// Of rules alone, where no file is at hand.
  void frozen_names(const MemberTensors& tensors, const LoadPlan& plan);
  /// Names and types, which hang on no size.
  void names(const MemberTensors& tensors, const LoadPlan& plan);
  void shapes(const MemberTensors& tensors, const LoadPlan& plan, bool is_wired);
  void dtypes(const MemberTensors& tensors, const LoadPlan& plan);
  diagnostics::Diagnostic missing(const std::vector<std::string>& names) const;
  /// The `skip` without which the file would have `name`, or null.
  const check::WeightRule* skipped_by(const std::string& name, const MemberTensors& tensors) const;
  void unexpected(const std::vector<std::string>& names);
  void idle(size_t index, const MemberTensors& tensors);
  void oblige(const check::Polynomial& size, int64_t stored, const std::string& name);
  const std::string& file_name() const;

  const check::Member& member_;
  const check::WeightSource& source_;
  WeightsFile file_;
  const Files& files_;
  Findings& found_;
  std::vector<std::string> stored_names_;
  std::map<std::string, const StoredTensor*> stored_;
  std::set<std::string> reported_;  ///< tensors whose shapes differ
  bool was_complete_ = false;
};

}  // namespace ltr::weights
