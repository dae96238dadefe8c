#include "doors/notification.h"

#include <doctest/doctest.h>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ltr::doors {

namespace {

Notification example() {
  return {.experiment = "mnist",
          .run = "0007-baseline",
          .event = "best",
          .epoch = 3,
          .step = 168,
          .metrics = {{"val.loss", 0.25}, {"train.loss", NAN}},
          .fields = {{"epoch", "3 of 8"}, {"val.loss", "0.25 <best> & last"}},
          .reason = "",
          .host = "node1",
          .time = "2026-11-21T01:02:03Z"};
}

}  // namespace

TEST_CASE("slack: a header, fields, and no character that begins markup") {
  const auto body = nlohmann::json::parse(slack_body(example()));
  CHECK(body["text"] == "mnist 0007-baseline: new best");
  CHECK(body["blocks"][0]["text"]["type"] == "plain_text");
  CHECK(body["blocks"][1]["fields"][1]["text"] == "*val.loss*\n0.25 &lt;best&gt; &amp; last");
  Notification many = example();
  for (int i = 0; i < 20; i++) many.fields.emplace_back("f", std::string(5000, 'x'));
  const auto full = nlohmann::json::parse(slack_body(many));
  CHECK(full["blocks"][1]["fields"].size() == 10);
  CHECK(full["blocks"][1]["fields"][9]["text"].get<std::string>().size() < 2000);
  Notification bare = example();
  bare.fields.clear();
  CHECK(nlohmann::json::parse(slack_body(bare))["blocks"].size() == 1);
}

TEST_CASE("teams: an adaptive card") {
  const auto body = nlohmann::json::parse(teams_body(example()));
  CHECK(body["type"] == "message");
  CHECK(body["attachments"][0]["contentType"] == "application/vnd.microsoft.card.adaptive");
  CHECK(body["attachments"][0]["content"]["version"] == "1.4");
  CHECK(body["attachments"][0]["content"]["body"][1]["facts"][0]["value"] == "3 of 8");
}

TEST_CASE("discord: fields, and nobody is mentioned") {
  Notification failed = example();
  failed.event = "fail";
  failed.reason = "R4001: the loss is nan";
  const auto body = nlohmann::json::parse(discord_body(failed));
  CHECK(body["content"] == "mnist 0007-baseline: failed");
  CHECK(body["embeds"][0]["fields"][0]["value"] == "R4001: the loss is nan");
  CHECK(body["allowed_mentions"]["parse"].empty());
  CHECK(discord_message_id(R"({"id": "123", "content": ""})") == "123");
  for (const char* other : {"", "[]", "{\"id\": 5}", R"({"id": "1/../x"})", "nonsense"})
    CHECK(discord_message_id(other) == "");
}

TEST_CASE("a plain webhook gets numbers, and null for what is none") {
  const auto body = nlohmann::json::parse(plain_body(example()));
  CHECK(body["experiment"] == "mnist");
  CHECK(body["metrics"]["val.loss"] == 0.25);
  CHECK(body["metrics"]["train.loss"].is_null());
  CHECK(body["step"] == 168);
  CHECK(body["time"] == "2026-11-21T01:02:03Z");
  CHECK(!body.contains("reason"));
  Notification odd = example();
  odd.run = "\xff\xfe";
  CHECK_NOTHROW(plain_body(odd));
}

}  // namespace ltr::doors
