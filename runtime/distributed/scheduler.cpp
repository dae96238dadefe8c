#include "runtime/distributed/scheduler.h"

#include <fmt/format.h>

#include "runtime/tables/schedulers.h"

namespace ltr::distributed {

namespace {

struct SchedulerRow {
  const char* name;
  const char* variable;
};
constexpr SchedulerRow kSchedulers[] = {
#define LTR_SCHEDULER(name, variable) {#name, variable},
    LTR_SCHEDULERS(LTR_SCHEDULER, )
#undef LTR_SCHEDULER
};

}  // namespace

Option<Str> not_scheduled(const Str& scheduler, const Environment& environment) {
  for (const SchedulerRow& row : kSchedulers) {
    if (scheduler != row.name || !environment.variable(row.variable).value_or("").empty()) continue;
    return fmt::format(
        "scheduler = {}, but no job of it started this run ({} is not set), so nothing that it asks for holds here; "
        "choose another with --topology, or --set topology.scheduler=none",
        scheduler, row.variable);
  }
  return std::nullopt;
}

}  // namespace ltr::distributed
