#pragma once

// Writes the checkpoints of a run: those that its keepers and hooks ask for, the last one, and what is left of a failure.
// A write that fails is a warning, the first of several in a row, and the next one tries again; only the last may not fail.

#include <functional>
#include <set>

#include "runtime/api/error.h"
#include "runtime/callbacks/keeper.h"
#include "runtime/checkpoint/settler.h"
#include "runtime/train/run_state.h"

namespace ltr {

class Session;

class Saver {
 public:
  Saver(RunRequest& request, Session& session, RunState& state, Times& times);

  /// Retention asks all keepers. They outlive the saver's last write.
  void add_keeper(CheckpointKeeper* keeper) { keepers_.push_back(keeper); }
  bool has_keepers() const { return !keepers_.empty(); }

  struct Wish {
    Str name;
    bool weights_only = false;
    std::function<void()> undo;   ///< it could not be written
  };
  /// Wishes of one moment are written together, so that each checkpoint knows of the others.
  void want(Wish wish) { wishes_.push_back(std::move(wish)); }
  void write_wanted();

  /// The checkpoint of this position, unless there is one: the last of the run, or what a signal leaves. R1004 if it cannot
  /// be written.
  void write_last(bool by_signal);
  /// Later checkpoints do not become `last`: the newest stands in the middle of an epoch that a longer run goes on with.
  void pin_last() { is_pinned_ = true; }
  /// What is worth keeping when a step broke: the weights, if no update of the window was made. "" if nothing. The first
  /// rank has them without the others, which may be anywhere.
  Str write_broken(const Error& error);

  /// Waits until the disk has all that was written.
  void settle();

  /// The run goes on from the checkpoint at `path`.
  void resumed_from(const Str& path);
  const Str& last() const { return last_; }
  Str path_of(const Str& name) const { return folder_ + "/" + name; }
  const std::vector<CheckpointKeeper*>& keepers() const { return keepers_; }

 private:
  CheckpointData snapshot(bool weights_only);
  nlohmann::json facts() const;
  /// `passes`: retention may remove it again. `ranks` write it together.
  void write(const Str& name, bool weights_only, bool passes, const Ranks& ranks);
  /// Removes the checkpoints that nobody wants any more: kept are those of the keepers, the newest, the one that the run
  /// went on from, the best one of before, and what `save()` or a failure wrote.
  void let_go();
  static void together(const Ranks& ranks, const std::function<void()>& write);
  /// What each rank writes has come about for all, or for none; what they say of it.
  std::vector<nlohmann::json> each(const std::function<nlohmann::json()>& write) const;
  void write_files(const Str& name, CheckpointData& data, const Ranks& ranks);
  void add_divided(CheckpointData& data) const;
  void report_faults();
  void point_links();

  RunRequest& request_;
  Session& session_;
  RunState& state_;
  Times& times_;
  Str folder_;
  Settler settler_;
  std::vector<CheckpointKeeper*> keepers_;
  std::vector<Wish> wishes_;
  std::set<Str> passing_;   ///< checkpoints that retention may remove
  Str best_before_;         ///< the best one when this process began
  Str last_;                ///< name of the newest checkpoint
  Str resumed_from_;
  Place saved_;             ///< the position in the newest checkpoint
  bool is_pinned_ = false;
  bool is_failing_ = false;  ///< the newest write failed, which was said
};

}  // namespace ltr
