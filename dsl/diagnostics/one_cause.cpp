#include "dsl/diagnostics/one_cause.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

// Several messages that one line is the cause of. Which they are is told by their labels: two that point at one declaration, one
// rule or one hook speak of it.
namespace ltr::diagnostics {

namespace {

const Label* find_tie(const Diagnostic& one, Tie tie) {
  const auto label = std::ranges::find(one.labels, tie, &Label::tie);
  return label != one.labels.end() ? &*label : nullptr;
}

bool has_place(const Diagnostic& one, Span span) {
  return one.span == span || std::ranges::any_of(one.labels, [&](const Label& label) { return label.span == span; });
}

void erase(std::vector<Diagnostic>& told, const std::vector<bool>& is_joined) {
  std::vector<Diagnostic> out;
  for (size_t i = 0; i < told.size(); ++i) {
    if (!is_joined[i]) out.push_back(std::move(told[i]));
  }
  told = std::move(out);
}

/// What follows on messages with the code `cause`: `join` makes a label there of one that does, and says whether it did.
struct Rule {
  Code cause;
  bool (*join)(const Diagnostic& one, Diagnostic& cause);
};

/// Drops each message that follows on another one.
void join_each(std::vector<Diagnostic>& told, const Rule& rule) {
  std::vector<size_t> causes;  // Mostly none, of many messages.
  for (size_t i = 0; i < told.size(); ++i) {
    if (told[i].code == rule.cause) causes.push_back(i);
  }
  if (causes.empty()) return;
  std::vector<bool> is_joined(told.size());
  for (size_t i = 0; i < told.size(); ++i) {
    for (const size_t j : causes) {
      if (is_joined[i]) break;
      is_joined[i] =
          i != j && !is_joined[j] && told[i].span.source == told[j].span.source && rule.join(told[i], told[j]);
    }
  }
  erase(told, is_joined);
}

/// A word of the language that is given a value is read as that word wherever it was meant as the name.
bool is_read_as_word(const Diagnostic& one, Diagnostic& named) {
  if (named.helps.empty() || named.span.begin >= one.span.begin) return false;
  const std::string& word = named.words[0];
  if (one.code == Code::E0210 && one.message == named.message) {
    named.label(one.span, "here, too");
    return true;
  }
  return one.code == Code::E0201 && one.words[1] == "`" + word + "`";
}

/// `self.net` where no member is called so, as in a callback, whose model has it.
bool is_of_self(const Diagnostic& one, Diagnostic& python) {
  const bool is_self = one.code == Code::E0301 && python.words[0] == "self." && one.span.begin == python.span.end;
  if (is_self) python.helps.insert(python.helps.end(), one.helps.begin(), one.helps.end());
  return is_self;
}

/// A mesh that has too few places, as it lacks an axis.
bool is_of_mesh(const Diagnostic& one, Diagnostic& mesh) {
  if (one.code != Code::E0615 || !has_place(one, mesh.span)) return false;
  mesh.label(one.span, "nor has it an axis `{}`", one.words[0]);
  return true;
}

/// A field that the stream of a map lacks, and what is known of its records, too.
bool is_of_lost_field(const Diagnostic& one, Diagnostic& map) {
  if (one.code != Code::E0308 || !one.words[0].starts_with("facts of {")) return false;
  const std::string field = one.words[1] + ": ";
  const auto holds = [&](const std::string& record) {
    return record.find("{" + field) != std::string::npos || record.find(", " + field) != std::string::npos;
  };
  if (!holds(map.words[1]) || holds(map.words[2])) return false;
  map.label(one.span, "nor do the facts have it");
  return true;
}

/// A value with dims that is logged, of which the loss is computed that has these dims.
bool is_of_loss(const Diagnostic& one, Diagnostic& loss) {
  if (one.code != Code::E0313 || !one.words[0].starts_with("`log` takes")) return false;
  const bool is_same = std::ranges::any_of(one.labels, [&](const Label& label) {
    return std::ranges::any_of(
        loss.labels, [&](const Label& own) { return own.span == label.span && own.message == label.message; });
  });
  if (is_same) loss.label(one.span, "nor is this one number");
  return is_same;
}

/// `vocab == D`, asked for where what begins a list has other dims than those that its elements give.
bool is_of_list(const Diagnostic& one, Diagnostic& list) {
  if (one.code != Code::E0303) return false;
  const size_t equal = one.rule.find(" == ");
  if (equal == std::string::npos) return false;
  const std::string left = one.rule.substr(0, equal), right = one.rule.substr(equal + 4);
  const std::string &taken = list.words[0], &given = list.words[1];
  const auto ends = [](const std::string& type, const std::string& dim) {
    return type.ends_with(" " + dim + "]") || type.ends_with("[" + dim + "]");
  };
  if (!(ends(taken, left) && ends(given, right)) && !(ends(taken, right) && ends(given, left))) return false;
  const Label* place = find_tie(one, Tie::Required);
  list.label(place != nullptr ? place->span : one.span, "here `{}` is asked for, too", one.rule);
  return true;
}

/// Messages of one code that are tied to one place: the first is told, with `told_with` of each other one.
void join_of_place(std::vector<Diagnostic>& told, Code code, Tie tie,
                   std::string (*told_with)(const Diagnostic& one, const Diagnostic& first)) {
  std::map<Span, std::vector<size_t>> by_place;
  for (size_t i = 0; i < told.size(); ++i) {
    if (told[i].code != code) continue;
    const Label* place = find_tie(told[i], tie);
    if (place != nullptr) by_place[place->span].push_back(i);
  }
  std::vector<bool> is_joined(told.size());
  for (auto& [place, indices] : by_place) {
    std::ranges::stable_sort(indices, {}, [&](size_t index) { return told[index].span.begin; });
    Diagnostic& first = told[indices[0]];
    for (const size_t index : indices) {
      if (told[index].span.begin == first.span.begin) continue;
      first.label(told[index].span, "{}", told_with(told[index], first));
      is_joined[index] = true;
    }
  }
  erase(told, is_joined);
}

/// Stages of several streams that all stand behind one `collate`.
std::string told_with_stage(const Diagnostic& one, const Diagnostic& first) {
  return one.message == first.message ? "here, too" : "nor here: " + one.message;
}

/// Parts of one tensor that was cut along the wrong axis.
std::string told_with_part(const Diagnostic&, const Diagnostic&) { return "nor does it fit here"; }

/// Several names that one hook does not bring.
void join_names_of_hook(std::vector<Diagnostic>& told) {
  std::map<Span, std::vector<size_t>> by_hook;
  for (size_t i = 0; i < told.size(); ++i) {
    const Label* hook = find_tie(told[i], Tie::Hook);
    if (told[i].code == Code::E0301 && hook != nullptr && !told[i].notes.empty()) by_hook[hook->span].push_back(i);
  }
  std::vector<bool> is_joined(told.size());
  for (const auto& [hook, indices] : by_hook) {
    Diagnostic& whole = told[indices[0]];
    std::vector<std::string> common = whole.listed, names = {whole.words[0]};
    for (const size_t index : indices) {
      const std::vector<std::string>& hooks = told[index].listed;
      std::erase_if(common, [&](const std::string& one) { return std::ranges::find(hooks, one) == hooks.end(); });
    }
    if (common.empty()) continue;  // They belong into several hooks.
    for (const size_t index : indices) {
      if (index == indices[0]) continue;
      const std::string& name = told[index].words[0];
      const bool is_new = std::ranges::find(names, name) == names.end();
      whole.label(told[index].span, "{}", is_new ? "nor `" + name + "`" : "here, too");
      if (is_new) names.push_back(name);
      is_joined[index] = true;
    }
    if (names.size() == 1) continue;
    whole.message = "there is no";
    for (size_t i = 0; i < names.size(); ++i) whole.message += (i == 0 ? " `" : " and no `") + names[i] + "`";
    whole.message += " here";
    std::string list;
    for (const std::string& one : common) list += (list.empty() ? "" : ", ") + one;
    whole.notes[0] = (names.size() == 2 ? "hooks that bring both: " : "hooks that bring all of them: ") + list;
  }
  erase(told, is_joined);
}

/// What a message says of the name that it begins with; all of it, if it begins with none.
std::string behind_name(const std::string& message) {
  return message.starts_with('`') ? message.substr(message.find('`', 1) + 1) : message;
}

/// What several uses of a block say of one number that it is built with: the same sizes, or the same rule with the same values.
void join_of_builder(std::vector<Diagnostic>& told) {
  std::map<std::pair<Span, std::string>, size_t> first_of;
  std::vector<bool> is_joined(told.size());
  for (size_t i = 0; i < told.size(); ++i) {
    const Diagnostic& one = told[i];
    const Label* built = find_tie(one, Tie::Built);
    // What a function declares to give may be the mistake of each: such a message begins with no name.
    const bool is_size = one.code == Code::E0303 && one.message.starts_with('`');
    if (built == nullptr || (!is_size && one.code != Code::E0319)) continue;
    const auto [known, is_first] =
        first_of.try_emplace({built->span, is_size ? behind_name(one.message) : one.message}, i);
    if (is_first || told[known->second].span.source != one.span.source) continue;
    told[known->second].label(one.span, "{}",
                              one.message == told[known->second].message ? "here, too" : "nor does it fit here");
    is_joined[i] = true;
  }
  erase(told, is_joined);
}

/// What does not fit a type that is declared in one place, which may be the mistake.
void join_of_declaration(std::vector<Diagnostic>& told) {
  std::map<Span, size_t> first_of;
  std::vector<bool> is_joined(told.size());
  for (size_t i = 0; i < told.size(); ++i) {
    const Label* declared = find_tie(told[i], Tie::Declared);
    if (told[i].severity != Severity::Error || declared == nullptr) continue;
    const auto [known, is_first] = first_of.try_emplace(declared->span, i);
    Diagnostic& first = told[known->second];
    // Of a map it is the stream that may be wrong, and facts that a type has not are each a mistake, unless it fits nowhere.
    const bool is_of_map = told[i].code == Code::E0507 || first.code == Code::E0507;
    const bool are_facts = told[i].code == Code::E0308 && first.code == Code::E0308;
    if (is_first || ((is_of_map || are_facts) && told[i].message != first.message)) continue;
    first.label(told[i].span, "{}", told[i].message == first.message ? "here, too" : "nor here: " + told[i].message);
    is_joined[i] = true;
  }
  erase(told, is_joined);
}

/// A rule that does not hold with what several experiments or trials give: the use that asks for it is told, once.
void join_of_rule(std::vector<Diagnostic>& told) {
  const auto asked_at = [](const Diagnostic& one) {
    const Label* use = find_tie(one, Tie::AskedBy);
    return use != nullptr ? use->span : one.span;
  };
  // The second word says who gives what.
  const auto is_of_experiment = [](const Diagnostic& one) { return one.words[1].starts_with("experiment `"); };
  std::map<Span, std::vector<size_t>> by_use;
  std::map<Span, Span> within;  // of rules that are told with the one before
  for (const Diagnostic& one : told) {
    if (one.code != Code::E0319 || !is_of_experiment(one)) continue;
    for (const Label& label : one.labels) {
      if (label.tie == Tie::OtherRule) within.emplace(label.span, asked_at(one));
    }
  }
  for (size_t i = 0; i < told.size(); ++i) {
    if (told[i].code != Code::E0319) continue;
    const bool is_trial = told[i].words[1].starts_with("a trial may have `") && asked_at(told[i]) != told[i].span;
    const bool is_of_all_trials = told[i].words[1].starts_with("no trial of the sweep ");
    if (!is_of_experiment(told[i]) && !is_trial && !is_of_all_trials) continue;
    const Span use = asked_at(told[i]);
    by_use[within.contains(use) ? within.at(use) : use].push_back(i);
  }
  std::vector<bool> is_joined(told.size());
  for (const auto& [use, indices] : by_use) {
    if (indices.size() == 1) continue;
    auto best = std::ranges::find_if(indices, [&](size_t index) { return told[index].span == use; });
    if (best == indices.end())
      best = std::ranges::find_if(indices, [&](size_t index) { return is_of_experiment(told[index]); });
    const size_t chosen = best != indices.end() ? *best : indices[0];
    Diagnostic& whole = told[chosen];
    if (whole.span != use) {
      std::erase_if(whole.labels, [](const Label& label) { return label.tie == Tie::AskedBy; });
      whole.labels.insert(whole.labels.begin(), {std::exchange(whole.span, use), "given here"});
    }
    for (const size_t index : indices) {
      if (index == chosen) continue;
      is_joined[index] = true;
      if (!has_place(whole, told[index].span)) whole.label(told[index].span, "and {}", told[index].words[1]);
    }
  }
  erase(told, is_joined);
}

}  // namespace

void join_of_one_cause(std::vector<Diagnostic>& told) {
  join_names_of_hook(told);
  join_of_declaration(told);
  join_of_rule(told);
  join_of_builder(told);
  constexpr Rule kRules[] = {{Code::E0210, is_read_as_word},  {Code::E0206, is_of_self}, {Code::E0614, is_of_mesh},
                             {Code::E0507, is_of_lost_field}, {Code::E0402, is_of_loss}, {Code::E0316, is_of_list}};
  for (const Rule& rule : kRules) join_each(told, rule);
  join_of_place(told, Code::E0322, Tie::Batches, told_with_stage);
  join_of_place(told, Code::E0303, Tie::Cut, told_with_part);
}

}  // namespace ltr::diagnostics
