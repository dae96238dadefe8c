#pragma once

// Whether blocks train. A flag of the thread: loader threads and rounds are in evaluation mode.

#include <unordered_set>

namespace ltr {

bool is_training();
/// Gives the mode before.
bool set_training(bool training);

/// Norms whose running values are among `buffers` rest: they are in evaluation while blocks train. In place of those before.
void let_rest(std::unordered_set<const void*> buffers);
/// Whether the norm with this buffer does.
bool rests(const void* buffer);

/// Sets the mode and whether gradients are recorded; puts both back.
class ModeScope {
 public:
  ModeScope(bool training, bool gradients);
  ~ModeScope();
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  bool was_training_;
  bool had_gradients_;
};

}  // namespace ltr
