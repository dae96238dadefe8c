#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// Two logs of one name that both run, one after the other, record the mean of two values.
void check_body_logs(Context& cx, const Body& body) {
  std::map<std::string, const stmt::Log*> first;
  for (const Stmt& stmt : body) {
    for_each_body(stmt, [&](const Body& inner) { check_body_logs(cx, inner); });
    const auto* log = stmt.get<stmt::Log>();
    if (log == nullptr) continue;
    const LogEntry& entry = cx.program.logs[log->slot];
    if (entry.kind != "scalar" && entry.kind != "metric") continue;
    const auto [place, is_new] = first.try_emplace(entry.name, log);
    if (is_new) continue;
    const std::string before = cx.source_text(cx.at(place->second->value).span);
    if (before == cx.source_text(cx.at(log->value).span)) continue;
    cx.report(diag::logged_twice(entry.span, entry.role + "." + entry.name)
                  .label(cx.program.logs[place->second->slot].span, "first here"));
  }
}

}  // namespace

void check_logged_names(Context& cx) {
  for (const Object& model : cx.program.models) {
    if (model.is_library) continue;
    for (const uint32_t fn : model.fns) {
      if (cx.program.fns[fn].role == FnRole::Step) check_body_logs(cx, cx.program.fns[fn].body);
    }
  }
}

}  // namespace ltr::check
