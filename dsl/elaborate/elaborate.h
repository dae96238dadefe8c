#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dsl/elaborate/cost.h"
#include "dsl/elaborate/instance.h"

namespace ltr::elaborate {

struct Options {
  std::map<std::string, Value> hparams;  ///< in place of the defaults and of the experiment's `set`
  /// Sizes that data tell: `data.chars.vocab`, given by the user.
  std::map<std::string, int64_t> data;
  int64_t world = 1;
  /// Number of different characters of a text file, if it can be read.
  std::function<Size(const std::string& path)> count_characters;
  /// Those of the program: weights get their dims in terms of them, and nothing is guessed. What hangs on a condition that is
  /// not known is not known itself, where a plan counts the first branch.
  check::AtomTable* atoms = nullptr;
  size_t most_operations = SIZE_MAX;  ///< of the train step; a plan with more ends there
};

/// Something that only the run can tell, and where.
struct Unknown {
  std::string what;
  check::Span span;
};

/// One experiment with its numbers: the instances, and what one train step does for one batch.
struct Plan {
  Tree tree;
  std::vector<std::pair<std::string, Value>> hparams;
  std::vector<Operation> tape;      ///< of the train step, in order
  std::vector<Backward> backwards;  ///< one for each `minimize` or `backward`
  Size batch;                       ///< records in a batch of the train stream
  int64_t accumulate = 1;           ///< batches of one update
  struct Optimizer {
    std::string name;  ///< `opt`
    Value rule;        ///< the call, arguments by name
    std::vector<WeightId> weights;
  };
  std::vector<Optimizer> optimizers;
  std::vector<Unknown> unknown;
  bool is_cut = false;              ///< the train step has more operations than were asked for
  std::vector<std::string> broken;  ///< rules of hparams and shapes that these numbers break
};

/// What the block or model `type` builds with `arguments`, all or none of its params, in the terms that the program alone
/// knows: hparams, data, what `type` says of its int params, else the params themselves. `atoms` are those of the program, which
/// may have errors. Optimizers and metrics are left out.
Tree build(const check::Program& program, const check::Type& type, const check::ExprIds& arguments,
           check::AtomTable& atoms);

/// The value of a setting, which rests on hparams alone, under `options` and what the experiment sets.
Value evaluate_setting(const check::ExprView& expr, const check::Program& program, const check::Experiment& experiment,
                       const Options& options);

/// The instances of `experiment` and the cost of its train step. The program has no errors. What
/// cannot be told is listed in `unknown` and left out of the sums.
Plan elaborate(const check::Program& program, const check::Experiment& experiment, const Options& options);

}  // namespace ltr::elaborate
