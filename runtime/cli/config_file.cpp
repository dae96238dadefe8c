#include "runtime/cli/config_file.h"

#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace ltr::cli {

namespace {

using Json = nlohmann::json;

Str text_of_json(const Json& value) {
  if (value.is_string()) return value.get<Str>();
  if (value.is_null()) return "none";
  return value.dump();
}

void walk(const Json& object, const Str& prefix, const Str& file, RunSettings& settings) {
  for (const auto& [name, value] : object.items()) {
    const Str path = prefix + name;
    if (value.is_object() && value.contains("value")) {
      // In a run's file a dotted setting mostly follows from hparams: only what somebody gave is given again.
      const Str from = value.value("from", "flag");
      const bool is_derived = from == "default" || from == "experiment";
      if (is_derived && path.find('.') != Str::npos) continue;
      settings.give(path, {text_of_json(value["value"]), "file", file, path});
    } else if (value.is_object()) {
      walk(value, path + ".", file, settings);
    } else {
      settings.give(path, {text_of_json(value), "file", file, path});
    }
  }
}

}  // namespace

void read_config(const Str& path, RunSettings& settings) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw error_at({}, err::bad_config_file, path, "cannot be read");
  try {
    const Json json = Json::parse(text.str());
    if (!json.is_object()) throw error_at({}, err::bad_config_file, path, "is no JSON object");
    walk(json, "", path, settings);
  } catch (const Json::exception& error) {
    throw error_at({}, err::bad_config_file, path, error.what());
  }
}

}  // namespace ltr::cli
