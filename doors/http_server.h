#pragma once

// A small HTTP/1.1 server for people's own browsers: it answers GET and HEAD, and reads no bodies.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ltr::doors {

struct HttpRequest {
  std::string path;                                        ///< decoded, `/runs/line/0001`
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded, in order

  /// The first value of `name`, "" for none.
  std::string find(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/html; charset=utf-8";
  std::string body;
};

/// What lies behind the host of a request: decoded path and query. False for what is no such target: another form, an
/// escape that is none, a control character.
bool parse_target(std::string_view target, HttpRequest& into);
/// `path` as it stands in an address: its slashes stay.
std::string escape_path(std::string_view path);

/// Listens from construction on. A request is answered only if it names the server by an address, as `localhost` or by `host`:
/// a name of somebody else that leads here (DNS rebinding) gets 403.
class HttpServer {
 public:
  /// `host` is an address or a name of this machine, port 0 a free one. Throws std::system_error.
  HttpServer(const std::string& host, uint16_t port);
  ~HttpServer();

  /// `http://127.0.0.1:8265/`
  std::string url() const;
  /// Whether only this machine reaches it.
  bool is_local() const;
  /// Answers requests, one after another, until SIGINT or `stop`. What `answer` throws is a 500 with its text.
  void serve(const std::function<HttpResponse(const HttpRequest&)>& answer);
  /// From any thread.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ltr::doors
