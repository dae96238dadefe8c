#include "runtime/cli/options.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/api/suggest.h"
#include "runtime/cli/config_file.h"
#include "runtime/cli/verbs.h"
#include "runtime/tables/run_names.h"

namespace ltr::cli {

namespace {

Str with_dashes(Str name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// Options of which each counts that is given.
bool is_repeatable(const Str& name) { return name == "set" || name == "config" || name == "over"; }

/// Reads one source of options: the environment or the command line.
class Parser {
 public:
  Parser(CommandLine& out, const std::vector<Str>& names, std::vector<Error>& faults, const char* from)
      : out_(out), names_(names), faults_(faults), from_(from) {}

  void run(const std::vector<Str>& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const Str& word = words[i];
      if (word == "--") continue;
      if (word == "-h") {
        out_.wants_help = true;
      } else if (word.size() > 2 && word.starts_with("--")) {
        option(words, i);
      } else if (word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0) {
        faults_.push_back(error_at({}, err::unknown_option, word + "; options begin with --"));
      } else if (out_.verb.empty() && Str(from_) == "flag") {
        out_.verb = word;
      } else {
        out_.words.push_back(word);
      }
    }
  }

 private:
  void option(const std::vector<Str>& words, size_t& i) {
    const size_t equals = words[i].find('=');
    const Str typed = words[i].substr(2, equals == Str::npos ? Str::npos : equals - 2);
    const OptionInfo* info = find_option(typed);
    const auto name = std::find_if(names_.begin(), names_.end(),
                                   [&](const Str& one) { return with_dashes(one) == with_dashes(typed); });
    const bool is_hparam = name != names_.end();
    if (info == nullptr && !is_hparam) {
      // What follows is most likely its value, not an experiment.
      if (equals == Str::npos && i + 1 < words.size() && !words[i + 1].starts_with("--")) ++i;
      return unknown(typed);
    }
    if (info != nullptr && Str(info->name) == "help") {
      out_.wants_help = true;
      return;
    }
    GivenOption given{is_hparam ? *name : Str(info->name), "", from_, "--" + typed};
    const bool is_flag = !is_hparam && info->is_flag();
    const bool is_optional = !is_hparam && info->is_optional();
    const bool has_next = i + 1 < words.size() && !words[i + 1].starts_with("--");
    if (equals != Str::npos) {
      given.value = words[i].substr(equals + 1);
      if (is_flag) faults_.push_back(error_at({}, err::wrong_type, given.shown, "given a value", "none"));
      if (is_optional && given.value.empty()) {
        const Str argument = info->argument;
        faults_.push_back(error_at({}, err::wrong_type, given.shown + "=", "given without a value",
                                   argument.substr(1, argument.size() - 2) + ", or no `=`"));
      }
    } else if (is_optional) {
      // Only a number is taken as the next word: `--fast-dev-run mnist` names an experiment.
      const bool is_number = has_next && std::isdigit(static_cast<unsigned char>(words[i + 1][0])) != 0;
      if (is_number) given.value = words[++i];
    } else if (!is_flag) {
      if (!has_next) {
        faults_.push_back(error_at({}, err::wrong_type, given.shown, "given without a value",
                                   is_hparam ? Str("one") : Str(info->argument)));
        return;
      }
      given.value = words[++i];
    }
    // Of two the later one counts, so that a command is changed by what is put behind it.
    if (!is_repeatable(given.name))
      std::erase_if(out_.options,
                    [&](const GivenOption& one) { return one.name == given.name && one.from == given.from; });
    out_.options.push_back(std::move(given));
  }

  void unknown(const Str& typed) {
    std::vector<Str> all = names_;
    for (const OptionInfo& info : option_table()) all.emplace_back(info.name);
    const Str near = nearest(typed, all);
    faults_.push_back(
        error_at({}, err::unknown_option, "--" + typed + (near.empty() ? "" : "; did you mean --" + near + "?")));
    if (!near.empty()) return;
    faults_.back().help = typed.find('.') != Str::npos
                              ? fmt::format("a setting is given by its path: --set {}=VALUE", typed)
                              : Str("a verb with --help lists its options and the hparams");
  }

  CommandLine& out_;
  const std::vector<Str>& names_;
  std::vector<Error>& faults_;
  const char* from_;
};

}  // namespace

const std::vector<OptionInfo>& option_table() {
  static const std::vector<OptionInfo> kTable = {
#define LTR_OPTION(name, argument, verbs, setting, doc) {name, argument, verbs, setting, doc},
#include "runtime/tables/options.def"
#undef LTR_OPTION
  };
  return kTable;
}

const OptionInfo* find_option(const Str& name) {
  const std::vector<OptionInfo>& table = option_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const OptionInfo& one) { return with_dashes(name) == one.name; });
  return found == table.end() ? nullptr : &*found;
}

