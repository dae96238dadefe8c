// How many processes a topology has, and what carries gradients between them.

#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/devices.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

std::optional<int64_t> ranks_of(const Topology& topology, const Context& cx) {
  const SettingValue* devices = find_setting(topology.settings, "devices");
  const SettingValue* nodes = find_setting(topology.settings, "nodes");
  const int64_t count = devices == nullptr ? 1 : std::max<int64_t>(read_devices(text_of(devices->value))->count, 1);
  if (nodes == nullptr) return count;
  const auto value = evaluate(nodes->value, cx.program);
  return value ? std::optional(count * value->whole) : std::nullopt;
}

void check_processes(const Topology& topology, Context& cx) {
  const SettingValue* devices = find_setting(topology.settings, "devices");
  const SettingValue* strategy = find_setting(topology.settings, "strategy");
  const SettingValue* backend = find_setting(topology.settings, "backend");
  if (devices == nullptr) return;
  const auto ranks = ranks_of(topology, cx);
  const bool is_single = strategy != nullptr && text_of(strategy->value) == "single";
  if (is_single && ranks.value_or(1) > 1 && !is_reported(cx, diagnostics::Code::E0607, strategy->value.span))
    cx.report(diag::strategy_contradicts(
                  strategy->value.span,
                  "`strategy = single` runs on 1 device, and the topology has " + std::to_string(*ranks))
                  .label(devices->value.span, "here")
                  .help("`strategy = ddp`, or leave it out"));
  const std::string kind = read_devices(text_of(devices->value))->kind;
  if (backend != nullptr && text_of(backend->value) == "nccl" && kind == "cpu")
    cx.report(diag::strategy_contradicts(
                  backend->value.span,
                  "`backend = nccl` carries what lies on CUDA devices, and the devices are " + text_of(devices->value))
                  .label(devices->value.span, "here")
                  .help("leave `backend` out: it is gloo here"));
}

}  // namespace ltr::check
