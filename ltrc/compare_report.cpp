#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "ltrc/compare.h"

namespace ltr::driver {

namespace {

std::string verdict(const Comparison& comparison) { return comparison.is_same ? "same" : "different"; }

/// A cell of a table holds one line, and no bar.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::string human_report(const std::vector<Comparison>& comparisons) {
  std::string out;
  for (const Comparison& comparison : comparisons) {
    out += fmt::format("{}: {}\n", verdict(comparison), comparison.name);
    std::string section;
    for (const Change& change : comparison.changes) {
      if (change.section != section) out += "  " + (section = change.section) + "\n";
      out += "    " + change.name + ": ";
      if (change.section == "code") {
        out += change.after;
      } else if (change.before.empty()) {
        out += "new, " + change.after;
      } else if (change.after.empty()) {
        out += "gone, was " + change.before;
      } else {
        const bool is_long = change.before.size() + change.after.size() > 90;
        out += is_long ? fmt::format("\n      - {}\n      + {}", change.before, change.after)
                       : change.before + " -> " + change.after;
      }
      if (!change.effect.empty()) out += "  (" + change.effect + ")";
      out += "\n";
    }
    for (const std::string& note : comparison.without_effect) out += "  without effect: " + note + "\n";
  }
  return out;
}

std::string markdown_report(const std::vector<Comparison>& comparisons) {
  std::string out;
  for (const Comparison& comparison : comparisons) {
    out += fmt::format("{}**{}: {}**\n", out.empty() ? "" : "\n", comparison.name, verdict(comparison));
    if (!comparison.changes.empty()) out += "\n| what | before | after | effect |\n|---|---|---|---|\n";
    for (const Change& change : comparison.changes) {
      const std::string name = change.section == "model" ? change.name : change.section + " " + change.name;
      out += fmt::format("| {} | {} | {} | {} |\n", cell(name), cell(change.before), cell(change.after),
                         cell(change.effect));
    }
    for (const std::string& note : comparison.without_effect) out += fmt::format("\nWithout effect: {}\n", note);
  }
  return out;
}

std::string json_report(const std::vector<Comparison>& comparisons) {
  nlohmann::ordered_json json;
  bool is_same = true;
  json["verdict"] = "";
  json["experiments"] = nlohmann::ordered_json::array();
  for (const Comparison& comparison : comparisons) {
    nlohmann::ordered_json one;
    one["name"] = comparison.name;
    one["verdict"] = verdict(comparison);
    one["before"] = comparison.hash_before;
    one["after"] = comparison.hash_after;
    one["changes"] = nlohmann::ordered_json::array();
    for (const Change& change : comparison.changes) {
      one["changes"].push_back({{"section", change.section},
                                {"name", change.name},
                                {"before", change.before},
                                {"after", change.after},
                                {"effect", change.effect}});
    }
    one["without_effect"] = comparison.without_effect;
    json["experiments"].push_back(std::move(one));
    is_same = is_same && comparison.is_same;
  }
  json["verdict"] = is_same ? "same" : "different";
  return json.dump(2) + "\n";
}

}  // namespace ltr::driver
