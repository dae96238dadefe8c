#pragma once

// Paths of weights as messages show them.

#include <string>
#include <vector>

namespace ltr::training_logic {

/// `net.body` of `net.body.*.weight`: an element that stands for all is not named.
std::string shown_path(std::string path);
/// `net.body[0]` of `net.body.0`, as a program says it.
std::string code_of(const std::string& path);
/// `path` with `*` where `pattern` has it for an element of a list.
std::string as_of_any(const std::string& path, const std::string& pattern);
/// `flow.steps.*.shift` for what several elements of a list have in common.
std::vector<std::string> joined_elements(const std::vector<std::string>& paths);

}  // namespace ltr::training_logic
