#pragma once

// The address of a tracking server. Plain C++, since the compiler looks at it, too.

#include <optional>
#include <string>
#include <string_view>

namespace ltr {

/// What is wrong with the address of a tracking server, without the address, which may hold a secret; nothing if it is right.
inline std::optional<std::string> wrong_tracking_address(std::string_view uri) {
  const size_t host = uri.starts_with("http://") ? 7 : uri.starts_with("https://") ? 8 : 0;
  if (host == 0)
    return "begins with http:// or https://; `mlflow server --backend-store-uri sqlite:///mlflow.db` starts one here, "
           "at "
           "http://127.0.0.1:5000";
  const std::string_view rest = uri.substr(host);
  if (rest.empty() || rest.front() == '/') return "names a host";
  if (rest.substr(0, rest.find('/')).find('@') != std::string_view::npos)
    return "holds no password: MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, have "
           "it in the "
           "environment";
  if (rest.find_first_of("?# \t\r\n") != std::string_view::npos) return "ends with its path: no `?`, `#` or space";
  return std::nullopt;
}

}  // namespace ltr
