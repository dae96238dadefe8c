#include "doors/json.h"

#include <algorithm>
#include <iterator>
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

/// Reads a text, and tells how far it has come.
class Reading {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reading(const char* at, const char*& seen) : at_(at), seen_(&seen) {}
  reference operator*() const { return *at_; }
  Reading& operator++() {
    *seen_ = ++at_;
    return *this;
  }
  bool operator==(const Reading& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** seen_;
};

/// Follows the members of a value as it is read.
class Members {
 public:
  Members(std::string_view text, const std::string& name, JsonPlaces& places)
      : text_(text), name_(name), places_(places) {}
  const char*& seen() { return seen_; }
  void open() { objects_.emplace_back(); }
  void close() { objects_.pop_back(); }
  /// The library keeps the last of two members of one name, without a word.
  void key(const nlohmann::json& key) {
    const std::string& word = key.get_ref<const std::string&>();
    const uint64_t end = uint64_t(seen_ - text_.data()), length = key.dump().size(), at = end - std::min(end, length);
    if (!objects_.back().names.insert(word).second)
      throw FormatError(name_, at, "the name " + key.dump() + " stands twice in one object");
    const std::string around = objects_.size() > 1 ? objects_[objects_.size() - 2].path : "";
    objects_.back().path = around.empty() ? word : around + "." + word;
    places_.emplace(objects_.back().path, at);
  }

 private:
  struct Object {
    std::set<std::string> names;
    std::string path;  ///< of the member that is read
  };
  std::string_view text_;
  const std::string& name_;
  JsonPlaces& places_;
  const char* seen_ = text_.data();
  std::vector<Object> objects_;
};

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

namespace {

/// What `parse` makes of `text`, within bounds; the library's faults as FormatError.
template <class Parse>
Json parsed(std::string_view text, const std::string& name, const Parse& parse) {
  bound_json(text, name);
  try {
    return parse();
  } catch (const Json::parse_error& error) {
    throw FormatError(name, error.byte > 0 ? error.byte - 1 : 0, reason_of(error));
  } catch (const Json::exception& error) {
    const std::string text = error.what();  // A number that no double holds; the library's code is in front.
    throw FormatError(name, 0, text.substr(text.find("] ") + 2));
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  // The library keeps the last of two members of one name, without a word.
  std::vector<std::set<std::string>> members;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) members.emplace_back();
    if (event == Json::parse_event_t::object_end) members.pop_back();
    if (event == Json::parse_event_t::key && !members.back().insert(value.get_ref<const std::string&>()).second) {
      JsonPlaces places;  // Data are many rows: where it stands is looked up for the one that is wrong.
      parse_json(text, name, places);
    }
    return true;
  };
  return parsed(text, name, [&] { return Json::parse(text, watch); });
}

Json parse_json(std::string_view text, const std::string& name, JsonPlaces& places) {
  Members members(text, name, places);
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) members.open();
    if (event == Json::parse_event_t::object_end) members.close();
    if (event == Json::parse_event_t::key) members.key(value);
    return true;
  };
  return parsed(text, name, [&] {
    return Json::parse(Reading(text.data(), members.seen()), Reading(text.data() + text.size(), members.seen()), watch);
  });
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
