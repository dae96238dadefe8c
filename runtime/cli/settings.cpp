#include "runtime/cli/settings.h"

#include <algorithm>

#include "doors/number.h"
#include "runtime/api/suggest.h"
#include "runtime/api/value_range.h"
#include "runtime/cli/faults.h"
#include "runtime/settings/value_text.h"
#include "runtime/tables/precisions.h"
#include "runtime/tables/schedulers.h"
#include "runtime/tables/strategies.h"

namespace ltr::cli {

namespace {

struct Row {
  const char* path;
  const char* type;
  const char* initial;
};
constexpr Row kRows[] = {
#define LTR_SETTING(path, type, initial, range, doc) {path, type, initial},
#include "runtime/tables/settings.def"
};

const Row* find_row(const Str& path) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& one) { return path == one.path; });
  return row == std::end(kRows) ? nullptr : row;
}

Str section_of(const Str& path) { return path.substr(0, path.find('.')); }

/// Where people wrote it: in a file of settings, else the line of the program that it overrides.
const Location& place_of(const Given* given, const Location& location) {
  return given != nullptr && given->place.line > 0 ? given->place : location;
}

/// `30`, or `none` as people would say it.
Str in_quotes(const Str& text) { return "\"" + text + "\""; }

}  // namespace

void RunSettings::give(const Str& path, Given given) { given_[path].push_back(std::move(given)); }

const Given* RunSettings::given(const Str& path) const {
  const auto found = given_.find(path);
  return found == given_.end() ? nullptr : &found->second.back();
}

Str RunSettings::typed(const Str& path) const {
  const auto setting =
      std::find_if(resolved_.begin(), resolved_.end(), [&](const Resolved& one) { return one.path == path; });
  if (setting == resolved_.end() || setting->from == "default" || setting->from == "experiment") return "";
  return setting->from == "flag" ? setting->at : fmt::format("{}={} in {}", path, show(setting->value), setting->at);
}

bool RunSettings::has_hparam(const Str& name) const {
  return std::any_of(hparams_.begin(), hparams_.end(), [&](const HparamInfo& info) { return name == info.name; });
}

bool RunSettings::check_range(const Str& range, const Str& shown, const Value& value, const Location& location) {
  const Option<Str> rule = broken_range(range, value);
  // A part is given in percent.
  const bool is_part = value.kind == Value::Kind::Call && value.text == "fraction";
  const Str text = is_part ? doors::shortest(value.items[0].value.real * 100) + "%" : show(value);
  if (rule) faults.push_back(error_at(location, err::out_of_range, shown, text, *rule));
  return !rule;
}

RunSettings::Found RunSettings::find(const Str& path, const Str& type, const Value& value, const Location& location,
                                     const Str& range) {
  asked_.insert(path);
  Found out{value, nullptr};
  const auto found = given_.find(path);
  if (found == given_.end()) return out;
  // The table knows more types than the compiler: `limit`, `accumulate = ramp(…)`.
  const Row* row = find_row(path);
  for (const Given& given : found->second) {
    Str wanted;
    if (const Option<Value> parsed = parse_value(given.text, row != nullptr ? row->type : type, wanted)) {
      if (check_range(range, given.shown, *parsed, place_of(&given, location)))
        out = {*parsed, &given};
      else
        faulty_.insert(path);
      continue;
    }
    const bool is_ambiguous = wanted.ends_with("%") && !wanted.starts_with("a count");
    Error fault = error_at(place_of(&given, location), err::wrong_type, given.shown, in_quotes(given.text),
                           is_ambiguous ? Str("a count of batches or a part in percent") : wanted);
    if (is_ambiguous) fault.help = "did you mean " + wanted + "?";
    faults.push_back(std::move(fault));
    faulty_.insert(path);
  }
  return out;
}

void RunSettings::record(Resolved setting) {
  const auto same =
      std::find_if(resolved_.begin(), resolved_.end(), [&](const Resolved& one) { return one.path == setting.path; });
  if (same == resolved_.end())
    resolved_.push_back(std::move(setting));
  else
    *same = std::move(setting);
}

Value RunSettings::hparam(const HparamInfo& info, const Value& given, const Value* set) {
  hparams_.push_back(info);
  const Found found = find(info.name, info.type, set != nullptr ? *set : given, info.location, info.name);
  Resolved setting{info.name, found.value, info.type, set != nullptr ? "experiment" : "default", place(info.location)};
  if (found.given != nullptr) {
    setting.from = found.given->from;
    setting.at = found.given->at;
  }
  record(setting);
  return setting.value;
}

void RunSettings::check_setting(const char* path, const char* hparam, bool holds) {
  const Given* own = given(path);
  if (holds || own == nullptr || faulty_.count(path) != 0) return;
  const auto info =
      std::find_if(hparams_.begin(), hparams_.end(), [&](const HparamInfo& one) { return Str(hparam) == one.name; });
  if (info == hparams_.end()) return;
  faults.push_back(error_at(place_of(own, info->location), err::out_of_range, own->shown, own->text, info->where));
  faulty_.insert(path);
}

