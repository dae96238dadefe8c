#pragma once

// Where results lie that other runs may take.

#include <filesystem>

#include "ltr/api.h"

namespace ltr {

/// The folder `kind` of the cache, which need not be there yet: below `LTR_CACHE_DIR`, else where caches of the user lie; "" if
/// there is no such place.
std::filesystem::path cache_folder(const char* kind);

}  // namespace ltr
