#include "runtime/data/cache_folder.h"

#include <cstdlib>

namespace ltr {

std::filesystem::path cache_folder(const char* kind) {
  const auto variable = [](const char* name) -> std::filesystem::path {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  if (const auto own = variable("LTR_CACHE_DIR"); !own.empty()) return own / kind;
  if (const auto all = variable("XDG_CACHE_HOME"); !all.empty()) return all / "ltr" / kind;
  if (const auto home = variable("HOME"); !home.empty()) return home / ".cache" / "ltr" / kind;
  return {};
}

}  // namespace ltr
