#include "runtime/distributed/error_file.h"

#include <cstdlib>
#include <ctime>
#include <system_error>

#include <nlohmann/json.hpp>

#include "doors/file.h"

namespace ltr::distributed {

void write_error_file(const Str& text) {
  const char* path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (path == nullptr || path[0] == '\0') return;
  const nlohmann::json error = {
      {"message", {{"message", text}, {"extraInfo", {{"timestamp", std::to_string(std::time(nullptr))}}}}}};
  try {
    doors::write_file_atomically(path, error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } catch (const std::system_error&) {
    // The error itself is on its way to stderr.
  }
}

}  // namespace ltr::distributed
