#pragma once

#include <filesystem>
#include <string>

namespace ltr::driver {

/// Brings `url` to the file `part`, behind what is there of it, `bytes` at most; "" or what went wrong. A program of its own does
/// it, so that no other command carries what speaks HTTP.
std::string fetch(const std::string& url, const std::filesystem::path& part, uint64_t bytes);

}  // namespace ltr::driver
