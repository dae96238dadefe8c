#pragma once

// A small HTTP/1.1 server: for people's own browsers, which ask by GET, and for programs that post what they want computed.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ltr::doors {

struct HttpRequest {
  std::string method;                                      ///< `GET`, also for HEAD, or `POST`
  std::string path;                                        ///< decoded, `/runs/line/0001`
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded, in order
  std::string type;                                        ///< of the body, without parameters: `application/json`
  std::string body;

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

/// What a server takes.
struct HttpRules {
  size_t body_bytes = 0;        ///< of a request; 0: it takes GET and HEAD alone
  int connections = 64;         ///< more are closed at once; a browser opens six
  bool takes_any_name = false;  ///< where others reach it: whatever host a request names
};

/// Listens from construction on. Unless the rules say otherwise, a request is answered only if it names the server by an address,
/// as `localhost` or by `host`: a name of somebody else that leads here (DNS rebinding) gets 403.
class HttpServer {
 public:
  /// Answers a request, once, from any thread; who has gone meanwhile is not told.
  using Reply = std::function<void(HttpResponse)>;

  /// `host` is an address or a name of this machine, port 0 a free one. Throws std::system_error.
  HttpServer(const std::string& host, uint16_t port, HttpRules rules = {});
  ~HttpServer();

  /// `http://127.0.0.1:8265/`
  std::string url() const;
  /// Whether only this machine reaches it.
  bool is_local() const;
  /// Answers requests, one after another, until SIGINT or `stop`. What `answer` throws is a 500 with its text.
  void serve(const std::function<HttpResponse(const HttpRequest&)>& answer);
  /// The same of answers that may come later; signals are the caller's, who ends it by `finish` or `stop`.
  void serve_later(std::function<void(HttpRequest, Reply)> answer);
  /// From any thread: takes no more requests, and ends when the answers that were given are written.
  void finish();
  /// From any thread.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ltr::doors
