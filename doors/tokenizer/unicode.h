#pragma once

// What the tokenizers ask of characters, by utf8proc. All texts are UTF-8; what is none is U+FFFD.

#include <cstddef>
#include <string>
#include <string_view>

namespace ltr::doors {

/// The character at byte `at`, which then is behind it.
char32_t next_char(std::string_view text, size_t& at);
void append_char(std::string& text, char32_t c);
/// `text`, with U+FFFD for each part of it that is no UTF-8.
std::string valid_utf8(std::string_view text);
/// Bytes of the character that begins with `first`, of valid UTF-8.
size_t char_bytes(char first);

/// Unicode's White_Space.
bool is_space(char32_t c);
/// General category C: controls, formats, what is not assigned.
bool is_other(char32_t c);
bool is_mark(char32_t c);
bool is_nonspacing_mark(char32_t c);
/// General category P, and all of ASCII that is neither letter, digit nor space.
bool is_punctuation(char32_t c);
/// General category N.
bool is_numeric(char32_t c);
/// Letters, marks, digits, and what joins them.
bool is_word(char32_t c);

enum class Form { Nfc, Nfd, Nfkc, Nfkd };
std::string normal_form(std::string_view text, Form form);
/// Character by character: a final sigma is as any other.
std::string lowercase(std::string_view text);

}  // namespace ltr::doors
