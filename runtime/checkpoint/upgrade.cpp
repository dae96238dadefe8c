#include "runtime/checkpoint/upgrade.h"

#include <fmt/format.h>

#include "runtime/checkpoint/folder.h"

namespace ltr {

namespace {

using nlohmann::json;

/// Version 1 kept the state of callbacks by kind, sums of logs as bare lists, and no counts of hooks.
void from_1(json& manifest) {
  json callbacks = json::object();
  const json states = manifest.value("callbacks", json::object());
  for (const auto& [key, state] : states.items()) {
    callbacks[key] = {{"state", state}, {"hooks", json::object()}};
  }
  const auto move_list = [&](const char* list, const char* name) {
    size_t count = 0;
    const json saved = manifest.value(list, json::array());
    for (const json& state : saved) callbacks[fmt::format("{}#{}", name, count++)] = state;
    manifest.erase(list);
  };
  move_list("early_stops", "EarlyStop");
  move_list("keepers", "Checkpoint");
  if (manifest.contains("ema_updates")) callbacks["Ema#0"] = {{"updates", manifest["ema_updates"]}};
  manifest.erase("ema_updates");
  const json optimizers = manifest.value("optimizers", json::object());
  for (const auto& [name, row] : optimizers.items()) {
    size_t count = 0;
    const json plateaus = row.value("plateaus", json::array());
    for (const json& state : plateaus) {
      callbacks[fmt::format("plateau of {}#{}", name, count++)] = state;
    }
    manifest["optimizers"][name].erase("plateaus");
    if (!row.contains("rate")) manifest["optimizers"][name]["rate"] = "nan";
  }
  manifest["callbacks"] = std::move(callbacks);

  json cells = json::object();
  if (manifest.contains("logs")) {
    const json saved = manifest["logs"].value("cells", json::object());
    for (const auto& [series, row] : saved.items()) {
      cells[series] = {{"sum", row[0]},  {"weight", row[1]}, {"least", row[2]},
                       {"most", row[3]}, {"count", row[4]},  {"metric", ""}};
    }
    manifest["logs"]["cells"] = std::move(cells);
  }
  json row = json::array();
  const json saved_row = manifest.value("row", json::array());
  for (const json& value : saved_row) row.push_back({{"name", value[0]}, {"value", value[1]}});
  manifest["rows"] = {{"step", row.empty() ? json(-1) : manifest["step"]},
                      {"epoch", manifest.value("row_epoch", json(0))},
                      {"regular", row},
                      {"last", json::array()}};
  manifest["round_is_due"] = false;
  manifest["ends_epoch"] = false;
  manifest["skipped_in_row"] = 0;
  manifest["data"] = json::array();
}

}  // namespace

json upgraded(json manifest) {
  if (manifest.value("version", 0) < 2) from_1(manifest);
  return manifest;
}

}  // namespace ltr
