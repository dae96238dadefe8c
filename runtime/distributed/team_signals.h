#pragma once

// Signals as something to wait for.

#include <chrono>
#include <csignal>

#include "ltr/api.h"

namespace ltr::distributed {

struct Signal {
  int number = 0;
  bool is_of_terminal = false;  ///< the terminal gave it to the whole group
};

/// From now on those that end a program and those of children come here and nowhere else; as before once it ends.
class TeamSignals {
 public:
  TeamSignals();
  ~TeamSignals();
  TeamSignals(const TeamSignals&) = delete;
  TeamSignals& operator=(const TeamSignals&) = delete;

  /// The next one, or nothing after `patience`.
  Option<Signal> wait(std::chrono::milliseconds patience) const;
  /// What a child begins with.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t waited_;
  sigset_t before_;
};

}  // namespace ltr::distributed
