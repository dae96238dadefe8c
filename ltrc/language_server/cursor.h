#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/lex/token.h"

namespace ltr::language_server {

/// What stands around a place in a text that may be half written, told by its tokens alone.
struct Cursor {
  /// An open `(` with a name before it.
  struct Call {
    std::string callee;
    uint32_t callee_begin = 0;
    bool takes_receiver = false;     ///< `x.f(`, `x |> f(`: the first parameter is given already
    uint32_t position = 0;           ///< commas before the place
    std::string argument;            ///< the name of the argument the place is in, if it has one
    bool is_value = false;           ///< behind its `=`
    std::vector<std::string> given;  ///< names of the arguments before
  };

  uint32_t word_begin = 0;          ///< where the name begins that is being written; the place if none
  std::string word;                 ///< its part before the place
  std::vector<std::string> dotted;  ///< the names before it: of `val.ac` `val`; the nearest last
  bool after_dot = false;
  uint32_t dot = 0;                             ///< offset of that `.`
  std::vector<std::string> braces;              ///< first words of what opened each `{`, the innermost last
  std::optional<Call> call;                     ///< the innermost, if it is inside the innermost brace
  bool in_brackets = false;                     ///< an open `[` is the innermost bracket
  std::string setting;                          ///< in `NAME = …` of an entry: the name
  bool starts_entry = false;                    ///< nothing of the entry stands before the word
  lex::TokenKind before = lex::TokenKind::End;  ///< the token before the word
  std::string before_text;
  std::string entry_first;  ///< the first word of the entry, `import`, `log`, `on` …
  bool in_comment = false;
  bool in_text = false;  ///< in a comment or string: nothing is completed
};

Cursor cursor_at(std::string_view text, uint32_t offset);

/// The text with the name that is being written at `offset` blanked out, behind a `.` with it.
std::string without_word(std::string text, uint32_t offset);

}  // namespace ltr::language_server
