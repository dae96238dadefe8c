#pragma once

#include <string>

namespace ltr::doors {

/// `word` as a shell reads it back: plain, or in quotes.
std::string shell_word(const std::string& word);

}  // namespace ltr::doors
