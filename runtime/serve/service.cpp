#include "runtime/serve/service.h"

#include "doors/number.h"

namespace ltr::serve {

namespace {

using doors::HttpResponse;

HttpResponse json(int status, Str body) { return {status, "application/json", std::move(body)}; }
HttpResponse plain(int status, Str body) { return {status, "text/plain; charset=utf-8", std::move(body)}; }

/// As MLflow's server says it.
HttpResponse refusal(const Refusal& refusal) {
  const char* code = refusal.status == 503   ? "TEMPORARILY_UNAVAILABLE"
                     : refusal.status >= 500 ? "INTERNAL_ERROR"
                                             : "BAD_REQUEST";
  return json(refusal.status,
              fmt::format("{{\"error_code\":\"{}\",\"message\":{}}}\n", code, doors::json_string(refusal.message)));
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

Service::Service(ServiceRules rules, Schema schema, Str version)
    : rules_(rules), schema_(std::move(schema)), version_(std::move(version)), queue_(rules.queue) {}

void Service::answer(doors::HttpRequest request, const doors::HttpServer::Reply& reply) {
  const bool is_get = request.method == "GET";
  if (request.path == "/invocations") {
    if (is_get) return reply(plain(405, "POST /invocations takes rows\n"));
    return invoke(request, reply);
  }
  if (is_get && (request.path == "/ping" || request.path == "/health")) return reply(plain(200, "ok\n"));
  if (is_get && request.path == "/version") return reply(json(200, version_ + "\n"));
  if (is_get && request.path == "/metrics")
    return reply({200, "text/plain; version=0.0.4; charset=utf-8", counts_.text(queue_.size())});
  reply(plain(404, "POST /invocations, GET /ping, /health, /version or /metrics\n"));
}

void Service::invoke(const doors::HttpRequest& request, const doors::HttpServer::Reply& reply) {
  Waiting waiting{.rows = {}, .reply = reply};
  const auto refuse = [&](const Refusal& why) {
    counts_.answered(why.status, seconds_since(waiting.since));
    reply(refusal(why));
  };
  try {
    waiting.rows = read_scoring_request(request, schema_, rules_.refuses_names);
  } catch (const Refusal& why) {
    return refuse(why);
  }
  if (!queue_.put(waiting)) refuse({503, "more requests wait than --queue takes, or the server ends"});
}

void Service::work(Scorer& scorer, const std::function<bool()>& is_over) {
  constexpr std::chrono::milliseconds kLook(100);  // How late a signal may be seen.
  while (!is_over()) {
    std::vector<Waiting> group = queue_.take(kLook);
    if (!group.empty()) compute(scorer, std::move(group));
  }
  queue_.close();
  for (std::vector<Waiting> rest = queue_.take(kLook); !rest.empty(); rest = queue_.take(kLook))
    compute(scorer, std::move(rest));
}

void Service::compute(Scorer& scorer, std::vector<Waiting> group) {
  const Clock::time_point begin = Clock::now();
  std::vector<const ReadRows*> parts;
  size_t count = 0;
  for (const Waiting& one : group) {
    parts.push_back(&one.rows);
    count += one.rows.records.size();
  }
  const std::vector<Score> scores = scorer.score(parts);
  counts_.computed(count, seconds_since(begin));
  for (size_t i = 0; i < group.size(); ++i) {
    const auto* why = std::get_if<Refusal>(&scores[i]);
    counts_.answered(why != nullptr ? why->status : 200, seconds_since(group[i].since));
    group[i].reply(why != nullptr
                       ? refusal(*why)
                       : json(200, fmt::format("{{\"predictions\":[{}]}}\n", fmt::join(std::get<0>(scores[i]), ","))));
  }
}

}  // namespace ltr::serve
