#pragma once

// What SentencePiece makes of characters before it cuts a text: a table that training compiled.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ltr::doors {

class Charsmap {
 public:
  /// Of the bytes in base64. std::invalid_argument for what is none.
  explicit Charsmap(std::string_view base64);
  std::string normalize(std::string_view text) const;

 private:
  /// What stands for `chunk`; null if it stays as it is.
  const char* find(std::string_view chunk) const;

  std::vector<uint32_t> trie_;  // A double array, as Darts-clone lays it out.
  std::string texts_;           // Ended by zeros.
};

}  // namespace ltr::doors