void RunSettings::check_hparam(const char* name, bool holds, bool (*fits)(int64_t)) {
  // A value that is a fault already is one, not two.
  if (holds || faulty_.count(name) != 0) return;
  constexpr int64_t kReach = 100'000;
  const auto info =
      std::find_if(hparams_.begin(), hparams_.end(), [&](const HparamInfo& one) { return Str(name) == one.name; });
  const auto setting =
      std::find_if(resolved_.begin(), resolved_.end(), [&](const Resolved& one) { return one.path == name; });
  if (info == hparams_.end() || setting == resolved_.end()) return;
  const Given* own = given(name);
  faulty_.insert(name);
  Error fault = error_at(place_of(own, info->location), err::out_of_range,
                         own == nullptr ? Str(name) + " =" : own->shown, show(setting->value), info->where);
  if (fits != nullptr && setting->value.kind == Value::Kind::Int) {
    const int64_t value = setting->value.whole;
    Option<int64_t> below;
    Option<int64_t> above;
    for (int64_t d = 1; d < kReach && !(below && above); ++d) {
      if (!below && fits(value - d)) below = value - d;
      if (!above && fits(value + d)) above = value + d;
    }
    if (below && above)
      fault.help = fmt::format("the nearest allowed values are {} and {}", *below, *above);
    else if (below || above)
      fault.help = fmt::format("the nearest allowed value is {}", below ? *below : *above);
  }
  faults.push_back(std::move(fault));
}

Value RunSettings::get(const char* path, const char* type, const Value& given, const Location& location) {
  return get(path, type, given, location, path);
}

Value RunSettings::get(const char* path, const char* type, const Value& given, const Location& location,
                       const Str& range) {
  const Found found = find(path, type, given, location, range);
  if (found.given == nullptr) check_range(path, path, given, location);
  Resolved setting{path, found.value, type, "experiment", place(location)};
  if (found.given != nullptr) {
    setting.from = found.given->from;
    setting.at = found.given->at;
  }
  record(setting);
  return setting.value;
}

void RunSettings::oblige(bool holds, const char* rule, const std::vector<const char*>& hparams,
                         const Location& location, const std::vector<RuleSide>& sides) {
  // What rests on a value that is a fault already is no second one.
  const bool is_told =
      std::any_of(hparams.begin(), hparams.end(), [&](const char* name) { return faulty_.count(name) != 0; });
  if (holds || is_told) return;
  Str values;
  for (const Resolved& setting : resolved_) {
    const bool is_read =
        std::any_of(hparams.begin(), hparams.end(), [&](const char* name) { return setting.path == name; });
    if (is_read) values += (values.empty() ? ": " : ", ") + setting.path + " = " + show(setting.value);
  }
  for (const RuleSide& side : sides)
    values += fmt::format("{}{} = {}", values.empty() ? ": " : ", ", side.text, side.value);
  const Error fault = error_at(location, err::obligation_not_met, rule, values);
  // A size that does not fit is needed at each use.
  if (std::ranges::any_of(faults, [&](const Error& one) { return one.message == fault.message; })) return;
  faults.push_back(fault);
}

void RunSettings::oblige_settings(bool holds, const char* rule, const std::vector<const char*>& paths,
                                  const Location& location) {
  const bool is_own = std::any_of(paths.begin(), paths.end(), [&](const char* path) { return given(path) != nullptr; });
  if (is_own) oblige(holds, rule, paths, location, {});
}

void RunSettings::add_defaults() {
  for (const Row& row : kRows) {
    if (asked_.count(row.path) != 0) continue;
    Str ignored;
    const Value initial = parse_value(row.initial, row.type, ignored).value_or(Value());
    const Found found = find(row.path, row.type, initial, {}, row.path);
    Resolved setting{row.path, found.value, row.type, "default", ""};
    if (found.given != nullptr) {
      setting.from = found.given->from;
      setting.at = found.given->at;
    }
    record(std::move(setting));
  }
}

void RunSettings::set_run(Str dir, Str name) {
  run_dir_ = std::move(dir);
  run_name_ = std::move(name);
  callbacks_.clear();
  loggers_.clear();
  call_counts_.clear();
}

