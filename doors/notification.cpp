#include "doors/notification.h"

#include <algorithm>
#include <cmath>

#include "doors/json.h"

namespace ltr::doors {

namespace {

using Ordered = nlohmann::ordered_json;

/// What chats take at most of one text; they refuse the message as a whole.
constexpr size_t kMostText = 1500;
constexpr size_t kMostTitle = 150;
constexpr size_t kMostFields = 10;

/// Bytes that are no UTF-8 become a mark: names of files may hold any.
std::string dumped(const Ordered& json) { return json.dump(-1, ' ', false, Ordered::error_handler_t::replace); }

/// No longer than `most` bytes, and no character in two.
std::string cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) end--;
  return text.substr(0, end) + "…";
}

/// Of Slack, in which these three begin what is no text.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> fields_of(const Notification& one) {
  std::vector<std::pair<std::string, std::string>> fields = one.fields;
  if (!one.reason.empty()) fields.insert(fields.begin(), {"reason", one.reason});
  fields.resize(std::min(fields.size(), kMostFields));
  for (auto& [name, value] : fields) value = cut(value, kMostText);
  return fields;
}

}  // namespace

std::string title_of(const Notification& one) {
  const std::string word = one.event == "finish"  ? "finished"
                           : one.event == "fail"  ? "failed"
                           : one.event == "start" ? "started"
                           : one.event == "best"  ? "new best"
                                                  : one.event;
  return cut(one.experiment + (one.run.empty() ? "" : " " + one.run) + ": " + word, kMostTitle);
}

std::string slack_body(const Notification& one) {
  Ordered fields = Ordered::array();
  for (const auto& [name, value] : fields_of(one))
    fields.push_back({{"type", "mrkdwn"}, {"text", "*" + escaped(name) + "*\n" + escaped(value)}});
  Ordered blocks = Ordered::array({{{"type", "header"}, {"text", {{"type", "plain_text"}, {"text", title_of(one)}}}}});
  if (!fields.empty()) blocks.push_back({{"type", "section"}, {"fields", fields}});
  return dumped({{"text", escaped(title_of(one))}, {"blocks", blocks}});
}

std::string teams_body(const Notification& one) {
  Ordered facts = Ordered::array();
  for (const auto& [name, value] : fields_of(one)) facts.push_back({{"title", name}, {"value", value}});
  const Ordered card = {
      {"$schema", "http://adaptivecards.io/schemas/adaptive-card.json"},
      {"type", "AdaptiveCard"},
      {"version", "1.4"},
      {"body",
       Ordered::array(
           {{{"type", "TextBlock"}, {"text", title_of(one)}, {"weight", "Bolder"}, {"size", "Medium"}, {"wrap", true}},
            {{"type", "FactSet"}, {"facts", facts}}})}};
  return dumped({{"type", "message"},
                 {"attachments",
                  Ordered::array({{{"contentType", "application/vnd.microsoft.card.adaptive"}, {"content", card}}})}});
}

std::string discord_body(const Notification& one) {
  Ordered fields = Ordered::array();
  for (const auto& [name, value] : fields_of(one))
    fields.push_back({{"name", name}, {"value", cut(value, 1000)}, {"inline", name != "reason"}});
  return dumped({{"content", title_of(one)},
                 {"embeds", Ordered::array({{{"title", title_of(one)}, {"fields", fields}}})},
                 {"allowed_mentions", {{"parse", Ordered::array()}}}});
}

std::string plain_body(const Notification& one) {
  Ordered metrics = Ordered::object();
  // JSON has no number for what is none.
  for (const auto& [name, value] : one.metrics)
    metrics[name] = std::isfinite(value) ? Ordered(value) : Ordered(nullptr);
  Ordered body = {{"experiment", one.experiment}, {"run", one.run},   {"event", one.event},
                  {"epoch", one.epoch},           {"step", one.step}, {"metrics", metrics}};
  if (!one.reason.empty()) body["reason"] = one.reason;
  body["host"] = one.host;
  body["time"] = one.time;
  return dumped(body);
}

std::string discord_message_id(const std::string& answer) {
  const nlohmann::json json = try_json(answer);
  if (!json.is_object() || !json.contains("id") || !json["id"].is_string()) return "";
  const std::string id = json["id"];
  return std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; }) ? id : "";
}

}  // namespace ltr::doors
