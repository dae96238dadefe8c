#pragma once

// The answers of a service: one thread reads requests, the model's own computes what is waiting.

#include "runtime/serve/request_queue.h"
#include "runtime/serve/scorer.h"
#include "runtime/serve/service_counts.h"

namespace ltr::serve {

struct ServiceRules {
  QueueRules queue;
  bool refuses_names = true;  ///< of rows: those that are no fields
};

class Service {
 public:
  /// `version` is what GET /version gives, JSON.
  Service(ServiceRules rules, Schema schema, Str version);

  /// `GET /ping /health /version /metrics`, `POST /invocations`. Called by the server's thread.
  void answer(doors::HttpRequest request, const doors::HttpServer::Reply& reply);
  /// Computes what waits until `is_over`, and then what is left.
  void work(Scorer& scorer, const std::function<bool()>& is_over);

 private:
  void compute(Scorer& scorer, std::vector<Waiting> group);
  void invoke(const doors::HttpRequest& request, const doors::HttpServer::Reply& reply);

  const ServiceRules rules_;
  const Schema schema_;
  const Str version_;
  RequestQueue queue_;
  ServiceCounts counts_;
};

}  // namespace ltr::serve
