#pragma once

// Tokens that are found in a text before anything else is done to it.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ltr::doors {

struct AddedToken {
  int64_t id = 0;
  std::string text;
  bool is_word = false;                          ///< found between other characters than those of words
  bool takes_left = false, takes_right = false;  ///< with the white space beside it
};

class AddedTokens {
 public:
  void add(AddedToken token);

  /// Calls `visit(begin, end, id)` for `text` from left to right: tokens, the longest that begins first, and with id -1 what
  /// lies between them, which is not empty.
  void for_each_part(std::string_view text, const std::function<void(size_t, size_t, int64_t)>& visit) const;

 private:
  const AddedToken* find(std::string_view text, size_t at) const;

  std::array<std::vector<AddedToken>, 256> by_first_;  // By their first bytes, the longest first.
  bool is_empty_ = true;
};

}  // namespace ltr::doors
