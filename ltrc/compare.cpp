#include "ltrc/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "dsl/elaborate/elaborate.h"

namespace ltr::driver {

namespace {

using elaborate::Plan;

const check::Experiment* find_experiment(const Side& side, const std::string& name) {
  for (const check::Experiment& experiment : side.compilation.program->experiments) {
    if (experiment.name == name) return &experiment;
  }
  return nullptr;
}

/// The instances at the values that the side's program runs with.
Plan plan_of(const Side& side, const check::Experiment& experiment) {
  elaborate::Options options;
  for (const check::Hparam& hparam : side.compilation.program->hparams) {
    const auto given = side.settings.find(hparam.name);
    if (given == side.settings.end()) continue;
    if (hparam.type.kind == check::Kind::Int)
      options.hparams[hparam.name] = elaborate::Value::of_int(std::atoll(given->second.c_str()));
    if (hparam.type.kind == check::Kind::Float)
      options.hparams[hparam.name] = elaborate::Value::of_float(std::atof(given->second.c_str()));
    if (hparam.type.kind == check::Kind::Bool)
      options.hparams[hparam.name] = elaborate::Value::of_bool(given->second == "true");
  }
  return elaborate::elaborate(*side.compilation.program, experiment, options);
}

/// A block with weights of its own: `Linear weight [128, 3136], bias [128]`, and how many they are.
struct BlockRow {
  std::string text;
  int64_t weights = 0;
};

std::map<std::string, BlockRow> blocks_of(const Plan& plan) {
  std::map<std::string, BlockRow> rows;
  std::map<std::string, std::string> types;
  for (const elaborate::Object& object : plan.tree.objects) {
    if (object.kind == check::Kind::Block && object.path) types[*object.path] = object.type;
  }
  for (const elaborate::Weight& weight : plan.tree.weights) {
    const size_t dot = weight.path.rfind('.');
    const std::string block = dot == std::string::npos ? "" : weight.path.substr(0, dot);
    const std::string name = weight.path.substr(dot == std::string::npos ? 0 : dot + 1);
    BlockRow& row = rows[block.empty() ? name : block];
    std::string shape;
    for (const elaborate::Size& dim : weight.dims)
      shape += (shape.empty() ? "" : ", ") + (dim ? std::to_string(*dim) : "?");
    row.text += (row.text.empty() ? types[block] + (block.empty() ? "" : " ") : ", ") + name + " [" + shape + "]";
    if (!weight.is_buffer) row.weights += elaborate::count_elements(weight.dims).value_or(0);
  }
  return rows;
}

std::string signed_count(int64_t count) { return fmt::format("{}{} weights", count > 0 ? "+" : "", count); }

void compare_blocks(const Plan& before, const Plan& after, std::vector<Change>& changes) {
  const auto left = blocks_of(before), right = blocks_of(after);
  int64_t sum_before = 0, sum_after = 0;
  for (const auto& [path, row] : left) {
    sum_before += row.weights;
    const auto other = right.find(path);
    const std::string text = other == right.end() ? "" : other->second.text;
    const int64_t weights = other == right.end() ? 0 : other->second.weights;
    if (text == row.text) continue;
    changes.push_back(
        {"model", path, row.text, text, weights == row.weights ? "" : signed_count(weights - row.weights)});
  }
  for (const auto& [path, row] : right) {
    sum_after += row.weights;
    if (!left.contains(path)) changes.push_back({"model", path, "", row.text, signed_count(row.weights)});
  }
  if (sum_before != sum_after) {
    changes.push_back({"model", "weights", std::to_string(sum_before), std::to_string(sum_after),
                       signed_count(sum_after - sum_before)});
  }
}

/// Keys that stand several times are told apart by their number.
std::map<std::string, std::string> by_key(const Canonical& form, const Canonical::Entries& entries) {
  std::map<std::string, std::string> result;
  std::map<std::string, int> seen;
  for (const auto& [key, value] : entries) {
    const int number = ++seen[key];
    result[number == 1 ? key : key + " " + std::to_string(number)] = form.with_names(value);
  }
  return result;
}

void compare_entries(const std::string& section, const Canonical& before, const Canonical::Entries& left,
                     const Canonical& after, const Canonical::Entries& right, std::vector<Change>& changes) {
  const auto old_entries = by_key(before, left), new_entries = by_key(after, right);
  for (const auto& [key, value] : old_entries) {
    const auto other = new_entries.find(key);
    if (other == new_entries.end()) {
      changes.push_back({section, key, value, "", ""});
    } else if (other->second != value) {
      changes.push_back({section, key, value, other->second, ""});
    }
  }
  for (const auto& [key, value] : new_entries) {
    if (!old_entries.contains(key)) changes.push_back({section, key, "", value, ""});
  }
}

/// Constructors are told by the blocks they make.
bool is_constructor(const std::string& name) { return name.ends_with(".$new"); }

/// What the compiler made a function of, as the program calls it: of `Net.$make_acc` the member `Net.acc`.
std::string in_words(const std::string& name) {
  const size_t made = name.find(".$");
  if (made == std::string::npos) return name;
  const std::string owner = name.substr(0, made), what = name.substr(made + 2);
  if (what.starts_with("make_")) return owner + "." + what.substr(5);
  if (what == "merge") return "reduce merge of " + owner;
  if (what.starts_with("init_")) return "init of " + owner;
  return "members of " + owner;
}

void compare_code(const Canonical& before, const Canonical& after, std::vector<Change>& changes) {
  const auto left = by_key(before, before.code), right = by_key(after, after.code);
  std::vector<Change> made;
  for (const auto& [name, text] : left) {
    const auto other = right.find(name);
    if (other != right.end() && other->second == text) continue;
    made.push_back({"code", name, "", other == right.end() ? "gone" : "changed", ""});
  }
  for (const auto& [name, text] : right) {
    if (!left.contains(name)) made.push_back({"code", name, "", "new", ""});
  }
  const bool has_others = !changes.empty() || std::any_of(made.begin(), made.end(),
                                                          [](const Change& c) { return !is_constructor(c.name); });
  for (Change& change : made) {
    if (is_constructor(change.name) && has_others) continue;
    change.name = in_words(change.name);
    changes.push_back(std::move(change));
  }
}

void note_names(const Canonical& before, const Canonical& after, std::vector<std::string>& notes) {
  for (size_t i = 0; i < before.objects.size() && i < after.objects.size(); ++i) {
    if (before.objects[i] != after.objects[i]) notes.push_back(before.objects[i] + " is now " + after.objects[i]);
  }
  for (size_t i = 0; i < before.code.size() && i < after.code.size(); ++i) {
    const auto last = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
    if (last(before.code[i].first) != last(after.code[i].first))
      notes.push_back(before.code[i].first + " is now " + after.code[i].first);
  }
}

Comparison compare_pair(const Side& before_side, const Canonical& before, const Side& after_side,
                        const Canonical& after) {
  Comparison result;
  result.name = before.experiment;
  if (before.experiment != after.experiment) {
    result.name += ", now " + after.experiment;
    result.without_effect.push_back("experiment " + before.experiment + " is now " + after.experiment);
  }
  result.hash_before = before.hash();
  result.hash_after = after.hash();
  result.is_same = before.text() == after.text();
  std::vector<Change> silent;
  const auto entries = [&](const char* section, Canonical::Entries Canonical::* member, std::vector<Change>& into) {
    compare_entries(section, before, before.*member, after, after.*member, into);
  };
  entries("loggers", &Canonical::loggers, silent);
  std::set<std::string> outside;
  for (const Canonical* form : {&before, &after}) {
    for (const auto& [section, list] : form->outside) outside.insert(section);
  }
  const auto of = [](const Canonical& form, const std::string& section) {
    const auto found = form.outside.find(section);
    return found != form.outside.end() ? found->second : Canonical::Entries();
  };
  for (const std::string& section : outside)
    compare_entries(section, before, of(before, section), after, of(after, section), silent);
  for (const Change& change : silent)
    result.without_effect.push_back(fmt::format("{} {}: {} -> {}", change.section, change.name,
                                                change.before.empty() ? "none" : change.before,
                                                change.after.empty() ? "none" : change.after));
  if (result.is_same) {
    note_names(before, after, result.without_effect);
    return result;
  }
  entries("hparams", &Canonical::hparams, result.changes);
  entries("data", &Canonical::data, result.changes);
  const auto* left = find_experiment(before_side, before.experiment);
  const auto* right = find_experiment(after_side, after.experiment);
  if (left != nullptr && right != nullptr)
    compare_blocks(plan_of(before_side, *left), plan_of(after_side, *right), result.changes);
  entries("model", &Canonical::model, result.changes);
  entries("optimizer", &Canonical::optimizers, result.changes);
  entries("trainer", &Canonical::trainer, result.changes);
  entries("topology", &Canonical::topology, result.changes);
  entries("callbacks", &Canonical::callbacks, result.changes);
  compare_code(before, after, result.changes);
  if (result.changes.empty()) result.changes.push_back({"code", "order", "", "the same parts in another order", ""});
  return result;
}

Comparison alone(const Canonical& form, bool is_before) {
  Comparison result;
  result.name = form.experiment;
  (is_before ? result.hash_before : result.hash_after) = form.hash();
  result.changes.push_back(
      {"experiment", form.experiment, is_before ? "is there" : "", is_before ? "" : "is there", ""});
  return result;
}

}  // namespace

std::vector<Comparison> compare(const Side& before, const Side& after) {
  std::vector<Comparison> result;
  std::vector<const Canonical*> left, right;
  for (const Canonical& form : before.forms) left.push_back(&form);
  for (const Canonical& form : after.forms) right.push_back(&form);
  const auto pair_by = [&](const auto& matches) {
    for (const Canonical*& one : left) {
      if (one == nullptr) continue;
      for (const Canonical*& other : right) {
        if (other == nullptr || !matches(*one, *other)) continue;
        result.push_back(compare_pair(before, *one, after, *other));
        one = other = nullptr;
        break;
      }
    }
  };
  pair_by([](const Canonical& a, const Canonical& b) { return a.experiment == b.experiment; });
  pair_by([](const Canonical& a, const Canonical& b) { return a.text() == b.text(); });
  const auto count = [](const std::vector<const Canonical*>& list) {
    return list.size() - size_t(std::count(list.begin(), list.end(), nullptr));
  };
  // The only two that are left are one that was renamed and changed.
  if (count(left) == 1 && count(right) == 1) pair_by([](const Canonical&, const Canonical&) { return true; });
  for (const Canonical* one : left) {
    if (one != nullptr) result.push_back(alone(*one, true));
  }
  for (const Canonical* one : right) {
    if (one != nullptr) result.push_back(alone(*one, false));
  }
  return result;
}

}  // namespace ltr::driver
