#pragma once

// `runs/EXPERIMENT/NUMBER[-NAME]/` (runtime.md 9).

#include "doors/made_folders.h"
#include "ltr/program.h"
#include "runtime/api/error.h"

namespace ltr::cli {

/// An open run folder. Holds its lock as long as it lives.
class RunFolder {
 public:
  /// A new folder under `out/experiment`; its number is taken by mkdir, so that one of several starters gets it.
  static RunFolder create(const Str& out, const Str& experiment, const Str& name);
  /// An existing one, as it is. R1007 if a process that lives holds it.
  static RunFolder hold(const Str& path);
  /// An existing one, to write on in it: without what a killed writer left.
  static RunFolder reopen(const Str& path);
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const Str& path() const { return path_; }
  /// Whether it is still the folder that was opened: nobody deleted or replaced it.
  bool is_there() const;
  /// Removes it: what it was made for never began. `latest` is the run before again, and folders around it that were made for it alone
  /// go, too.
  void discard();
  /// `0007-baseline`.
  Str folder_name() const;

 private:
  explicit RunFolder(Str path);
  void lock();
  Str path_;
  int lock_ = -1;
  doors::MadeFolders around_;
};

/// For people: which runs `find_run` looks at where none is named, `mnist`, or `mnist with the --name wide`.
Str runs_meant(const Str& experiment, const Str& name);
/// The run that `which` means: a folder, a number, a name, or (empty) the newest of `experiment` and `name`. "" if
/// there is none.
Str find_run(const Str& out, const Str& experiment, const Str& name, const Str& which);
/// R2010 where `run` has no checkpoint `which`. What helps is its newest one where `best` was asked for, or the newest run that has one,
/// of that name or of any.
Error no_checkpoint(const Str& run, const Str& which, const Str& out, const Str& experiment, const Str& name);
/// The newest run that is not done.
Str find_unfinished_run(const Str& out, const Str& experiment, const Str& name);

/// Makes `run/checkpoints` where `Checkpoint(dir = …)` of `callbacks` wants it: another folder of the run, or, of an
/// absolute path, `DIR/EXPERIMENT/RUN`, or `RUN-2` and so on where another run has that. What is there already stays. R2006 for a path
/// that leaves the run folder.
void link_checkpoints(const Str& run, const Str& experiment, const std::vector<Value>& callbacks);
/// The run that a checkpoint belongs to.
Str run_of_checkpoint(const Str& checkpoint);

/// What `run.json` says (doors.md 4).
struct RunRecord {
  Str experiment;
  Str run;
  Str status = "running";  ///< running finished failed interrupted
  Str started;
  Str ended;
  int exit_code = -1;
  Str reason;
  Str topology;
  Str precision;
  int64_t threads = 1;
  int64_t world = 1;
  std::vector<Str> hosts;  ///< the machines of all ranks, each once
  int64_t seed = 0;
  std::vector<Str> command;
  struct DataStream {
    Str role;
    int64_t records;
    int64_t batches;
  };
  std::vector<DataStream> data;
  Str best_metric;
  double best_value = 0;
  Str best_checkpoint;
};
/// Each machine once, of the machine of each rank.
std::vector<Str> hosts_of(const std::vector<Str>& ranks);
/// The name of this machine.
Str host_name();
/// The text of `run.json`.
Str run_record_text(const RunRecord& record, const Program& program);
/// In `run.json` of a run whose ranks are gone: `error` is why. What they wrote themselves is how they noticed, or nothing.
void record_loss(const Str& run, const Error& error);
/// Replaces a file of a run in one step; R1004 if that fails.
void write_run_file(const Str& path, const Str& text);
/// Sources as compiled and the uncommitted diff, in `source/`; R1004 if that fails.
void write_sources(const Str& path, const Program& program);
/// UTC, to the second.
Str time_text();
/// The number of the next file `eval/VERB-NNNN.json` and the like.
Str next_numbered(const Str& folder, const Str& stem, const Str& ending);

}  // namespace ltr::cli
