#pragma once

#include <string>
#include <vector>

#include "ltrc/compile.h"

namespace ltr::driver {

struct CheckOptions {
  std::vector<std::string> files;
  bool verbose = false;  ///< lists every obligation with its fate
  bool fix = false;      ///< applies the fixes that diagnostics offer
};
int run_check(const CheckOptions& options, const Common& common);

struct FmtOptions {
  std::vector<std::string> places;  ///< files, folders, `-` for stdin; none: the current folder
  bool check = false;               ///< writes nothing, names what would change
  bool to_stdout = false;
};
int run_fmt(const FmtOptions& options, const Common& common);

struct DocOptions {
  std::vector<std::string> words;  ///< a file, folder or `std`; a name
  std::string html;                ///< folder for the pages
  std::string markdown;
};
int run_doc(const DocOptions& options, const Common& common);

struct MigrateOptions {
  std::vector<std::string> files;
  int64_t to = 0;      ///< the edition
  bool check = false;  ///< writes nothing
};
int run_migrate(const MigrateOptions& options, const Common& common);

struct PlanOptions {
  std::string file;
  std::string experiment;         ///< empty: the first
  std::string topology;           ///< empty: the experiment's
  std::vector<std::string> sets;  ///< NAME=VALUE
  std::string devices;            ///< in place of the topology's: cpu[4]
  std::string machine;            ///< row of cluster.def, or a file; empty: by the kind of the topology's devices
  std::string backend = "auto";   ///< of the run: auto, native, torch
  bool measure = false;           ///< this machine in its place
  bool json = false;
};
int run_plan(const PlanOptions& options, const Common& common);

struct DiffOptions {
  std::vector<std::string> sides;  ///< two of them, or `BASE..HEAD` and files
  bool markdown = false;
  bool json = false;
};
int run_diff(const DiffOptions& options, const Common& common);

struct LockOptions {
  std::vector<std::string> files;  ///< programs, or folders of them; none: those of the lock that is here
  bool check = false;              ///< writes nothing, says what differs
};
int run_lock(const LockOptions& options, const Common& common);

struct CompareOptions {
  std::vector<std::string> runs;  ///< their folders
  std::string html;               ///< file for a page with their curves in one picture
  bool json = false;
};
int run_compare(const CompareOptions& options);

struct SyncOptions {
  std::string run;  ///< its folder
};
/// Sends what the servers of its loggers do not have yet.
int run_sync(const SyncOptions& options);

struct UiOptions {
  std::string folder = "runs";
  std::string host = "127.0.0.1";
  int port = 8265;  ///< 0: a free one
};
/// Serves until Ctrl-C.
int run_ui(const UiOptions& options);

/// Answers an editor on stdin and stdout until it says `exit` or closes stdin.
int run_lsp(const Common& common);

struct DataCommandOptions {
  std::string verb;                ///< list, get, check
  std::vector<std::string> names;  ///< entries of the catalogue; none: all
  std::string to;                  ///< folder, in place of $LTR_DATA_DIR/NAME or data/NAME
  std::string from;                ///< folder or address that has the files, in place of the mirrors
  std::string catalog;             ///< a JSON file with entries of one's own, behind those of the project
  bool offline = false;            ///< asks no mirror
};
int run_data(const DataCommandOptions& options, const Common& common);

struct BuildOptions {
  std::string file;
  std::string output;  ///< empty: the program's name, here
  toolchain::CompileOptions compile;
};
int run_build(const BuildOptions& options, const Common& common);

/// Builds into the cache and becomes the program, with `arguments`.
int run_run(const std::string& file, const std::vector<std::string>& arguments, const Common& common);

struct TestOptions {
  std::vector<std::string> files;
  std::string filter;
  std::string devices;  ///< where they compute, as a program's `--devices`; "": on the CPU
};
int run_test(const TestOptions& options, const Common& common);

int run_dump(const std::string& what, const std::string& file, const std::string& after, const Common& common);
int run_explain(const std::string& code);
int run_info();

struct NewOptions {
  std::string name;
  std::string from;  ///< the starter that is written; "": the first, or of data the task that fits
  std::string task;  ///< a model of std.tasks, whose program is written in its place
  std::string data;  ///< what the program reads; "": data that are written beside it
  bool list = false;
};
int run_new(const NewOptions& options);

}  // namespace ltr::driver
