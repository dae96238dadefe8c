#pragma once

// Ranks that a launcher started and that fail before they have met, mostly all of them alike: one says why.

#include "runtime/distributed/first_failure.h"
#include "runtime/distributed/place.h"
#include "runtime/distributed/store.h"

namespace ltr::distributed {

/// Taken by a rank that fails; it has said why, if that is on it, when this ends.
class FirstWord {
 public:
  /// Waits for who opens the meeting point; a rank that finds nobody there, or knows of none, speaks for itself.
  FirstWord(const Place& place, const Failure& own);
  /// Lets the others go.
  ~FirstWord();
  FirstWord(const FirstWord&) = delete;
  FirstWord& operator=(const FirstWord&) = delete;

  /// No other rank says it.
  bool is_own() const { return is_own_; }

 private:
  void part() const;

  Place place_;
  bool is_own_ = true;
  Store store_;  ///< null: nobody is there
};

}  // namespace ltr::distributed