void RunSettings::call(const char* called, const Value& given) {
  if (Str(called) == "sweep") {
    sweep_ = given;
    return;
  }
  const Str name = given.text;
  const bool is_implied = Str(called) == "implied";
  if (is_implied && name == "Checkpoint" && !value("trainer.checkpoint").as_bool()) return;
  const Str section = is_implied ? "callbacks" : called;
  const int64_t index = call_counts_[section + "." + name]++;
  const Str prefixes[] = {fmt::format("{}.{}", section, name), fmt::format("{}.{}.{}", section, name, index)};
  Value call = given;
  std::map<Str, const Given*> given_last;  // by argument
  for (const Str& prefix : prefixes) {
    if (&prefix == &prefixes[0] && index > 0) {
      // Without a number the first one is meant; `off` means all of them.
      const Given* off = this->given(prefix);
      if (off != nullptr && off->text == "off") return;
      continue;
    }
    if (const Given* off = this->given(prefix)) {
      asked_.insert(prefix);
      if (off->text == "off") return record({prefix, Value("off"), "fixed", off->from, off->at});
      faults.push_back(
          error_at(place_of(off, given.location), err::wrong_type, off->shown, in_quotes(off->text), "off"));
    }
    std::vector<Str> names;
    for (Argument& argument : call.items) {
      const Str path = prefix + "." + argument.name;
      names.push_back(argument.name);
      const Str range = fmt::format("{}.{}.{}", section, name, argument.name);
      const Found found = find(path, argument.type, argument.value, argument.location, range);
      argument.value = found.value;
      if (found.given != nullptr) given_last[argument.name] = found.given;
    }
    for (const auto& [path, values] : given_) {
      const Str start = prefix + ".";
      if (!path.starts_with(start) || asked_.count(path) != 0) continue;
      const Str argument = path.substr(start.size());
      if (argument.empty() || std::isdigit(static_cast<unsigned char>(argument[0])) != 0) continue;
      asked_.insert(path);
      const Str near = nearest(argument, names);
      faults.push_back(error_at(place_of(&values.back(), given.location), err::unknown_setting,
                                path + (near.empty() ? "" : fmt::format("; did you mean {}{}?", start, near)) +
                                    (names.empty() ? "" : fmt::format(" ({} has: {})", name, fmt::join(names, ", ")))));
    }
  }
  for (const Argument& argument : call.items) {
    const Str range = fmt::format("{}.{}.{}", section, name, argument.name);
    const auto last = given_last.find(argument.name);
    const Given* own = last != given_last.end() ? last->second : nullptr;
    if (own == nullptr) check_range(range, range, argument.value, argument.location);
    // Addresses may hold secrets, and what lies in the folder of the run is in another one in each.
    const bool is_of_run = !run_dir_.empty() && argument.value.to_text().find(run_dir_) != Str::npos;
    if (Str(argument.type) == "receiver" || Str(argument.type) == "secret" || is_of_run) continue;
    const Str path = prefixes[index == 0 ? 0 : 1] + "." + argument.name;
    const char* from = own != nullptr ? own->from : is_implied ? "default" : "experiment";
    record({path, argument.value, argument.type, from, own != nullptr ? own->at : ""});
  }
  (section == "callbacks" ? callbacks_ : loggers_).push_back(std::move(call));
}

void RunSettings::check_unused(bool with_model) {
  for (const auto& [path, given] : given_) {
    if (asked_.count(path) != 0) continue;
    const Str section = section_of(path);
    if (!with_model && (section == "model" || section == "data")) continue;
    asked_.insert(path);  // reported once
    if (section == "tags" && path != section) {
      record({path, Value(given.back().text), "str", given.back().from, given.back().at});
      continue;
    }
    std::vector<Str> paths;
    std::vector<Str> names;
    for (const Resolved& setting : resolved_) {
      paths.push_back(setting.path);
      if (section_of(setting.path) == section && setting.path != section)
        names.push_back(setting.path.substr(section.size() + 1));
    }
    std::sort(names.begin(), names.end());
    Str near = nearest(path, paths);
    for (const Str& whole : paths) {
      if (near.empty() && whole.ends_with("." + path)) near = whole;
    }
    Str message = path;
    if (!near.empty()) message += fmt::format("; did you mean {}?", near);
    if (!names.empty()) message += fmt::format(" ({} has: {})", section, fmt::join(names, ", "));
    if (names.empty() && (section == "callbacks" || section == "loggers")) {
      std::vector<Str> listed;
      for (const Value& one : section == "callbacks" ? callbacks_ : loggers_) listed.push_back(one.text);
      // Of `callbacks.EarlyStp.patience` the name of the call.
      const Str rest = path.size() > section.size() ? path.substr(section.size() + 1) : "";
      const Str name = rest.substr(0, rest.find('.'));
      if (const Str meant = nearest(name, listed); near.empty() && !meant.empty())
        message += fmt::format("; did you mean {}.{}{}?", section, meant, rest.substr(name.size()));
      message += listed.empty() ? fmt::format(" (no {} are listed)", section)
                                : fmt::format(" ({} lists: {})", section, fmt::join(listed, ", "));
    }
    faults.push_back(error_at(given.back().place, err::unknown_setting, message));
    if (near.empty() && names.empty()) faults.back().help = "the verb config prints all settings";
  }
}

const Value& RunSettings::value(const Str& path) const {
  static const Value kNone;
  const auto found =
      std::find_if(resolved_.begin(), resolved_.end(), [&](const Resolved& one) { return one.path == path; });
  return found == resolved_.end() ? kNone : found->value;
}

Str RunSettings::to_json() const {
  Str out = "{";
  for (const Resolved& setting : resolved_) {
    out += out.size() > 1 ? ",\n" : "\n";
    out += fmt::format("  {}: {{\"value\": {}, \"from\": {}", doors::json_string(setting.path),
                       ltr::to_json(setting.value), doors::json_string(setting.from));
    if (!setting.at.empty()) out += ", \"at\": " + doors::json_string(setting.at);
    out += "}";
  }
  return out + "\n}\n";
}

}  // namespace ltr::cli
