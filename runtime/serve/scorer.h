#pragma once

// Predictions for rows of several requests at once, with the maps of the predict stream.

#include <map>
#include <variant>

#include "runtime/serve/scoring_request.h"
#include "runtime/train/predictor.h"

namespace ltr::serve {

/// A JSON object for each row, or why there is none.
using Score = std::variant<std::vector<Str>, Refusal>;

class Scorer {
 public:
  /// `source` is the predict stream of `request.data` whose source the rows replace; `params` are what flags give the step.
  /// R2006 if it has no step predict, or the stream no single source.
  Scorer(RunRequest& request, const Data::RoleStream& source, Tensors params);

  const Schema& schema() const;
  /// A score for each of `parts`, whose rows have the same fields. What is wrong with one is no fault of the others: where the
  /// step throws, each is computed alone.
  std::vector<Score> score(const std::vector<const ReadRows*>& parts);
  void begin() { predictor_.begin(); }
  void end() { predictor_.end(); }

 private:
  /// Why the rows of these fields cannot be predicted, "" if they can; they are made such that the maps take them.
  Str fill_in(ForeignRows& rows);
  std::vector<Score> score_apart(const std::vector<const ReadRows*>& parts);
  std::vector<Score> score_all(const std::vector<const ReadRows*>& parts);

  RunRequest& request_;
  const Data::RoleStream& source_;
  const Tensors params_;
  const size_t stream_;    ///< its number in the data
  std::vector<Str> used_;  ///< batch fields that the step reads
  Predictor predictor_;
  std::map<std::vector<size_t>, FieldUse> uses_;  ///< by the fields that rows lack
};

}  // namespace ltr::serve
