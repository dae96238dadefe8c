#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace ltr::language_server {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

/// Codes of JSON-RPC and of the protocol.
enum class ErrorCode {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  InternalError = -32603,
  ServerNotInitialized = -32002,
  RequestCancelled = -32800,
  RequestFailed = -32803,
};

/// What came in: a message, or what is wrong with one.
struct Incoming {
  Json message;           ///< an object
  std::string malformed;  ///< why it could not be read; empty for a message
};

/// Messages with a `Content-Length` before each, on stdin and stdout. A thread of its own reads, so
/// that a cancellation overtakes the requests that wait.
class Connection {
 public:
  /// Largest body that is taken; more is answered with an error, and the stream is given up.
  static constexpr size_t kMaxBytes = size_t{64} << 20U;

  void start();
  /// The next message; nothing at `deadline`, or when stdin has ended.
  std::optional<Incoming> wait(std::optional<Clock::time_point> deadline);
  bool has_ended();
  /// Whether the client no longer wants the answer to `id`; asked once for each request.
  bool take_cancelled(const Json& id);

  void send(const Json& message);
  void answer(const Json& id, Json result);
  void fail(const Json& id, ErrorCode code, const std::string& message);
  void notify(const std::string& method, Json params);

 private:
  void read_all();
  /// False at the end of the stream.
  bool read_one();
  void put(Incoming incoming);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Incoming> queue_;
  std::set<std::string> cancelled_;  ///< ids as text
  bool has_ended_ = false;
};

}  // namespace ltr::language_server
