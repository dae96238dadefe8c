#include "runtime/api/crash_stack.h"

#include <csignal>

namespace ltr {

CrashStack::CrashStack() {
  constexpr size_t kBytes = size_t(64) << 10;
  bytes_ = std::make_unique<char[]>(kBytes);
  stack_t stack = {};
  stack.ss_sp = bytes_.get();
  stack.ss_size = kBytes;
  ::sigaltstack(&stack, nullptr);
}

CrashStack::~CrashStack() {
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

}  // namespace ltr
