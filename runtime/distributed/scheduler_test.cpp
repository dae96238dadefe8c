#include "runtime/distributed/scheduler.h"

#include <doctest/doctest.h>

namespace ltr::distributed {

TEST_CASE("a run that its scheduler did not start is told so") {
  const auto warning = [](const Str& scheduler, const Str& set) {
    return not_scheduled(scheduler,
                         {.variable = [&](const Str& name) { return name == set ? Option<Str>("7") : std::nullopt; }});
  };
  CHECK(warning("slurm", "")
            .value()
            .starts_with("scheduler = slurm, but no job of it started this run (SLURM_JOB_ID is not set)"));
  CHECK(!warning("slurm", "SLURM_JOB_ID"));
  CHECK(warning("azureml", "SLURM_JOB_ID"));
  CHECK(!warning("azureml", "AZUREML_RUN_ID"));
  CHECK(!warning("k8s", "KUBERNETES_SERVICE_HOST"));
}

}  // namespace ltr::distributed
