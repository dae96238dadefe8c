#include "runtime/cli/requeue.h"

#include <algorithm>
#include <csignal>

#include "runtime/cli/command.h"

namespace ltr::cli {

Option<Str> slurm_job(const distributed::Environment& environment) {
  const auto read = [&](const char* name) { return environment.variable(name).value_or(""); };
  const Str job = read("SLURM_JOB_ID");
  if (job.empty()) return std::nullopt;
  // Of an array every task is in the queue by itself.
  const Str array = read("SLURM_ARRAY_JOB_ID"), task = read("SLURM_ARRAY_TASK_ID");
  return array.empty() || task.empty() ? job : array + "_" + task;
}

namespace {

constexpr struct {
  const char* word;
  int number;
} kSignals[] = {{"usr1", SIGUSR1}, {"usr2", SIGUSR2}, {"term", SIGTERM}, {"hup", SIGHUP}};

}  // namespace

bool is_requeued(int signal, const std::vector<Value>& callbacks, bool scheduler_asks) {
  const auto asks = [&](const Str& word, const Str& requeue) {
    const auto meant = std::ranges::find_if(kSignals, [&](const auto& one) { return word == one.word; });
    if (meant == std::end(kSignals) || meant->number != signal) return false;
    return requeue == "always" || (requeue == "auto" && scheduler_asks);
  };
  for (const Value& call : callbacks) {
    if (call.text != "StopOnSignal") continue;
    const auto word = [&](const char* name, const char* initial) {
      const Value* given = call.find(name);
      return given != nullptr ? given->text : Str(initial);
    };
    if (asks(word("signal", "usr1"), word("requeue", "auto"))) return true;
  }
  return false;
}

void requeue(const Str& job, Progress& progress) {
  constexpr std::chrono::seconds kLimit(20);
  progress.notice(fmt::format("the job {} goes into the queue again", job));
  const CommandEnd end = run_command({"scontrol", "requeue", job}, kLimit, true);
  if (end.code == 0) return;
  const Str why = end.text.empty() ? "it could not be run" : end.text.substr(0, end.text.find('\n'));
  progress.warning(fmt::format("scontrol requeue {}: {}; submit it again, with --resume auto", job, why));
}

}  // namespace ltr::cli
