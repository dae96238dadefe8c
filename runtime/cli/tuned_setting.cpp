#include "runtime/cli/tuned_setting.h"

#include "doors/number.h"
#include "doors/shell.h"
#include "runtime/settings/value_text.h"
#include "runtime/train/root_state.h"

namespace ltr::cli {

namespace {

Str rate_path(const Str& optimizer) { return fmt::format("model.{}.lr", optimizer); }

GivenOption option_of_hparam(const Str& name, const char* from) { return {name, "", from, "--" + name}; }

GivenOption option_of_setting(const Str& path, const char* from) { return {"set", path + "=", from, "--set"}; }

/// The rates of all optimizers of a model that was built.
std::vector<std::pair<Str, Str>> rates_of(const Start& start) {
  std::vector<std::pair<Str, Str>> rates;
  for (const Resolved& setting : start.settings.resolved()) {
    if (setting.path.starts_with("model.") && setting.path.ends_with(".lr"))
      rates.emplace_back(setting.path, show(setting.value));
  }
  return rates;
}

/// Whether `given` makes the rate at `path` what it says, and leaves those of all other optimizers as they are.
bool moves_rate(const Start& start, const Str& path, double rate, const GivenOption& given) {
  const std::unique_ptr<Start> probe = with_option(start, given);
  if (probe == nullptr) return false;
  try {
    probe->build();
  } catch (const Faults&) {
    return false;
  } catch (const Error&) {
    return false;  // a rate that the optimizer does not take
  }
  const Value& there = probe->settings.value(path);
  if (there.is_none() || there.as_float() != rate) return false;
  std::vector<std::pair<Str, Str>> before = rates_of(start), after = rates_of(*probe);
  const auto is_own = [&](const auto& one) { return one.first == path; };
  std::erase_if(before, is_own);
  std::erase_if(after, is_own);
  // A parameter of the model that only hands it on has a path of its own: an optimizer's has three parts.
  const auto is_parameter = [](const auto& one) { return std::ranges::count(one.first, '.') < 2; };
  std::erase_if(before, is_parameter);
  std::erase_if(after, is_parameter);
  return before == after;
}

/// Whether batches have `size` records with `given`.
bool moves_batch(const Start& start, int64_t size, const GivenOption& given) {
  const std::unique_ptr<Start> probe = with_option(start, with_value(given, std::to_string(size)));
  if (probe == nullptr) return false;
  try {
    probe->open_data();
    return train_size(*probe).batch_size == size;
  } catch (const Faults&) {
    return false;
  } catch (const Error&) {
    return false;  // no data of that size: another setting is meant
  }
}

}  // namespace

std::unique_ptr<Start> with_option(const Start& start, const GivenOption& given) {
  return with_options(start, {given});
}

std::unique_ptr<Start> with_options(const Start& start, const std::vector<GivenOption>& given) {
  auto probe = std::make_unique<Start>(start.program, start.line, start.terminal, start.ranks);
  probe->line.options.insert(probe->line.options.end(), given.begin(), given.end());
  probe->sharing = start.sharing;
  probe->local_rank = start.local_rank;
  probe->is_plan = true;
  try {
    probe->resolve();
  } catch (const Faults&) {
    return nullptr;
  }
  return probe;
}

GivenOption rate_option(const Start& start, const Str& optimizer, double rate, const char* from) {
  const Str path = rate_path(optimizer);
  const Str value = doors::shortest(rate), before = show(start.settings.value(path));
  for (const HparamInfo& hparam : start.settings.hparams()) {
    if (Str(hparam.type) != "float" || show(start.settings.value(hparam.name)) != before) continue;
    const GivenOption given = with_value(option_of_hparam(hparam.name, from), value);
    if (moves_rate(start, path, rate, given)) return given;
  }
  return with_value(option_of_setting(path, from), value);
}

Option<GivenOption> batch_option(const Start& start, int64_t size, const char* from) {
  std::vector<GivenOption> options;
  for (const Resolved& setting : start.settings.resolved()) {
    if (setting.type != "int" || setting.value.kind != Value::Kind::Int || setting.value.whole != size) continue;
    if (start.settings.has_hparam(setting.path)) options.insert(options.begin(), option_of_hparam(setting.path, from));
    if (setting.path.starts_with("data.")) options.push_back(option_of_setting(setting.path, from));
  }
  for (const GivenOption& option : options) {
    // One of these is allowed by most rules.
    for (const int64_t other : {size * 2, size / 2, size + 1}) {
      if (other > 0 && moves_batch(start, other, option)) return option;
    }
  }
  return std::nullopt;
}

GivenOption with_value(GivenOption option, const Str& value) {
  option.value += value;
  return option;
}

Str typed(const GivenOption& option) { return option.shown + " " + doors::shell_word(option.value); }

}  // namespace ltr::cli
