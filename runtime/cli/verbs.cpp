#include "runtime/cli/verbs.h"

#include <algorithm>

namespace ltr::cli {

const std::vector<VerbInfo>& verb_table() {
  static const std::vector<VerbInfo> kTable = {
      {"fit", 'f', "trains", run_fit, nullptr, true, {Role::Train, Role::Val}},
      {"validate", 'v', "one pass over the val streams", run_validate, nullptr, true, {Role::Val}},
      {"test", 't', "one pass over the test streams", run_test, nullptr, true, {Role::Test}},
      {"predict",
       'p',
       "runs `step predict`, writes results in record order",
       run_predict,
       nullptr,
       true,
       {Role::Predict}},
      {"describe",
       'd',
       "prints layers, weights, streams and plan; trains nothing",
       run_describe,
       nullptr,
       false,
       {Role::Train, Role::Val}},
      {"config", 'c', "prints the resolved settings", run_config, nullptr, false, {Role::Train, Role::Val}},
      {"version", 'V', "prints versions and build flags", nullptr, run_version},
      {"serve", 's', "answers requests over HTTP by `step predict`", run_serve, nullptr, false, {Role::Predict}},
      {"sweep",
       'w',
       "runs the sweep section: a fit for each trial",
       run_sweep,
       nullptr,
       false,
       {Role::Train, Role::Val}},
      {"report", 'r', "writes a page about a run, RUN/report.html: report [RUN]", nullptr, run_report},
      {"checkpoints", 'k', "lists the checkpoints of a run and verifies them: checkpoints [RUN]", nullptr,
       run_checkpoints},
      {"__tests", 'T', "", nullptr, run_tests},
  };
  return kTable;
}

const VerbInfo* find_verb(const Str& name) {
  const auto found = std::ranges::find_if(verb_table(), [&](const VerbInfo& info) { return name == info.name; });
  return found == verb_table().end() ? nullptr : &*found;
}

}  // namespace ltr::cli
