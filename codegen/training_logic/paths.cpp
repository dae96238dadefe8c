#include "codegen/training_logic/paths.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace ltr::training_logic {

namespace {

bool is_number(std::string_view part) { return part.find_first_not_of("0123456789") == std::string_view::npos; }

}  // namespace

std::string shown_path(std::string path) {
  const size_t star = path.find(".*");
  return star == std::string::npos ? path : path.substr(0, star);
}

std::string code_of(const std::string& path) {
  std::string code;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('.', at), path.size());
    const std::string part = path.substr(at, end - at);
    const bool is_index = part == "*" || part.find_first_not_of("0123456789") == std::string::npos;
    code += is_index ? "[" + (part == "*" ? std::string("i") : part) + "]" : (at == 0 ? "" : ".") + part;
    at = end + 1;
  }
  return code;
}

std::string as_of_any(const std::string& path, const std::string& pattern) {
  std::string made;
  for (size_t at = 0, in = 0; at < path.size();) {
    const size_t end = std::min(path.find('.', at), path.size()),
                 other = std::min(pattern.find('.', in), pattern.size());
    const std::string_view part = std::string_view(path).substr(at, end - at);
    const bool is_any = in < pattern.size() && pattern.substr(in, other - in) == "*" && is_number(part);
    made += (at == 0 ? "" : ".") + (is_any ? "*" : std::string(part));
    at = end + 1;
    in = std::min(other + 1, pattern.size());
  }
  return made;
}

std::vector<std::string> joined_elements(const std::vector<std::string>& paths) {
  std::map<std::string, std::vector<std::string>> by_form;
  for (const std::string& path : paths) {
    const size_t last = path.rfind('.');
    std::string form;
    for (size_t at = 0; at < path.size();) {
      const size_t end = std::min(path.find('.', at), path.size());
      const std::string part = path.substr(at, end - at);
      form += (at == 0 ? "" : ".") + (is_number(part) && last != std::string::npos && at < last ? "*" : part);
      at = end + 1;
    }
    by_form[form].push_back(path);
  }
  std::vector<std::string> found;
  for (const auto& [form, members] : by_form) found.push_back(members.size() > 1 ? form : members[0]);
  return found;
}

}  // namespace ltr::training_logic
