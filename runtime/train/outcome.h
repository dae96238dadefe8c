#pragma once

#include "runtime/checkpoint/archive.h"

namespace ltr {

/// Whether and why training ends before its planned end.
struct Outcome {
  bool is_stopping = false;
  Str outcome = "finished";  ///< "early stop", "stopped"
  Str reason;

  /// The first reason stays.
  void stop(Str how, Str why) {
    if (!is_stopping) *this = {true, std::move(how), std::move(why)};
  }
  void visit(Archive& archive) {
    archive.value("stopping", is_stopping);
    archive.value("outcome", outcome);
    archive.value("reason", reason);
  }
};

}  // namespace ltr
