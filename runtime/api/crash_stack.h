#pragma once

#include <memory>

namespace ltr {

/// A stack of its own for the crash handler, for the thread that makes one and as long as it lives: without it, a stack
/// that overflows leaves no room to say so. The first thing of a thread's function.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  std::unique_ptr<char[]> bytes_;
};

}  // namespace ltr
