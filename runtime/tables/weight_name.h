#pragma once

// Names of weights. Plain C++, since the compiler calls them as the program does.

#include <algorithm>
#include <string>

namespace ltr {

/// What a weight at the place `path` is called, in files, in patterns and to people. A private member leaves no segment:
/// it stands behind the name of the weight, the number of a list behind its first word. So `rnn._l.0.weight_ih` is
/// `rnn.weight_ih_l0`, and `_l_reverse` gives `weight_ih_l0_reverse`, as PyTorch calls them. A `*` in a path stands for
/// all numbers of a list.
inline std::string weight_name(const std::string& path) {
  if (path[0] != '_' && path.find("._") == std::string::npos) return path;
  std::string shown, ending;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    std::string segment = path.substr(begin, end - begin);
    begin = end + 1;
    if (segment[0] != '_' || end == path.size()) {
      shown += (shown.empty() ? "" : ".") + segment;
      continue;
    }
    const size_t number_end = std::min(path.find('.', begin), path.size());
    const bool is_list = begin < path.size() && (path[begin] == '*' || (path[begin] >= '0' && path[begin] <= '9'));
    if (is_list) {
      segment.insert(std::min(segment.find('_', 1), segment.size()), path.substr(begin, number_end - begin));
      begin = number_end + 1;
    }
    ending += segment;
  }
  return shown + ending;
}

}  // namespace ltr
