#pragma once

// What leaves for an HTTP server, by the system's libcurl.

#include <atomic>
#include <string>
#include <string_view>

namespace ltr::doors {

struct HttpAnswer {
  long status = 0;  ///< 0: there is no answer
  std::string body;
  std::string problem;  ///< why there is none; it names no address
  bool is_good() const { return status >= 200 && status < 300; }
};

/// What goes to a server.
struct HttpMessage {
  std::string method;  ///< `GET`, `POST`, `PATCH`, `PUT`
  std::string url;
  std::string_view body;  ///< outlives the sending
  std::string type = "application/json";
  std::string user, password;  ///< secrets; "" for none
  std::string token;           ///< likewise, in place of both
  std::string authorization;   ///< likewise, in place of all: what the header says, without a scheme of ours
};

/// Sends `message`. It takes `limit_s` at most, less once `is_called_off`. Other protocols than HTTP and other places than that one are
/// not tried. Proxies are those of the environment.
HttpAnswer send_http(const HttpMessage& message, double limit_s, const std::atomic<bool>& is_called_off);

/// `text` as a part of an address; bytes of `also` stand for themselves, too.
std::string percent_encoded(std::string_view text, std::string_view also = "");

/// Nobody else has it: 32 random hexadecimal digits.
std::string new_key();

}  // namespace ltr::doors