bool OptionInfo::is_for_resumes() const { return std::strchr(verbs, '+') != nullptr; }

bool OptionInfo::belongs_to(const Str& verb) const {
  if (verbs[0] == '*') return true;
  const VerbInfo* info = find_verb(verb);
  return info != nullptr && std::strchr(verbs, info->letter) != nullptr;
}

bool CommandLine::has(const Str& name) const {
  return std::any_of(options.begin(), options.end(), [&](const GivenOption& one) { return one.name == name; });
}

Str CommandLine::get(const Str& name, const Str& otherwise) const {
  Str value = otherwise;
  for (const GivenOption& one : options) {
    if (one.name == name) value = one.value;
  }
  return value;
}

CommandLine parse_command_line(const std::vector<Str>& arguments, const Str& environment, const std::vector<Str>& names,
                               std::vector<Error>& faults) {
  CommandLine out;
  Parser(out, names, faults, "env").run(split_words(environment));
  out.words.clear();
  Parser(out, names, faults, "flag").run(arguments);
  const auto is_option = [&](const GivenOption& given) {
    return find_option(given.name) != nullptr && std::find(names.begin(), names.end(), given.name) == names.end();
  };
  // What another verb takes sets nothing, or a wrong value of it would be a second fault.
  std::erase_if(out.options, [&](const GivenOption& given) {
    const OptionInfo* info = is_option(given) ? find_option(given.name) : nullptr;
    if (info == nullptr || !info->is_served() || out.verb.empty() || info->belongs_to(out.verb) ||
        Str(given.from) != "flag")
      return false;
    faults.push_back(error_at({}, err::unknown_option, fmt::format("{} for {}", given.shown, out.verb)));
    return true;
  });
  for (GivenOption& given : out.options) {
    if (!is_option(given)) continue;
    if (!find_option(given.name)->is_served())
      faults.push_back(error_at({}, err::settings_contradict, given.shown + " is not served by this version"));
    // It becomes part of the name of a folder.
    if (given.name == "name" && (given.value.find('/') != Str::npos || given.value.size() > kLongestRunName))
      faults.push_back(error_at({}, err::wrong_type, given.shown, given.value,
                                fmt::format("a name without `/`, of {} bytes at most", kLongestRunName)));
    if (given.name != "config") continue;
    try {
      given.text = read_config(given.value);
    } catch (const Error& error) {
      faults.push_back(error);
    }
  }
  return out;
}

std::vector<Str> split_words(const Str& text) {
  std::vector<Str> words;
  Str word;
  bool is_open = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote)
        quote = '\0';
      else if (c == '\\' && quote == '"' && i + 1 < text.size())
        word += text[++i];
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      is_open = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      is_open = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (is_open) words.push_back(word);
      word.clear();
      is_open = false;
    } else {
      word += c;
      is_open = true;
    }
  }
  if (is_open) words.push_back(word);
  return words;
}

Str out_dir(const CommandLine& line) {
  const char* variable = std::getenv("LTR_OUT");
  return line.get("out", variable != nullptr && variable[0] != '\0' ? variable : "runs");
}

}  // namespace ltr::cli
