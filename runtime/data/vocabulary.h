#pragma once

// What a text becomes ids by: the words of a stream, or the tokens of a file.

#include "ltr/facts.h"
#include "runtime/data/known.h"

namespace ltr {

class Vocabulary : public Known {
 public:
  using Known::Known;

  virtual int64_t size() const = 0;
  /// "word" or "token".
  virtual const char* unit() const = 0;
  /// -1 if it is not there.
  virtual int64_t id(const Str& word) const = 0;
  /// The text of ids; `between` stands between words, not between tokens. R3007 for an id that there is not.
  virtual Str text_of(const Ints& ids, const Str& between) const = 0;
};

}  // namespace ltr
