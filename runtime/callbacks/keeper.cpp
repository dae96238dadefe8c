#include "runtime/callbacks/keeper.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/callbacks/arguments.h"
#include "runtime/tables/run_names.h"
#include "runtime/train/series_name.h"

namespace ltr {

CheckpointKeeper::CheckpointKeeper(const Value& call, bool is_max, EpochParts::Updates updates)
    : monitor_(text_argument(call, "monitor", "")),
      is_max_(is_max),
      keep_(int_argument(call, "keep", 1)),
      save_last_(bool_argument(call, "save_last", true)),
      weights_only_(bool_argument(call, "weights_only", false)),
      on_failure_(bool_argument(call, "on_failure", true)),
      async_(bool_argument(call, "async", false)),
      filename_(text_argument(call, "filename", "auto")) {
  Option<Str> wrong = wrong_checkpoint_name(filename_);
  try {
    if (!wrong && name(0, 0, [](const Str&) { return 0.0; }).size() > kLongestRunName)
      wrong = fmt::format("a name has {} bytes at most", kLongestRunName);
  } catch (const Error& error) {  // of a format
    wrong = error.what();
  }
  if (wrong)
    throw error_at(call.location, err::settings_contradict,
                   fmt::format("Checkpoint(filename = \"{}\"): {}", filename_, *wrong));
  const Value* keep = argument(call, "keep");
  if (keep != nullptr && keep->kind == Value::Kind::Symbol) keep_ = std::numeric_limits<int64_t>::max();
  const Value* every = argument(call, "every");
  if (every != nullptr && every->kind != Value::Kind::Symbol) every_ = *every;
  parts_ = EpochParts::of(every_, std::move(updates));
}

bool CheckpointKeeper::is_due(int64_t steps, int64_t epochs, double time_s, bool epoch_ended) {
  bool is_time = false;
  switch (every_.kind) {
    case Value::Kind::Steps: is_time = steps - last_mark_ >= int64_t(every_.real) && int64_t(every_.real) > 0; break;
    case Value::Kind::Epochs:
      if (parts_) {
        is_time = parts_->over(steps) > last_mark_;
        last_mark_ = parts_->over(steps);
      } else {
        is_time = epoch_ended && double(epochs - last_mark_) >= every_.real;
      }
      break;
    case Value::Kind::Seconds: is_time = time_s - last_time_s_ >= every_.real; break;
    default: is_time = monitor_.empty() ? epoch_ended : true; break;
  }
  waits_ = waits_ || is_time;
  const bool is_due = waits_ && (monitor_.empty() || has_fresh_);
  if (!is_due) {
    // A value that nobody acted on is stale by the next look.
    has_fresh_ = false;
    return false;
  }
  waits_ = false;
  if (!parts_) last_mark_ = every_.kind == Value::Kind::Steps ? steps : epochs;
  last_time_s_ = time_s;
  return true;
}

Str CheckpointKeeper::name(int64_t step, int64_t epoch, const std::function<double(const Str&)>& newest) const {
  if (filename_ == "auto") {
    Str name = fmt::format("step{:07}", step);
    if (monitor_.empty()) return name;
    Str series = recorded_name(monitor_);
    std::replace(series.begin(), series.end(), '/', '_');
    return name + fmt::format("-{}={:.4g}", series, std::isnan(fresh_) ? std::fabs(fresh_) : fresh_);
  }
  // `{epoch:03}-{val.acc:.3}`
  Str name;
  for (size_t i = 0; i < filename_.size(); i++) {
    const size_t end = filename_[i] == '{' ? filename_.find('}', i) : Str::npos;
    if (end == Str::npos) {
      name += filename_[i];
      continue;
    }
    const Str inside = filename_.substr(i + 1, end - i - 1);
    const size_t colon = inside.find(':');
    const Str what = inside.substr(0, colon);
    const Str format = colon == Str::npos ? "" : inside.substr(colon + 1);
    if (what == "epoch") {
      name += text_of(epoch, format.c_str());
    } else if (what == "step" || what == "global_step") {
      name += text_of(step, format.c_str());
    } else {
      name += text_of(newest(what), format.c_str());
    }
    i = end;
  }
  return name;
}

Str CheckpointKeeper::own_name(const Str& name, int64_t step, const std::vector<CheckpointKeeper*>& others) const {
  CheckpointKeeper after = *this;
  std::erase_if(after.kept_, [&](const Kept& one) { return one.name == name && one.step == step; });
  after.saved("", step);  // No folder is called so.
  const auto is_taken = [&](const Str& wanted) {
    const auto is_it = [&](const Kept& one) { return one.name == wanted && one.step != step; };
    return after.keeps(wanted) || std::ranges::any_of(others, [&](const CheckpointKeeper* other) {
             return other != this && std::ranges::any_of(other->kept_, is_it);
           });
  };
  Str own = name;
  for (int version = 1; is_taken(own); ++version) own = fmt::format("{}-v{}", name, version);
  return own;
}

bool CheckpointKeeper::ranks_before(const Kept& a, const Kept& b) const {
  if (std::isnan(a.value) || std::isnan(b.value)) return !std::isnan(a.value);
  return is_max_ ? a.value > b.value : a.value < b.value;
}

void CheckpointKeeper::saved(const Str& name, int64_t step) {
  std::erase_if(kept_, [&](const Kept& one) { return one.name == name; });
  newest_ = name;
  Kept kept{name, has_fresh_ ? fresh_ : std::nan(""), step};
  has_fresh_ = false;
  if (monitor_.empty()) {
    kept_.insert(kept_.begin(), kept);
  } else {
    // Behind equal ones: ties keep the older.
    const auto place =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return ranks_before(kept, one); });
    kept_.insert(place, kept);
  }
  if (int64_t(kept_.size()) > keep_) kept_.resize(size_t(keep_));
}

bool CheckpointKeeper::may_leave_out() const {
  if (every_.kind != Value::Kind::None) return false;
  if (monitor_.empty()) return keep_ == 1;
  // One that is written behind training may fail yet, and then a value that is as good as none takes its place.
  return !async_ && int64_t(kept_.size()) >= keep_ && !ranks_before({"", fresh_, 0}, kept_.back());
}

const CheckpointKeeper::Kept* CheckpointKeeper::best() const {
  return monitor_.empty() || kept_.empty() || std::isnan(kept_.front().value) ? nullptr : &kept_.front();
}

bool CheckpointKeeper::keeps(const Str& name) const {
  return name == newest_ || std::any_of(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.name == name; });
}

void CheckpointKeeper::visit(Archive& archive) {
  archive.value("last_mark", last_mark_);
  archive.value("last_time_s", last_time_s_);
  archive.value("waits", waits_);
  archive.value("newest", newest_);
  archive.list("kept", kept_, [&](Kept& one) {
    archive.value("name", one.name);
    archive.value("value", one.value);
    archive.value("step", one.step);
  });
}

}  // namespace ltr
