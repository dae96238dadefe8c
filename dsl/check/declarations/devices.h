#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ltr::check {

/// What a topology runs on, as `devices` and `--devices` say it.
struct Devices {
  std::string kind = "auto";
  int64_t count = 0;  ///< on each node; 0: not said
};

/// `auto`, `cpu` and so on.
const std::vector<std::string>& device_kinds();
/// `auto`, `cpu`, `cuda[8]`, written without spaces; nothing for what names no devices, or a count out of range.
std::optional<Devices> read_devices(const std::string& text);

}  // namespace ltr::check
