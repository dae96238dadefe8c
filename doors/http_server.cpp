#include "doors/http_server.h"

#include <chrono>
#include <csignal>
#include <optional>
#include <system_error>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "doors/limits.h"

namespace ltr::doors {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using Answer = std::function<HttpResponse(const HttpRequest&)>;

/// For a whole request, and between two of them.
constexpr std::chrono::seconds kPatience(30);
/// More connections than this are closed at once; a browser opens six.
constexpr int kMostConnections = 64;

/// Pages load nothing, and nobody frames them or keeps them.
constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
     "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
    {"X-Frame-Options", "DENY"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
};

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = char(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// `text` without its escapes; nothing for what is none, or a control character.
std::optional<std::string> decode(std::string_view text, bool is_query) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0) return std::nullopt;
      c = char(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    } else if (c == '+' && is_query) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    out += c;
  }
  return out;
}

/// Without its port, `[::1]` without its brackets.
std::string host_of(std::string_view text) {
  if (text.starts_with('[')) return std::string(text.substr(1, text.find(']') - 1));
  return std::string(text.substr(0, text.find(':')));
}

}  // namespace

std::string HttpRequest::find(const std::string& name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return "";
}

bool parse_target(std::string_view target, HttpRequest& into) {
  if (!target.starts_with('/')) return false;
  const size_t mark = std::min(target.find('?'), target.size());
  const auto path = decode(target.substr(0, mark), false);
  if (!path) return false;
  into.path = *path;
  for (size_t at = mark + 1; at < target.size();) {
    const size_t end = std::min(target.find('&', at), target.size());
    const std::string_view pair = target.substr(at, end - at);
    const size_t sign = std::min(pair.find('='), pair.size());
    const auto name = decode(pair.substr(0, sign), true);
    const auto value = decode(pair.substr(std::min(sign + 1, pair.size())), true);
    if (!name || !value) return false;
    into.query.emplace_back(*name, *value);
    at = end + 1;
  }
  return true;
}

std::string escape_path(std::string_view path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    if (is_plain || c == '-' || c == '_' || c == '.' || c == '~' || c == '/') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

struct HttpServer::State {
  asio::io_context context{1};
  Tcp::acceptor acceptor{context};
  std::string host;
  int connections = 0;
  Answer answer;

  bool is_own_name(std::string_view text) const {
    const std::string name = host_of(text);
    boost::system::error_code failed;
    asio::ip::make_address(name, failed);
    return !failed || beast::iequals(name, "localhost") || beast::iequals(name, host);
  }

  HttpResponse answer_to(const http::request<http::empty_body>& request) const {
    const auto plain = [](int status, std::string text) {
      return HttpResponse{status, "text/plain; charset=utf-8", std::move(text) + "\n"};
    };
    if (request.count(http::field::host) != 1) return plain(400, "a request names one host");
    if (!is_own_name(std::string_view(request[http::field::host].data(), request[http::field::host].size())))
      return plain(403, "this server has another name");
    HttpRequest parsed;
    if (!parse_target({request.target().data(), request.target().size()}, parsed))
      return plain(400, "no path that is known here");
    try {
      return answer(parsed);
    } catch (const std::exception& error) {
      return plain(500, error.what());
    }
  }

  void accept();
};

namespace {

/// One connection, as long as it lasts.
template <class State>
class Connection : public std::enable_shared_from_this<Connection<State>> {
 public:
  Connection(Tcp::socket socket, State& state) : stream_(std::move(socket)), state_(state) { ++state_.connections; }
  ~Connection() { --state_.connections; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(limits::kHttpHeader);
    stream_.expires_after(kPatience);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](beast::error_code failed, size_t) { self->have(failed); });
  }

 private:
  void have(beast::error_code failed) {
    if (failed == http::error::header_limit || failed == http::error::buffer_overflow) return refuse(431);
    if (failed && failed.category() == make_error_code(http::error::bad_method).category() &&
        failed != http::error::end_of_stream && failed != http::error::partial_message) {
      return refuse(400);
    }
    if (failed) return;  // gone, or silent for too long
    const auto& request = parser_->get();
    if (request.method() != http::verb::get && request.method() != http::verb::head) return refuse(405);
    if (!parser_->is_done()) return refuse(413);
    write(state_.answer_to(request), request.keep_alive(), request.method() == http::verb::head);
  }

  void refuse(int status) {
    write({status, "text/plain; charset=utf-8", std::string(http::obsolete_reason(http::status(status))) + "\n"}, false,
          false);
  }

  void write(HttpResponse answer, bool goes_on, bool is_head) {
    response_ = {http::status(answer.status), 11};
    response_.set(http::field::content_type, answer.type);
    for (const auto& [name, value] : kHeaders) response_.set(name, value);
    if (answer.status == 405) response_.set(http::field::allow, "GET, HEAD");
    response_.keep_alive(goes_on);
    if (answer.status != 204) response_.content_length(answer.body.size());
    if (!is_head) response_.body() = std::move(answer.body);
    stream_.expires_after(kPatience);
    http::async_write(stream_, response_, [self = this->shared_from_this(), goes_on](beast::error_code failed, size_t) {
      if (!failed && goes_on) return self->read();
      beast::error_code ignored;
      self->stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    });
  }

  beast::tcp_stream stream_;
  State& state_;
  beast::flat_buffer buffer_{limits::kHttpHeader};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
};

}  // namespace

void HttpServer::State::accept() {
  acceptor.async_accept([this](beast::error_code failed, Tcp::socket socket) {
    if (failed == asio::error::operation_aborted) return;
    if (!failed && connections < kMostConnections)
      std::make_shared<Connection<State>>(std::move(socket), *this)->read();
    accept();
  });
}

HttpServer::HttpServer(const std::string& host, uint16_t port) : state_(std::make_unique<State>()) {
  state_->host = host;
  try {
    const auto found = Tcp::resolver(state_->context).resolve(host, std::to_string(port), Tcp::resolver::passive);
    const Tcp::endpoint place = found.begin()->endpoint();
    state_->acceptor.open(place.protocol());
    state_->acceptor.set_option(asio::socket_base::reuse_address(true));
    state_->acceptor.bind(place);
    state_->acceptor.listen();
  } catch (const boost::system::system_error& error) {
    throw std::system_error(std::error_code(error.code()), host);
  }
}

HttpServer::~HttpServer() = default;

std::string HttpServer::url() const {
  const Tcp::endpoint place = state_->acceptor.local_endpoint();
  const std::string address = place.address().to_string();
  return "http://" + (place.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(place.port()) +
         "/";
}

bool HttpServer::is_local() const { return state_->acceptor.local_endpoint().address().is_loopback(); }

void HttpServer::serve(const Answer& answer) {
  state_->answer = answer;
  asio::signal_set signals(state_->context, SIGINT);
  signals.async_wait([this](beast::error_code failed, int) {
    if (!failed) stop();
  });
  state_->accept();
  state_->context.run();
}

void HttpServer::stop() { state_->context.stop(); }

}  // namespace ltr::doors
