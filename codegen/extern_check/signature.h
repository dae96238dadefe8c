#pragma once

// Functions as the C++ compiler understands them.

#include <memory>
#include <string>
#include <vector>

namespace ltr::extern_check {

/// A place in a file; lines and columns count from 1, line 0 is nowhere.
struct Place {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  unsigned length = 0;
};

struct Param {
  std::string name;
  std::string type;       ///< as written
  std::string canonical;  ///< the same for all spellings of a type
  Place place;
};

struct Signature {
  std::string name;
  std::string scope;      ///< `kernels::` of a function that stands in a name space
  bool is_local = false;  ///< `static` or in a name space without a name: other files cannot call it
  Param result;
  std::vector<Param> params;
  Place place;
};

struct Message {
  Place place;
  std::string text;
};

/// What a C++ file holds.
struct Reading {
  std::vector<Signature> expected;  ///< declared in `ltr_expected`
  std::vector<Signature> defined;   ///< in the file itself, headers left out
  std::vector<Message> errors;      ///< why it does not compile
  std::vector<std::string> inputs;  ///< every file that was read, but those of the system
};

/// Reads `file` as `flags` say. Bodies of functions are skipped, so only mistakes outside of them
/// are seen.
Reading read(const std::string& file, const std::vector<std::string>& flags);

}  // namespace ltr::extern_check
