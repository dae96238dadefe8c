#pragma once

// Writes the checkpoints of a run: those that its keepers and hooks ask for, the last one, and what is left of a failure.
// A write that fails is a warning, the first of several in a row, and the next one tries again; only the last may not fail.
//
// One of them at a time may be written behind training. What it is to hold is set aside at its instant, and what follows
// from it, links and what it replaces, waits until it is whole. Ranks meet about it where all of them are anyway, never in
// the thread that writes.

#include <functional>
#include <set>

#include "runtime/api/error.h"
#include "runtime/callbacks/keeper.h"
#include "runtime/checkpoint/background_write.h"
#include "runtime/checkpoint/settler.h"
#include "runtime/checkpoint/shelf.h"
#include "runtime/train/run_state.h"

namespace ltr {

class Session;

class Saver {
 public:
  Saver(RunRequest& request, Session& session, RunState& state, Times& times);

  /// So many updates does this run make, -1 if only time ends it; known once the data are.
  void plan(int64_t updates) { planned_ = updates; }

  /// Retention asks all keepers. They outlive the saver's last write.
  void add_keeper(CheckpointKeeper* keeper) { keepers_.push_back(keeper); }
  bool has_keepers() const { return !keepers_.empty(); }

  struct Wish {
    Str name;
    bool weights_only = false;
    bool is_async = false;       ///< written while training goes on
    std::function<void()> undo;  ///< it could not be written
  };
  /// Wishes of one moment are written together, so that each checkpoint knows of the others.
  void want(Wish wish) { wishes_.push_back(std::move(wish)); }
  void write_wanted();

  /// At the border of a window: what follows from the one that is written behind training, if all ranks know it as over.
  void look();
  /// Waits for it, as who has another one to write must. All ranks call it.
  void finish();
  /// Likewise at a failure, where this rank is by itself. Of what ranks write together a part is no use.
  void finish_alone();

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
  /// What `last` and `best` are to point at.
  struct Links {
    Str last, best;
  };
  /// A checkpoint that has its content, and comes to its place now or later.
  struct Written {
    Str name;
    bool weights_only = false;
    bool passes = true;  ///< retention may remove it again
    Place place;         ///< the position in it
    CheckpointData data;
    Links links;
    std::function<void()> undo;
  };

  nlohmann::json facts() const;
  CheckpointData snapshot(bool weights_only);
  /// Everything of a checkpoint but its place: hooks have run, rows are written, ranks agree on it.
  /// What the first rank writes lies on `shelf` then, where there is one.
  Written prepare(const Str& name, bool weights_only, bool passes, const Ranks& ranks, Shelf* shelf);
  void write(const Str& name, bool weights_only, bool passes, const Ranks& ranks);
  /// What the last write came to: one that the disk refused is a warning.
  void succeeded();
  void failed(const Error& error, const std::function<void()>& undo);

  // Behind training: saver_behind.cpp.
  void begin_write(const Wish& wish);
  nlohmann::json write_behind();
  /// Waits for the one behind training. Then it has its place, or has failed.
  void take_over(const Ranks& ranks);

  /// What follows from a checkpoint that has its place.
  void written(const Written& one);
  /// Removes the checkpoints that nobody wants any more: kept are those of the keepers, the newest, the one that the run
  /// went on from, the best one of before, and what `save()` or a failure wrote.
  void let_go();
  static void together(const Ranks& ranks, const std::function<void()>& write);
  /// What each rank writes has come about for all, or for none; what they say of it.
  std::vector<nlohmann::json> each(const std::function<nlohmann::json()>& write) const;
  void write_files(Written& one, const Ranks& ranks);
  /// Makes room for it; each rank keeps of the data what is its own to write.
  void open(Written& one, const Ranks& ranks);
  /// Puts it in its place, by the first rank alone and one thread at a time.
  void close(const Written& one, const std::vector<nlohmann::json>& shares);
  void add_divided(CheckpointData& data) const;
  void report_faults();
  Links links_with(const Str& name, bool weights_only) const;
  const CheckpointKeeper* keeper_of_best() const;
  Str facts_of(const Written& one) const;
  void point(const Links& links) const;

  RunRequest& request_;
  Session& session_;
  RunState& state_;
  Times& times_;
  Str folder_;
  Settler settler_;
  std::vector<CheckpointKeeper*> keepers_;
  std::vector<Wish> wishes_;
  std::set<Str> passing_;  ///< checkpoints that retention may remove
  Str best_before_;        ///< the best one when this process began
  Str last_;               ///< name of the newest checkpoint
  Str resumed_from_;
  Place saved_;  ///< the position in the newest checkpoint
  int64_t planned_ = -1;
  bool is_pinned_ = false;
  bool is_failing_ = false;  ///< the newest write failed, which was said
  bool has_waited_ = false;  ///< one waited for the one before it, which was said
  Shelf shelf_;
  Option<Written> behind_;   ///< is written while training goes on
  BackgroundWrite writing_;  ///< it; ends first
};

}  // namespace ltr
