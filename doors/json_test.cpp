#include "doors/json.h"

#include <doctest/doctest.h>

#include "doors/file.h"
#include "doors/limits.h"

namespace ltr::doors {

namespace {

std::string json_refusal(const std::string& text) {
  try {
    parse_json(text, "x.json");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("a name that stands twice in one object is refused, in two objects it may") {
  CHECK(json_refusal("{\"a\": 1, \"b\": {\"a\": 2}, \"a\": 3}").ends_with("the name \"a\" stands twice in one object"));
  CHECK(json_refusal("[{\"a\": 1}, {\"a\": {\"a\": 2}}]").empty());
}

TEST_CASE("members have places") {
  JsonPlaces places;
  const std::string text = "{\"a\": 1,\n \"b\" : {\"c\": [{\"d\": 2}], \"e\": 3}, \"f\": 4}";
  parse_json(text, "x.json", places);
  for (const auto& [path, byte] : places) CHECK(text.substr(byte, 3) == "\"" + path.substr(path.rfind('.') + 1) + "\"");
  CHECK(places.size() == 6);
  CHECK(places.contains("b.c.d"));
  CHECK(json_refusal("{\"a\": 1, \"a\": 3}").starts_with("x.json: at byte 9: "));
}

TEST_CASE("JSON is read to a bounded depth; brackets in text do not count") {
  CHECK(json_refusal(nested(limits::kJsonDepth)).empty());
  CHECK(json_refusal(nested(limits::kJsonDepth + 1)) == "x.json: at byte 64: JSON nested deeper than 64");
  CHECK(json_refusal(nested(100'000)) == "x.json: at byte 64: JSON nested deeper than 64");
  CHECK(FormatError("x.json", 0, "empty").what() == std::string("x.json: empty"));
  CHECK(json_refusal(std::string(100'000, '[')) == "x.json: at byte 64: JSON nested deeper than 64");
  CHECK(json_refusal("[\"" + std::string(1000, '[') + "\\\"[[\", 1]").empty());
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += "{\"a\":";
  CHECK(json_refusal(objects) == "x.json: at byte 320: JSON nested deeper than 64");
  CHECK(try_json(nested(100'000)).is_discarded());
}

TEST_CASE("what is no JSON is refused with its byte") {
  CHECK(json_refusal("[1, 2") == "x.json: at byte 5: no JSON: unexpected end of input; expected ']'");
  CHECK(json_refusal("{\"a\": tru}").starts_with("x.json: at byte "));
  CHECK(json_refusal("[1e999]") != "");
  CHECK(json_refusal("\"\xff\"") != "");
  CHECK(json_refusal("") != "");
  CHECK(try_json("{\"a\": 1}")["a"] == 1);
}

}  // namespace ltr::doors
