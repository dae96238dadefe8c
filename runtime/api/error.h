#pragma once

// The one exception of the runtime. Its codes and texts are listed in error.def.

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "ltr/api.h"

namespace ltr {

/// A row of error.def.
struct Fault {
  const char* code;
  const char* text;
};

namespace err {
#define LTR_ERROR(code, name, text) inline constexpr Fault name{#code, text};
#include "runtime/api/error.def"
#undef LTR_ERROR
}  // namespace err

/// What goes wrong at run time. `location` is the `.ltr` line, `help` the cure; both may be empty.
struct LTR_EXPORT Error : std::exception {
  Error(Str code, Str message, Location location = current_location(), Str help = "");
  ~Error() override;
  const char* what() const noexcept override;
  /// The exit code of the process: the first digit of the code.
  int exit_code() const;

  Str code;
  Str message;
  Location location;
  Str help;
  int64_t sample = -1;         ///< of the batch, where one is to blame
  bool is_of_another = false;  ///< another rank's, which has more to say of it

 private:
  Str what_;
};

/// The error `fault` at `location`, its text filled in with `args`.
template <class... Args>
Error error_at(const Location& location, const Fault& fault, const Args&... args) {
  return Error(fault.code, fmt::format(fmt::runtime(fault.text), args...), location);
}
/// The same at the statement that runs now.
template <class... Args>
Error error_here(const Fault& fault, const Args&... args) {
  return error_at(current_location(), fault, args...);
}
/// The same error, of which another rank has more to say.
inline Error of_another(Error error) {
  error.is_of_another = true;
  return error;
}
/// The same error with a cure.
inline Error with_help(Error error, Str help) {
  error.help = std::move(help);
  return error;
}

}  // namespace ltr
