#include "runtime/cli/secrets.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>

extern char** environ;

namespace ltr::cli {

namespace {

using View = std::string_view;
constexpr View kInstead = "[redacted]";

/// Files by name, or by how it begins or ends.
constexpr View kFiles[] = {".netrc", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials"};
constexpr View kFileBegins[] = {".env", "id_rsa", "id_ed25519", "id_ecdsa", "credentials", "secrets"};
constexpr View kFileEnds[] = {".pem", ".key", ".p12", ".pfx", ".keystore", ".kdbx"};
/// How tokens of services begin.
constexpr View kTokens[] = {"AKIA",        "ASIA",   "ghp_", "gho_",     "ghu_",     "ghs_",  "ghr_",
                            "github_pat_", "glpat-", "sk-",  "sk_live_", "rk_live_", "xoxb-", "xoxp-",
                            "xoxa-",       "xoxs-",  "hf_",  "AIza",     "pypi-",    "npm_",  "eyJ"};
/// What names of secrets hold.
constexpr View kNames[] = {"password", "passwd",     "secret",      "token",   "api_key",
                           "apikey",   "access_key", "private_key", "webhook", "credential"};

Str lower(View text) {
  Str out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return char(c == '-' ? '_' : std::tolower(c)); });
  return out;
}

template <class Names>
bool holds_any(View text, const Names& names) {
  return std::any_of(std::begin(names), std::end(names), [&](View name) { return text.find(name) != View::npos; });
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
}

/// Long, without blanks, of letters and digits: nothing that people name things by.
bool looks_random(View text) {
  constexpr size_t kLeast = 12;
  const auto has = [&](int (*kind)(int)) {
    return std::any_of(text.begin(), text.end(), [&](unsigned char c) { return kind(c) != 0; });
  };
  return text.size() >= kLeast && has(std::isdigit) && has(std::isalpha);
}

/// Values of environment variables that are named like secrets.
std::vector<Str> secret_values() {
  constexpr size_t kLeast = 8;  // shorter ones are found in every text
  std::vector<Str> values;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const View text = *variable;
    const size_t equals = text.find('=');
    if (equals == View::npos || text.size() - equals - 1 < kLeast) continue;
    const Str name = lower(text.substr(0, equals));
    if (holds_any(name, kNames) || name.ends_with("_key") || name.ends_with("_pass"))
      values.emplace_back(text.substr(equals + 1));
  }
  return values;
}

/// A line of a diff, its secrets replaced.
class Line {
 public:
  explicit Line(Str text) : text_(std::move(text)) {}

  void hide_values(const std::vector<Str>& values) {
    for (const Str& value : values) {
      for (size_t at = text_.find(value); at != Str::npos; at = text_.find(value, at + kInstead.size()))
        hide(at, value.size());
    }
  }

  void hide_tokens() {
    constexpr size_t kLeast = 16;
    for (size_t i = 0; i < text_.size();) {
      size_t end = i;
      while (end < text_.size() && is_word(text_[end])) ++end;
      const View word = View(text_).substr(i, end - i);
      const bool is_token =
          word.size() >= kLeast && looks_random(word) &&
          std::any_of(std::begin(kTokens), std::end(kTokens), [&](View begin) { return word.starts_with(begin); });
      if (is_token) end = i + hide(i, word.size());
      i = end + 1;
    }
    const size_t hook = text_.find("hooks.slack.com/services/");
    if (hook != Str::npos) hide_word(hook + View("hooks.slack.com/services/").size());
  }

  /// `https://user:password@host`.
  void hide_users() {
    for (size_t at = text_.find("://"); at != Str::npos; at = text_.find("://", at + 3)) {
      const size_t end = text_.find_first_of("@/ \"'", at + 3);
      if (end != Str::npos && text_[end] == '@') hide(at + 3, end - at - 3);
    }
  }

