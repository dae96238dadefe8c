#include "runtime/cli/config_file.h"

#include <algorithm>
#include <system_error>

#include "doors/file.h"
#include "doors/json.h"
#include "runtime/api/long_lived.h"

namespace ltr::cli {

namespace {

using Json = nlohmann::json;

Str text_of_json(const Json& value) {
  if (value.is_string()) return value.get<Str>();
  if (value.is_null()) return "none";
  return value.dump();
}

class ConfigFile {
 public:
  ConfigFile(const Str& text, const Str& path, RunSettings& settings) : text_(text), path_(path), settings_(settings) {}

  void give_all() {
    Json json;
    try {
      json = doors::parse_json(text_, path_, places_);
    } catch (const doors::FormatError& error) {
      throw error_at(at_byte(error.offset), err::bad_config_file, path_, error.reason);
    }
    if (!json.is_object()) throw error_at({}, err::bad_config_file, path_, "is no JSON object");
    walk(json, "");
  }

 private:
  Location at_byte(uint64_t byte) const {
    const auto begin = text_.begin(), end = begin + ptrdiff_t(std::min<uint64_t>(byte, text_.size()));
    const auto line = std::find(std::make_reverse_iterator(end), std::make_reverse_iterator(begin), '\n').base();
    return {long_lived(path_), int32_t(1 + std::count(begin, end, '\n')), int32_t(1 + (end - line))};
  }

  void walk(const Json& object, const Str& prefix) {
    for (const auto& [name, value] : object.items()) {
      const Str path = prefix + name;
      if (value.is_object() && value.contains("value")) {
        // In a run's file a dotted setting mostly follows from hparams: only what somebody gave is given again.
        const Str from = value.contains("from") && value["from"].is_string() ? value["from"].get<Str>() : "flag";
        const bool is_derived = from == "default" || from == "experiment";
        if (is_derived && path.find('.') != Str::npos) continue;
        give(path, value["value"]);
      } else if (value.is_object()) {
        walk(value, path + ".");
      } else {
        give(path, value);
      }
    }
  }

  void give(const Str& path, const Json& value) {
    const auto found = places_.find(path);
    const Location place = found == places_.end() ? Location() : at_byte(found->second);
    // `trainer.epochs` and the `epochs` of a `trainer` are one.
    if (!given_.insert(path).second)
      throw error_at(place, err::bad_config_file, path_, fmt::format("the setting {} is given twice", path));
    settings_.give(path, {text_of_json(value), "file", fmt::format("{}:{}", path_, place.line), path, place});
  }

  const Str& text_;
  const Str& path_;
  RunSettings& settings_;
  doors::JsonPlaces places_;
  std::set<Str> given_;
};

}  // namespace

Str read_config(const Str& path) {
  try {
    return doors::read_file(path);
  } catch (const std::system_error&) {
    throw error_at({}, err::bad_config_file, path, "cannot be read");
  } catch (const doors::FormatError& error) {
    throw error_at({}, err::bad_config_file, path, error.placed());
  }
}

void give_config(const Str& text, const Str& path, RunSettings& settings) {
  ConfigFile(text, path, settings).give_all();
}

}  // namespace ltr::cli
