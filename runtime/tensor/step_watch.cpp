#include "runtime/tensor/step_watch.h"

namespace ltr {

StepWatch*& StepWatch::here() {
  thread_local StepWatch* current = nullptr;
  return current;
}

}  // namespace ltr
