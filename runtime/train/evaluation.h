#pragma once

// A step that runs again for the loss at other weights: what stands above its `minimize` does, and what stands below it does not.

#include <c10/core/GradMode.h>

#include "runtime/api/error.h"

namespace ltr {

/// Leaves a step at its `minimize`. No error: nobody translates or reports it.
struct EndOfEvaluation {};

/// What came of it.
struct Evaluated {
  Option<double> loss;
};

/// Runs `step`, whose `minimize` says in `here` what came of it, and gives the loss.
template <class Step>
double evaluated_by(const Step& step, Evaluated*& here, const Location& minimize) {
  struct Scope {
    Scope(Evaluated*& place, Evaluated& evaluated) : here(place) { here = &evaluated; }
    ~Scope() { here = nullptr; }
    Evaluated*& here;
  };
  Evaluated evaluated;
  {
    const Scope scope(here, evaluated);
    const c10::AutoGradMode gradients(true);
    try {
      step();
    } catch (const EndOfEvaluation&) {
    }
  }
  at(minimize);
  if (evaluated.loss) return *evaluated.loss;
  throw error_at(minimize, err::settings_contradict, "the step did not come to this `minimize` when it was repeated");
}

}  // namespace ltr