  /// `api_key = "…"`, `password: …`.
  void hide_assigned() {
    for (size_t at = text_.find_first_of("=:"); at != Str::npos; at = text_.find_first_of("=:", at + 1)) {
      size_t name_end = at;
      while (name_end > 0 && (text_[name_end - 1] == ' ' || text_[name_end - 1] == '"' || text_[name_end - 1] == '\''))
        --name_end;
      size_t name_begin = name_end;
      while (name_begin > 0 && is_word(text_[name_begin - 1])) --name_begin;
      if (!holds_any(lower(View(text_).substr(name_begin, name_end - name_begin)), kNames)) continue;
      const size_t value = text_.find_first_not_of(" =", at + 1);
      if (value == Str::npos) return;
      const bool is_quoted = text_[value] == '"' || text_[value] == '\'';
      const size_t begin = value + (is_quoted ? 1 : 0);
      const size_t quote = is_quoted ? text_.find(text_[value], begin) : Str::npos;
      const size_t end = quote != Str::npos ? quote : std::min(text_.find_first_of(" \t,;)}", begin), text_.size());
      const View given = View(text_).substr(begin, end - begin);
      if (given == kInstead || given.empty()) continue;
      if (is_quoted ? given.find(' ') == View::npos : looks_random(given)) hide(begin, given.size());
    }
  }

  const Str& text() const { return text_; }
  bool is_changed() const { return is_changed_; }

 private:
  size_t hide(size_t at, size_t size) {
    text_.replace(at, size, kInstead);
    is_changed_ = true;
    return kInstead.size();
  }
  void hide_word(size_t at) {
    size_t end = at;
    while (end < text_.size() && is_word(text_[end])) ++end;
    if (end > at) hide(at, end - at);
  }

  Str text_;
  bool is_changed_ = false;
};

/// The path in `diff --git a/PATH b/PATH`.
View path_of(View header) {
  const size_t at = header.rfind(" b/");
  View path = at == View::npos ? header : header.substr(at + 3);
  if (!path.empty() && path.back() == '"') path.remove_suffix(1);
  return path;
}

bool is_secret_file(View path) {
  const View name = path.substr(path.rfind('/') + 1);
  const auto any = [&](const auto& list, auto fits) { return std::any_of(std::begin(list), std::end(list), fits); };
  return any(kFiles, [&](View one) { return name == one; }) ||
         any(kFileBegins, [&](View one) { return name.starts_with(one); }) ||
         any(kFileEnds, [&](View one) { return name.ends_with(one); });
}

}  // namespace

Str redacted(const Str& diff) {
  const std::vector<Str> values = secret_values();
  Str body;
  Str notes;
  int64_t changed = 0;
  bool is_left_out = false;
  bool is_in_key = false;
  for (size_t begin = 0; begin < diff.size();) {
    const size_t end = std::min(diff.find('\n', begin), diff.size());
    const View text = View(diff).substr(begin, end - begin);
    begin = end + 1;
    if (text.starts_with("diff --git ")) {
      const View path = path_of(text);
      is_left_out = is_secret_file(path);
      is_in_key = false;
      if (is_left_out) notes += fmt::format("# left out: {} may hold secrets\n", path);
    }
    if (is_left_out) continue;
    if (text.find("-----BEGIN ") != View::npos && text.find("PRIVATE KEY") != View::npos) is_in_key = true;
    const bool is_end_of_key = text.find("-----END ") != View::npos;
    Line line{Str(text)};
    if (is_in_key && !text.empty()) {
      line = Line(Str(text.substr(0, 1)) + Str(kInstead));
      ++changed;
    } else {
      line.hide_values(values);
      line.hide_users();
      line.hide_tokens();
      line.hide_assigned();
      if (line.is_changed()) ++changed;
    }
    if (is_end_of_key) is_in_key = false;
    body += line.text() + "\n";
  }
  if (changed > 0) notes += fmt::format("# {} lines hold {} instead of what may be a secret\n", changed, kInstead);
  return notes + body;
}

}  // namespace ltr::cli
