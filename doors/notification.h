#pragma once

// What people are told of a run, as chat services and plain webhooks take it.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ltr::doors {

struct Notification {
  std::string experiment, run;
  std::string event;  ///< start progress best finish fail
  int64_t epoch = 0;  ///< completed ones
  int64_t step = 0;
  std::vector<std::pair<std::string, double>> metrics;      ///< newest values, `val/loss`
  std::vector<std::pair<std::string, std::string>> fields;  ///< for people: `epoch`, `3 of 8`
  std::string reason;                                       ///< of a failure, the first line
  std::string host;
  std::string time;  ///< UTC, `2026-11-21T01:02:03Z`
};

/// `mnist 0007-baseline: finished`.
std::string title_of(const Notification& one);

/// Incoming webhook of Slack: a text and blocks of at most 10 fields.
std::string slack_body(const Notification& one);
/// Webhook of a workflow of Teams: an adaptive card 1.4.
std::string teams_body(const Notification& one);
/// Webhook of Discord; nobody is mentioned.
std::string discord_body(const Notification& one);
/// `{experiment, run, event, epoch, step, metrics, reason, host, time}`.
std::string plain_body(const Notification& one);

/// The id in Discord's answer to a message, "" if there is none.
std::string discord_message_id(const std::string& answer);

}  // namespace ltr::doors
