#pragma once

// One JSON document to an HTTP server, by the system's libcurl.

#include <atomic>
#include <string>

namespace ltr::doors {

struct HttpAnswer {
  long status = 0;  ///< 0: there is no answer
  std::string body;
  std::string problem;  ///< why there is none; it names no address
  bool is_good() const { return status >= 200 && status < 300; }
};

/// Sends `json` to `url` by `method`, `POST` or `PATCH`. It takes `limit_s` at most, less once `is_called_off`. Other protocols than HTTP
/// and other places than that one are not tried. Proxies are those of the environment.
HttpAnswer send_json(const std::string& method, const std::string& url, const std::string& json, double limit_s,
                     const std::atomic<bool>& is_called_off);

}  // namespace ltr::doors
