#include "runtime/cli/config_file.h"

#include <system_error>

#include "doors/file.h"
#include "doors/json.h"

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
      const Str from = value.contains("from") && value["from"].is_string() ? value["from"].get<Str>() : "flag";
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

Error misfit(const Str& path, const doors::FormatError& error) {
  return error_at({}, err::bad_config_file, path, error.placed());
}

}  // namespace

Str read_config(const Str& path) {
  try {
    return doors::read_file(path);
  } catch (const std::system_error&) {
    throw error_at({}, err::bad_config_file, path, "cannot be read");
  } catch (const doors::FormatError& error) {
    throw misfit(path, error);
  }
}

void give_config(const Str& text, const Str& path, RunSettings& settings) {
  Json json;
  try {
    json = doors::parse_json(text, path);
  } catch (const doors::FormatError& error) {
    throw misfit(path, error);
  }
  if (!json.is_object()) throw error_at({}, err::bad_config_file, path, "is no JSON object");
  walk(json, "", path, settings);
}

}  // namespace ltr::cli
