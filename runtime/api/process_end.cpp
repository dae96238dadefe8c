#include "runtime/api/process_end.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace ltr {
namespace {

// A sanitized build looks for leaks afterwards, in what is left.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLooksForLeaks = true;
#elif defined(__has_feature)
constexpr bool kLooksForLeaks = __has_feature(address_sanitizer);
#else
constexpr bool kLooksForLeaks = false;
#endif

/// LibTorch is initialized before this library, and destroyed behind it. Of this library's objects the one that was made first
/// is destroyed last.
struct ProcessEnd {
  bool is_known = false;
  int status = 0;
  ~ProcessEnd() {
    if (!is_known) return;
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    _exit(status);
  }
};
[[gnu::init_priority(101)]] ProcessEnd process_end;

}  // namespace

void end_before_libraries() {
  // A destructor does not learn the status. What is registered in `main` learns it before libraries are destroyed, what a
  // library registers behind that.
  if (kLooksForLeaks) return;
  on_exit(
      [](int status, void*) {
        process_end.status = status;
        process_end.is_known = true;
      },
      nullptr);
}

}  // namespace ltr
