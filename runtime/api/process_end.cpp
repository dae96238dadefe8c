// A program ends once its own objects are destroyed. What is left is LibTorch's: it registers ten thousand functions when it is
// loaded, and takes each of them back at the end, in a third of the time that a start takes.

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

/// LibTorch is initialized before this library, and destroyed behind it: what was registered last ends first.
struct ProcessEnd {
  ProcessEnd() {
    if (!kLooksForLeaks) on_exit(end, nullptr);
  }
  static void end(int status, void*) {
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    _exit(status);
  }
};
const ProcessEnd process_end;

}  // namespace
}  // namespace ltr
