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
using Answer = std::function<void(HttpRequest, HttpServer::Reply)>;

/// For a whole request, and between two of them.
constexpr std::chrono::seconds kPatience(30);

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

namespace {

using Request = http::request<http::string_body>;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct HttpServer::State {
  asio::io_context context{1};
  Tcp::acceptor acceptor{context};
  std::string host;
  HttpRules rules;
  int connections = 0;
  int writing = 0;  ///< answers that are on their way
  bool is_finishing = false;
  Answer answer;

  bool is_own_name(std::string_view text) const {
    const std::string name = host_of(text);
    boost::system::error_code failed;
    asio::ip::make_address(name, failed);
    return !failed || beast::iequals(name, "localhost") || beast::iequals(name, host);
  }

  static HttpResponse plain(int status, std::string text) {
    return {status, "text/plain; charset=utf-8", std::move(text) + "\n"};
  }

  void answer_to(Request& request, HttpServer::Reply reply) const {
    if (request.count(http::field::host) != 1) return reply(plain(400, "a request names one host"));
    const bool is_local = acceptor.local_endpoint().address().is_loopback();
    if ((is_local || !rules.takes_any_name) && !is_own_name(view(request[http::field::host])))
      return reply(plain(403, "this server has another name"));
    HttpRequest parsed;
    if (!parse_target(view(request.target()), parsed)) return reply(plain(400, "no path that is known here"));
    parsed.method = request.method() == http::verb::post ? "POST" : "GET";
    const std::string_view type = view(request[http::field::content_type]);
    for (const char c : type.substr(0, type.find(';'))) {
      if (c != ' ') parsed.type += char(std::tolower(static_cast<unsigned char>(c)));
    }
    parsed.body = std::move(request.body());
    try {
      answer(std::move(parsed), reply);
    } catch (const std::exception& error) {
      reply(plain(500, error.what()));
    }
  }

  /// Nothing is left to be written.
  void end_if_done() {
    if (is_finishing && writing == 0) context.stop();
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
    parser_->body_limit(state_.rules.body_bytes);
    stream_.expires_after(kPatience);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](beast::error_code failed, size_t) { self->have_header(failed); });
  }

 private:
  /// Whether what was read can be gone on with; who is gone, or silent for too long, gets no answer.
  bool is_good(beast::error_code failed) {
    if (failed == http::error::header_limit || failed == http::error::buffer_overflow) return refuse(431), false;
    if (failed == http::error::body_limit) return refuse(413), false;
    if (failed && failed.category() == make_error_code(http::error::bad_method).category() &&
        failed != http::error::end_of_stream && failed != http::error::partial_message)
      return refuse(400), false;
    return !failed;
  }

  void have_header(beast::error_code failed) {
    if (!is_good(failed)) return;
    const auto& request = parser_->get();
    const bool is_get = request.method() == http::verb::get || request.method() == http::verb::head;
    const bool is_post = request.method() == http::verb::post && state_.rules.body_bytes > 0;
    if (!is_get && !is_post) return refuse(405);
    if (parser_->is_done()) return answer();
    if (is_get) return refuse(413);
    if (!beast::iequals(request[http::field::expect], "100-continue")) return read_body();
    goes_on_ = {http::status::continue_, 11};
    http::async_write(stream_, goes_on_, [self = this->shared_from_this()](beast::error_code gone, size_t) {
      if (!gone) self->read_body();
    });
  }

  void read_body() {
    stream_.expires_after(kPatience);
    http::async_read(stream_, buffer_, *parser_, [self = this->shared_from_this()](beast::error_code failed, size_t) {
      if (self->is_good(failed)) self->answer();
    });
  }

  void answer() {
    stream_.expires_never();
    Request request = parser_->release();
    const bool goes_on = request.keep_alive() && !state_.is_finishing;
    const bool is_head = request.method() == http::verb::head;
    // Whoever answers may do so from another thread; what is written is this one's.
    state_.answer_to(request, [self = this->shared_from_this(), goes_on, is_head](HttpResponse response) {
      asio::post(self->state_.context, [self, goes_on, is_head, response = std::move(response)]() mutable {
        self->write(std::move(response), goes_on, is_head);
      });
    });
  }

  void refuse(int status) {
    write(State::plain(status, std::string(http::obsolete_reason(http::status(status)))), false, false);
  }

  void write(HttpResponse answer, bool goes_on, bool is_head) {
    response_ = {http::status(answer.status), 11};
    response_.set(http::field::content_type, answer.type);
    for (const auto& [name, value] : kHeaders) response_.set(name, value);
    if (answer.status == 405)
      response_.set(http::field::allow, state_.rules.body_bytes > 0 ? "GET, HEAD, POST" : "GET, HEAD");
    response_.keep_alive(goes_on);
    if (answer.status != 204) response_.content_length(answer.body.size());
    if (!is_head) response_.body() = std::move(answer.body);
    stream_.expires_after(kPatience);
    ++state_.writing;
    http::async_write(stream_, response_, [self = this->shared_from_this(), goes_on](beast::error_code failed, size_t) {
      --self->state_.writing;
      self->state_.end_if_done();
      if (!failed && goes_on) return self->read();
      beast::error_code ignored;
      self->stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    });
  }

  beast::tcp_stream stream_;
  State& state_;
  beast::flat_buffer buffer_{limits::kHttpHeader};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::empty_body> goes_on_;
  http::response<http::string_body> response_;
};

}  // namespace

void HttpServer::State::accept() {
  acceptor.async_accept([this](beast::error_code failed, Tcp::socket socket) {
    if (failed == asio::error::operation_aborted || is_finishing) return;
    if (!failed && connections < rules.connections)
      std::make_shared<Connection<State>>(std::move(socket), *this)->read();
    accept();
  });
}

HttpServer::HttpServer(const std::string& host, uint16_t port, HttpRules rules) : state_(std::make_unique<State>()) {
  state_->host = host;
  state_->rules = rules;
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

void HttpServer::serve(const std::function<HttpResponse(const HttpRequest&)>& answer) {
  asio::signal_set signals(state_->context, SIGINT);
  signals.async_wait([this](beast::error_code failed, int) {
    if (!failed) stop();
  });
  serve_later([&answer](const HttpRequest& request, const Reply& reply) { reply(answer(request)); });
}

void HttpServer::serve_later(std::function<void(HttpRequest, Reply)> answer) {
  state_->answer = std::move(answer);
  state_->accept();
  state_->context.run();
}

// Posted: it stands behind the answers that were given before.
void HttpServer::finish() {
  asio::post(state_->context, [state = state_.get()] {
    state->is_finishing = true;
    boost::system::error_code ignored;
    state->acceptor.close(ignored);
    state->end_if_done();
  });
}

void HttpServer::stop() { state_->context.stop(); }

}  // namespace ltr::doors
