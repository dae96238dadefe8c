#include "ltrc/language_server/connection.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace ltr::language_server {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

bool is_word(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(left[i])) != right[i]) return false;
  }
  return true;
}

/// A header line; nothing at the end of the stream.
std::optional<std::string> read_line() {
  constexpr size_t kMaxLine = 4096;
  std::string line;
  for (int c = std::getc(stdin); c != EOF; c = std::getc(stdin)) {
    if (c == '\n') return line;
    if (line.size() < kMaxLine) line += char(c);
  }
  return std::nullopt;
}

}  // namespace

void Connection::start() {
  // Blocked in a read it cannot be joined; it ends with the process.
  std::thread([this] { read_all(); }).detach();
}

void Connection::read_all() {
  while (read_one()) {
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

bool Connection::read_one() {
  std::optional<size_t> length;
  bool is_header = false;
  for (;;) {
    const std::optional<std::string> line = read_line();
    if (!line) return false;
    const std::string_view text = trimmed(*line);
    if (text.empty()) {
      if (is_header) break;
      continue;
    }
    is_header = true;
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || !is_word(trimmed(text.substr(0, colon)), "content-length")) continue;
    const std::string number(trimmed(text.substr(colon + 1)));
    if (number.empty() || number.size() > 10 || number.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    length = std::strtoull(number.c_str(), nullptr, 10);
  }
  if (!length) {
    // The next header tells where the next message is.
    put({.malformed = "a header without Content-Length"});
    return true;
  }
  if (*length > kMaxBytes) {
    put({.malformed = "a message of " + std::to_string(*length) + " bytes is too large"});
    return false;
  }
  std::string body(*length, '\0');
  if (std::fread(body.data(), 1, body.size(), stdin) != body.size()) return false;
  Json message = Json::parse(body, nullptr, false);
  if (message.is_discarded()) {
    put({.malformed = "the message is not JSON"});
  } else if (message.is_array()) {
    // A batch, which the protocol does not use, but JSON-RPC knows.
    for (Json& one : message) put({.message = std::move(one)});
  } else {
    put({.message = std::move(message)});
  }
  return true;
}

void Connection::put(Incoming incoming) {
  const std::lock_guard lock(mutex_);
  const Json& message = incoming.message;
  if (message.is_object() && message.value("method", Json()) == "$/cancelRequest" && message.contains("params") &&
      message["params"].is_object()) {
    cancelled_.insert(message["params"].value("id", Json()).dump());
    return;
  }
  queue_.push_back(std::move(incoming));
  changed_.notify_all();
}

std::optional<Incoming> Connection::wait(std::optional<Clock::time_point> deadline) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [this] { return !queue_.empty() || has_ended_; };
  if (deadline) {
    changed_.wait_until(lock, *deadline, is_ready);
  } else {
    changed_.wait(lock, is_ready);
  }
  if (queue_.empty()) return std::nullopt;
  Incoming first = std::move(queue_.front());
  queue_.pop_front();
  return first;
}

bool Connection::has_ended() {
  const std::lock_guard lock(mutex_);
  return has_ended_ && queue_.empty();
}

bool Connection::take_cancelled(const Json& id) {
  const std::lock_guard lock(mutex_);
  return cancelled_.erase(id.dump()) > 0;
}

void Connection::send(const Json& message) {
  // Text of a broken file must not stop an answer.
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::printf("Content-Length: %zu\r\n\r\n", body.size());
  std::fwrite(body.data(), 1, body.size(), stdout);
  std::fflush(stdout);
}

void Connection::answer(const Json& id, Json result) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

void Connection::fail(const Json& id, ErrorCode code, const std::string& message) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", int(code)}, {"message", message}}}});
}

void Connection::notify(const std::string& method, Json params) {
  send({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

}  // namespace ltr::language_server
