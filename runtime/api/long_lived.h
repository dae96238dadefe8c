#pragma once

#include <mutex>
#include <set>

#include "ltr/api.h"

namespace ltr {

/// A copy of `name` that lives as long as the program, as names of arguments and places of messages do. Of equal ones it is one.
inline const char* long_lived(const Str& name) {
  static std::mutex mutex;
  static std::set<Str> names;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

}  // namespace ltr
