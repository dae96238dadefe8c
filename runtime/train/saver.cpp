#include "runtime/train/saver.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/data/known.h"
#include "runtime/loggers/logger.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/train/gathered.h"
#include "runtime/train/rank_states.h"
#include "runtime/train/series_name.h"
#include "runtime/train/session.h"

namespace ltr {

Saver::Saver(RunRequest& request, Session& session, RunState& state, Times& times)
    : request_(request),
      session_(session),
      state_(state),
      times_(times),
      folder_(request.run_dir + "/checkpoints"),
      settler_(folder_) {}

// ---- what a checkpoint holds ---------------------------------------------------------------------------------

nlohmann::json Saver::facts() const {
  nlohmann::json facts = {{"ltr", request_.program.compiler},
                          {"program", request_.program.source_hash},
                          {"computes", request_.experiment.semantic_hash},
                          {"experiment", request_.experiment.name},
                          {"seed", request_.trainer.seed},
                          {"world", request_.ranks.world()},
                          {"threads", at::get_num_threads()},
                          {"updates", planned_},
                          {"data", nlohmann::json::array()}};
  for (const auto& [name, value] : request_.settings) facts["settings"][name] = value.to_text();
  for (const DataFile& file : request_.data_files) {
    facts["data"].push_back({{"path", file.path}, {"bytes", file.bytes}, {"fingerprint", file.fingerprint}});
  }
  facts["known"] = known_of(request_.data);
  return facts;
}

CheckpointData Saver::snapshot(bool weights_only) {
  CheckpointData data;
  state_.at.train_s = times_.train_s();
  const bool are_divided = state_.root.divides_weights();
  for (const Entry& entry : state_.root.entries) {
    // Block by block: nobody holds all of them.
    if (!are_divided || !entry.is_weight) data.weights.push_back({entry.path, aten(entry.tensor)});
  }
  data.manifest = facts();
  data.manifest["weights_only"] = weights_only;
  SaveArchive archive(data);
  state_.visit(archive);
  // Averages are weights, too: they are what was monitored, and have a file that reads as one of weights.
  std::erase_if(data.train, [&](const NamedTensor& one) {
    if (!one.name.starts_with(kAveraged)) return false;
    data.averages.push_back({one.name.substr(kAveraged.size()), one.tensor});
    return true;
  });
  if (state_.root.division != nullptr) add_divided(data);
  if (weights_only) {
    data.train.clear();
    data.share.slices.clear();
  } else if (data.train.empty()) {
    // A file of its own tells such a checkpoint from one of weights only.
    data.train.push_back({"none", at::zeros({1})});
  }
  return data;
}

/// What this rank writes of weights and averages that are divided, whole, as one of all ranks.
void Saver::add_divided(CheckpointData& data) const {
  Division& division = *state_.root.division;
  CheckpointShare& share = data.share;
  share.rank = request_.ranks.rank();
  share.world = request_.ranks.world();
  share.has_weights = division.divides_weights();
  std::map<Str, SlicedTensor> averages;
  for (SlicedTensor& one : share.slices) {
    if (one.name.starts_with(kAveraged)) averages.emplace(one.name.substr(kAveraged.size()), one);
  }
  std::erase_if(share.slices, [](const SlicedTensor& one) { return one.name.starts_with(kAveraged); });
  for (const Entry& entry : state_.root.entries) {
    const at::Tensor weight = aten(entry.tensor);
    if (division.find(weight) == nullptr) continue;
    const bool is_mine = division.writes(weight);
    if (division.divides_weights()) {
      const at::Tensor whole = division.whole(weight);
      if (is_mine) share.weights.push_back({entry.path, whole});
    }
    if (const auto average = averages.find(entry.path); average != averages.end()) {
      const SlicedTensor& one = average->second;
      const at::Tensor whole =
          division.join(weight, one.tensor, at::empty(one.slice.sizes, at::device(at::kMeta).dtype(one.slice.type)));
      if (is_mine) share.averages.push_back({entry.path, whole});
    }
  }
}

// ---- writing -------------------------------------------------------------------------------------------------

namespace {

void bring_to_host(CheckpointData& data) {
  for (auto* tensors : {&data.weights, &data.averages, &data.train}) {
    for (NamedTensor& one : *tensors) one.tensor = on_host(one.tensor);
  }
}

}  // namespace

Saver::Written Saver::prepare(const Str& name, bool weights_only, bool passes, const Ranks& ranks, Shelf* shelf) {
  const Str path = path_of(name);
  if (ranks.world() > 1) session_.share_left_out();
  session_.path = path;
  session_.run_hook(Hook::checkpoint_save);
  // Rows first: a run killed right behind its checkpoint must not lack them.
  if (request_.recorder != nullptr) request_.recorder->flush();
  CheckpointData data = snapshot(weights_only);
  data.manifest["passing"] = passes;
  // A device is read once: what the first rank writes is what it compares with the others.
  if (ranks.is_first()) shelf != nullptr ? shelf->put(data) : bring_to_host(data);
  gather_states(ranks, data);
  return {name, weights_only, passes, state_.at.place(), std::move(data), links_with(name, weights_only), nullptr};
}

void Saver::write(const Str& name, bool weights_only, bool passes, const Ranks& ranks) {
  // The end of an epoch that is cut short has its step's name, too, but not the position to go on from.
  if (is_pinned_ && name == last_) return;
  session_.late.learn_all();
  session_.gate.check_weights();
  const ProfilePart part("checkpoint", true);
  const Times::Clock::time_point begin = Times::Clock::now();
  Written one = prepare(name, weights_only, passes, ranks, nullptr);
  write_files(one, ranks);
  times_.checkpoint_s += seconds_since(begin);
  written(one);
}

/// What an event says of it: its place, and of the best one by which value it is that.
Str Saver::facts_of(const Written& one) const {
  Str facts = fmt::format("\"path\":\"checkpoints/{}\"", one.name);
  const CheckpointKeeper* keeper = keeper_of_best();
  if (keeper == nullptr || keeper->best()->name != one.name) return facts;
  const nlohmann::json best = {{"metric", recorded_name(keeper->monitor())}, {"value", keeper->best()->value}};
  return facts + ",\"best\":" + best.dump();
}

void Saver::written(const Written& one) {
  if (one.passes)
    passing_.insert(one.name);
  else
    passing_.erase(one.name);
  if (!one.weights_only) saved_ = one.place;
  last_ = one.links.last;
  request_.progress.checkpoint(path_of(one.name));
  if (request_.recorder != nullptr) {
    request_.recorder->event(one.place.step, "checkpoint", facts_of(one));
  }
}

void Saver::write_files(Written& one, const Ranks& ranks) {
  open(one, ranks);
  if (state_.root.division == nullptr) {
    return together(ranks, [&] { close(one, {write_share(folder_, one.name, one.data)}); });
  }
  const std::vector<nlohmann::json> shares = each([&] { return write_share(folder_, one.name, one.data); });
  together(ranks, [&] { close(one, shares); });
}

void Saver::open(Written& one, const Ranks& ranks) {
  together(ranks, [&] {
    // Its place may be that of one which is still on its way to the disk, or going.
    if (std::filesystem::exists(path_of(one.name))) settler_.wait();
    open_checkpoint(folder_, one.name);
  });
  // What all have the first one writes.
  if (ranks.is_first()) return;
  for (auto* tensors : {&one.data.weights, &one.data.averages, &one.data.train}) tensors->clear();
}

void Saver::close(const Written& one, const std::vector<nlohmann::json>& shares) {
  close_checkpoint(folder_, one.name, one.data, shares);
  settler_.settle(one.name);
  try {
    point(one.links);
  } catch (const Error&) {
    // Nobody would find it, or let it go.
    if (read_link(folder_, "last") != one.name) settler_.remove({one.name});
    throw;
  }
}

std::vector<nlohmann::json> Saver::each(const std::function<nlohmann::json()>& write) const {
  Option<Error> fault;
  nlohmann::json said;
  try {
    said["share"] = write();
  } catch (const Error& error) {
    if (error.code != err::cannot_write.code) throw;
    fault = error;
    said["fault"] = error.message;
  }
  std::vector<nlohmann::json> shares;
  for (const Str& text : request_.ranks.texts(said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
    nlohmann::json one = nlohmann::json::parse(text);
    if (fault) throw *fault;
    if (one.contains("fault")) throw of_another(Error(err::cannot_write.code, one["fault"].get<Str>(), {}));
    shares.push_back(std::move(one["share"]));
  }
  return shares;
}

/// What the first rank writes has come about for all, or for none.
void Saver::together(const Ranks& ranks, const std::function<void()>& write) {
  Option<Error> fault;
  if (ranks.is_first()) {
    try {
      write();
    } catch (const Error& error) {
      if (ranks.world() == 1 || error.code != err::cannot_write.code) throw;
      fault = error;
    }
  }
  if (ranks.world() == 1) return;
  const Str said = ranks.of_first(fault ? fault->message : "");
  if (fault) throw *fault;
  if (!said.empty()) throw of_another(Error(err::cannot_write.code, said, {}));
}

Saver::Links Saver::links_with(const Str& name, bool weights_only) const {
  Links links;
  links.last = weights_only || is_pinned_ ? last_ : name;
  if (const CheckpointKeeper* keeper = keeper_of_best()) links.best = keeper->best()->name;
  return links;
}

/// The first that has a best one, which is that of the run; or null.
const CheckpointKeeper* Saver::keeper_of_best() const {
  const auto found = std::ranges::find_if(keepers_, [](const CheckpointKeeper* keeper) { return keeper->best(); });
  return found != keepers_.end() ? *found : nullptr;
}

void Saver::point(const Links& links) const {
  const auto point_one = [&](const Str& link, const Str& name) {
    if (!name.empty() && read_link(folder_, link) != name) point_link(folder_, link, name);
  };
  point_one("last", links.last);
  point_one("best", links.best);
}

void Saver::write_wanted() {
  report_faults();
  std::vector<Wish> wishes = std::exchange(wishes_, {});
  for (const Str& name : std::exchange(session_.saves, {})) {
    if (!request_.run_dir.empty()) wishes.push_back({.name = name});
  }
  for (Wish& wish : wishes) {
    // The pinned one stays what it is: a longer run goes on from it, not from behind the end of its epoch.
    const bool is_there = is_pinned_ && wish.name == last_;
    try {
      finish();
      if (!is_there && wish.is_async) {
        begin_write(wish);
        continue;
      }
      // What `save()` asked for has no keeper, and is never let go.
      if (!is_there) write(wish.name, wish.weights_only, wish.undo != nullptr, request_.ranks);
      succeeded();
    } catch (const Error& error) {
      failed(error, wish.undo);
    }
  }
}

void Saver::succeeded() {
  if (std::exchange(is_failing_, false)) request_.progress.notice("checkpoints are written again");
  let_go();
}

void Saver::failed(const Error& error, const std::function<void()>& undo) {
  if (error.code != err::cannot_write.code) throw Error(error);
  if (!std::exchange(is_failing_, true)) {
    request_.progress.warning(fmt::format("{}; training goes on, and later checkpoints try again", error.message));
  }
  if (undo) undo();
}

void Saver::write_last(bool by_signal) {
  if (behind_) take_over(request_.ranks);
  const int64_t step = state_.at.global_step;
  // A signal may have left one of this step before its round or the end of its epoch were done.
  if (keepers_.empty() || saved_ == state_.at.place() || step == 0) return;
  CheckpointKeeper& keeper = *keepers_.front();
  if (!keeper.saves_last() && !by_signal) return;
  const Str name = fmt::format("step{:07}", step);
  if (by_signal)
    keeper.saved_aside(name);
  else
    keeper.saved(name, step);
  write(name, false, true, request_.ranks);
  let_go();
}

Str Saver::write_broken(const Error& error) {
  const int64_t step = state_.at.global_step;
  const bool is_wanted = !keepers_.empty() && keepers_.front()->saves_on_failure() && step > 0;
  if (!is_wanted || error.code == err::cannot_write.code || error.code == err::weight_not_finite.code ||
      saved_.step == step) {
    return "";
  }
  // Where another rank is lost, the last checkpoint is as good.
  const bool is_lost = error.code == err::rank_lost.code || error.code == err::collective_timed_out.code;
  if (is_lost || !request_.ranks.is_first()) return "";
  // Of divided weights a rank has its part, and the others are elsewhere.
  if (state_.root.division != nullptr) return "";
  // The step broke in the middle, so only the weights are worth keeping, and only if it changed none of them.
  // Of one that the host learned of late, the device has held back every update since.
  if (session_.has_updated() && !session_.late.culprit()) return "";
  const Str name = fmt::format("{}-step{:07}", error.code.starts_with("R4") ? "nonfinite" : "failure", step);
  try {
    write(name, true, false, one_rank());
  } catch (const Error& second) {
    request_.progress.warning(second.message);
    return "";
  }
  return name;
}

void Saver::let_go() {
  if (!request_.ranks.is_first()) return;
  std::vector<Str> gone;
  std::erase_if(passing_, [&](const Str& name) {
    const bool is_wanted = name == resumed_from_ || name == last_ || name == best_before_ ||
                           std::any_of(keepers_.begin(), keepers_.end(),
                                       [&](const CheckpointKeeper* keeper) { return keeper->keeps(name); });
    if (!is_wanted) gone.push_back(name);
    return !is_wanted;
  });
  settler_.remove(gone);
}

void Saver::settle() {
  const ProfilePart part("checkpoint", true);
  const Times::Clock::time_point begin = Times::Clock::now();
  settler_.wait();
  times_.checkpoint_s += seconds_since(begin);
  report_faults();
}

void Saver::report_faults() {
  for (const Str& fault : settler_.take_faults()) request_.progress.warning(fault);
}

void Saver::resumed_from(const Str& path) {
  saved_ = state_.at.place();
  last_ = path.substr(path.find_last_of('/') + 1);
  resumed_from_ = last_;
  best_before_ = read_link(folder_, "best");
  // Those behind it, of a run that went on otherwise, are none of this one's.
  for (const Str& name : checkpoint_names(folder_)) {
    try {
      const nlohmann::json manifest = read_manifest(path_of(name));
      if (manifest.value("passing", false) && manifest.value("step", int64_t(0)) <= saved_.step) passing_.insert(name);
    } catch (const Error&) {
      // A damaged one is whoever looks into it to judge.
    }
  }
}

}  // namespace ltr
