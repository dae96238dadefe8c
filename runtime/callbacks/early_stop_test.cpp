#include "runtime/callbacks/early_stop.h"

#include <doctest/doctest.h>

#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

namespace ltr {

namespace {

double value_of(const nlohmann::json& json) {
  if (json.is_number()) return json.get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  return json == "nan" ? std::numeric_limits<double>::quiet_NaN() : json == "inf" ? infinity : -infinity;
}

EarlyStop early_stop_of(const nlohmann::json& settings) {
  std::vector<Argument> arguments = {{"monitor", Value(Str("val.loss"))}};
  for (const char* name : {"patience", "min_delta", "check_finite", "threshold", "divergence"}) {
    if (!settings.contains(name)) continue;
    const nlohmann::json& value = settings.at(name);
    arguments.push_back({name, value.is_boolean()          ? Value(value.get<bool>())
                               : value.is_number_integer() ? Value(value.get<int64_t>())
                                                           : Value(value.get<double>())});
  }
  return EarlyStop(Value::call("EarlyStop", std::move(arguments), {}), settings.at("mode") == "max");
}

}  // namespace

// tests/parity/early_stop.json is made by record_early_stop.py with Lightning.
TEST_CASE("EarlyStop stops at the value at which Lightning does, in 200 sequences") {
  std::ifstream file(LTR_SOURCE_DIR "/tests/parity/early_stop.json");
  REQUIRE(file);
  const nlohmann::json cases = nlohmann::json::parse(file);
  REQUIRE(cases.size() == 200);
  for (const nlohmann::json& one : cases) {
    CAPTURE(one.dump());
    EarlyStop early = early_stop_of(one.at("settings"));
    int64_t stops = -1, place = 0;
    for (const nlohmann::json& value : one.at("values")) {
      if (!early.take(value_of(value)).empty()) {
        stops = place;
        break;
      }
      ++place;
    }
    CHECK(stops == one.at("stops").get<int64_t>());
  }
}

TEST_CASE("what was no number so far is told as that") {
  EarlyStop early = early_stop_of({{"mode", "min"}, {"patience", 2}, {"check_finite", false}});
  CHECK(early.take(std::numeric_limits<double>::quiet_NaN()).empty());
  CHECK(early.take(std::numeric_limits<double>::quiet_NaN()) == "val.loss had no number for 2 rounds");
}

}  // namespace ltr
