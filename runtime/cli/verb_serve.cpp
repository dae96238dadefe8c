// `serve`: the trained program answers requests (MLflow's scoring protocol, which SageMaker's containers speak, too).

#include <csignal>
#include <thread>

#include "doors/limits.h"
#include "runtime/cli/predict_start.h"
#include "runtime/cli/step_params.h"
#include "runtime/cli/verbs.h"
#include "runtime/serve/service.h"
#include "runtime/train/signals.h"

namespace ltr::cli {

namespace {

/// The stream whose source the rows of requests replace.
const Data::RoleStream& predict_stream(const Start& start) {
  const Data::RoleStream* found = nullptr;
  size_t count = 0;
  for (const Data::RoleStream& one : start.data->streams) {
    if (one.role != Role::Predict) continue;
    found = &one;
    ++count;
  }
  if (count == 1) return *found;
  throw with_help(error_at({}, err::settings_contradict,
                           fmt::format("serve takes rows in the place of one predict stream; the data {} has {}",
                                       start.experiment->data, count == 0 ? "none" : "several")),
                  count == 0 ? "declare one: `predict = …`, of the records that requests have" : "");
}

std::unique_ptr<doors::HttpServer> listen(const Str& host, int64_t port, size_t requests) {
  try {
    const doors::HttpRules rules{.body_bytes = doors::limits::kHttpBody,
                                 .connections = int(std::min<size_t>(requests + 64, 65536)),
                                 // Behind a proxy or in a cluster it has names that it does not know itself.
                                 .takes_any_name = true};
    return std::make_unique<doors::HttpServer>(host, uint16_t(port), rules);
  } catch (const std::system_error& error) {
    throw with_help(error_at({}, err::settings_contradict,
                             fmt::format("cannot listen on {} port {}: {}", host, port, error.code().message())),
                    error.code() == std::errc::address_in_use
                        ? "another process does; --port 0 takes a free port"
                        : "--host takes an address of this machine, --port a free port");
  }
}

/// Reads requests in a thread of its own while it lives.
class Reading {
 public:
  Reading(doors::HttpServer& server, serve::Service& service)
      : server_(server), thread_([&server, &service] {
          server.serve_later([&service](doors::HttpRequest request, const doors::HttpServer::Reply& reply) {
            service.answer(std::move(request), reply);
          });
        }) {}
  ~Reading() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  /// Until all answers are written.
  void finish() {
    server_.finish();
    thread_.join();
  }

 private:
  doors::HttpServer& server_;
  std::thread thread_;
};

}  // namespace

int run_serve(Start& start) {
  const PredictStart made = start_predict(start);
  const auto setting = [&](const Str& name) -> const Value& { return start.settings.value("serve." + name); };
  serve::ServiceRules rules;
  rules.queue.most = size_t(setting("queue").as_int());
  rules.queue.batch_rows = size_t(setting("max_batch").as_int());
  rules.queue.wait = std::chrono::duration<double>(setting("wait").as_float());
  rules.refuses_names = !start.line.has("ignore-columns");

  const std::unique_ptr<Progress> progress = make_progress(start.terminal);
  RunRequest request = start.request(*progress);
  request.run_dir = made.run;
  request.trained = trained_of(made.weights);
  const GivenParams given = read_step_params(start, made.step);
  request.step_params[size_t(Role::Predict)] = given.params;
  serve::Scorer scorer(request, predict_stream(start), given.params.tensors);
  serve::Service service(
      rules, scorer.schema(),
      fmt::format("{{\"program\":{},\"experiment\":{},\"source_hash\":{},\"weights\":{},\"step\":{}}}",
                  doors::json_string(start.program.name), doors::json_string(start.experiment->name),
                  doors::json_string(start.program.source_hash), doors::json_string(made.weights),
                  request.trained.steps));
  const auto server = listen(setting("host").as_str(), setting("port").as_int(), rules.queue.most);
  if (!server->is_local() && start.terminal.has_warnings) {
    print_err(
        fmt::format("warning: whoever reaches {} gets answers; there is no TLS and there are no accounts, "
                    "so put a proxy that has them before it\n",
                    server->url()));
  }
  SignalWatch::enter(SignalPhase::Serve);
  scorer.begin();
  Reading reading(*server, service);
  print_out(server->url() + "\n");
  service.work(scorer, [] { return SignalWatch::received() != 0; });
  reading.finish();
  scorer.end();
  SignalWatch::enter(SignalPhase::End);
  // Whoever runs services ends them by SIGTERM: that is no failure.
  return SignalWatch::received() == SIGTERM ? 0 : SignalWatch::exit_code(SignalWatch::received());
}

}  // namespace ltr::cli
