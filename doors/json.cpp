#include "doors/json.h"

#include <set>
#include <vector>

#include "doors/file.h"
#include "doors/limits.h"

namespace ltr::doors {

namespace {

using Json = nlohmann::json;

/// The sentence of the library's message, without its codes and positions.
std::string reason_of(const Json::parse_error& error) {
  const std::string text = error.what();
  const size_t dash = text.rfind(" - ");
  return "no JSON: " + (dash == std::string::npos ? text.substr(text.rfind(": ") + 2) : text.substr(dash + 3));
}

}  // namespace

void bound_json(std::string_view text, const std::string& name) {
  if (text.size() > limits::kJsonBytes) {
    throw FormatError(name, limits::kJsonBytes, "JSON of more than " + std::to_string(limits::kJsonBytes) + " bytes");
  }
  size_t depth = 0;
  bool is_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_text) {
      if (c == '\\') ++i;
      is_text = c != '"';
    } else if (c == '"') {
      is_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > limits::kJsonDepth) {
        throw FormatError(name, i, "JSON nested deeper than " + std::to_string(limits::kJsonDepth));
      }
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
}

Json parse_json(std::string_view text, const std::string& name) {
  bound_json(text, name);
  // The library keeps the last of two members of one name, without a word.
  std::vector<std::set<std::string>> members;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) members.emplace_back();
    if (event == Json::parse_event_t::object_end) members.pop_back();
    if (event == Json::parse_event_t::key && !members.back().insert(value.get_ref<const std::string&>()).second) {
      throw FormatError(name, 0, "the name " + value.dump() + " stands twice in one object");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    throw FormatError(name, error.byte > 0 ? error.byte - 1 : 0, reason_of(error));
  } catch (const Json::exception& error) {
    const std::string text = error.what();  // A number that no double holds; the library's code is in front.
    throw FormatError(name, 0, text.substr(text.find("] ") + 2));
  }
}

Json try_json(std::string_view text) {
  try {
    return parse_json(text, "");
  } catch (const FormatError&) {
    return Json(Json::value_t::discarded);
  }
}

Json read_json(const std::string& path) { return parse_json(read_file(path), path); }

}  // namespace ltr::doors
