#include "runtime/cli/requeue.h"

#include <doctest/doctest.h>

#include <csignal>
#include <map>

namespace ltr::cli {

TEST_CASE("the job of SLURM that a run is in, by the name that scontrol takes") {
  using Variables = std::map<Str, Str>;
  const auto job = [](const Variables& set) {
    return slurm_job(
        {.variable = [&](const Str& name) { return set.contains(name) ? Option<Str>(set.at(name)) : std::nullopt; }});
  };
  CHECK(!job({}));
  CHECK(job({{"SLURM_JOB_ID", "17"}}) == Str("17"));
  // A task of an array has a job's number of its own, by which it cannot be told from the others everywhere.
  CHECK(job({{"SLURM_JOB_ID", "19"}, {"SLURM_ARRAY_JOB_ID", "17"}, {"SLURM_ARRAY_TASK_ID", "3"}}) == Str("17_3"));
}

TEST_CASE("which signal puts a job into the queue again") {
  const auto listed = [](const char* signal, const char* requeue) {
    return std::vector<Value>{Value::call(
        "StopOnSignal", {{"signal", Value::symbol(signal), "", {}}, {"requeue", Value::symbol(requeue), "", {}}})};
  };
  CHECK(is_requeued(SIGUSR1, listed("usr1", "auto"), true));
  CHECK(!is_requeued(SIGUSR1, listed("usr1", "auto"), false));
  CHECK(!is_requeued(SIGTERM, listed("usr1", "auto"), true));
  CHECK(!is_requeued(SIGUSR1, {}, true));  // It is off.
  CHECK(is_requeued(SIGUSR2, listed("usr2", "auto"), true));
  CHECK(!is_requeued(SIGUSR2, listed("usr2", "auto"), false));
  CHECK(!is_requeued(SIGUSR1, listed("usr2", "auto"), true));
  CHECK(is_requeued(SIGTERM, listed("term", "always"), false));
  CHECK(is_requeued(SIGHUP, listed("hup", "always"), true));
  CHECK(!is_requeued(SIGUSR1, listed("usr1", "never"), true));
  CHECK(!is_requeued(SIGINT, listed("usr1", "always"), true));
}

}  // namespace ltr::cli
