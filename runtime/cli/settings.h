#pragma once

// Resolves settings (runtime.md 1.2): default, experiment, config files, `LTR_ARGS`, command line. Every value keeps
// where it came from; every fault is collected, so that all are reported together.

#include <map>
#include <set>

#include "ltr/program.h"
#include "runtime/api/error.h"

namespace ltr::cli {

/// A value that overrides what the program says. One that a later one overrides is read and checked all the same.
struct Given {
  Str text;             ///< as typed
  const char* from;     ///< "file" "env" "flag"
  Str at;               ///< for messages: `--width 30`, `run/config.json`
  Str shown;            ///< what to call it: `--width`, `trainer.epochs`
  Location place = {};  ///< in a file
};

/// A resolved setting.
struct Resolved {
  Str path;
  Value value;
  Str type;
  Str from;  ///< "default" "experiment" "file" "env" "flag"
  Str at;    ///< file, line, or option
};

class RunSettings : public Settings {
 public:
  explicit RunSettings(int64_t world = 1) : world_(world) {}
  /// Later calls win. `path` is an hparam's name or a setting's path.
  void give(const Str& path, Given given);

  Value hparam(const HparamInfo& info, const Value& given, const Value* set) override;
  void check_hparam(const char* name, bool holds, bool (*fits)(int64_t)) override;
  void check_setting(const char* path, const char* hparam, bool holds) override;
  Value get(const char* path, const char* type, const Value& given, const Location& location) override;
  /// What was given keeps to what the table of ranges says of `range`: an optimizer refuses it, too, but at a line of the program.
  Value get(const char* path, const char* type, const Value& given, const Location& location, const Str& range);
  void oblige(bool holds, const char* rule, const std::vector<const char*>& hparams, const Location& location,
              const std::vector<RuleSide>& sides) override;
  void oblige_settings(bool holds, const char* rule, const std::vector<const char*>& paths,
                       const Location& location) override;
  void call(const char* section, const Value& given) override;
  int64_t world() const override { return world_; }
  Str run_dir() const override { return run_dir_; }
  Str run_name() const override { return run_name_; }

  /// Defaults of settings.def for what the program did not set.
  void add_defaults();
  /// Where the run folder is; calls are listed anew after it is known.
  void set_run(Str dir, Str name);
  /// R2002 for what was given and nobody asked for. `with_model`: `model.*` and `data.*` have been asked for too.
  void check_unused(bool with_model);
  /// A setting that has been resolved. R2002 cannot happen: the name is one of settings.def.
  const Value& value(const Str& path) const;

  const std::vector<Resolved>& resolved() const { return resolved_; }
  const std::vector<HparamInfo>& hparams() const { return hparams_; }
  const std::vector<Value>& callbacks() const { return callbacks_; }
  const std::vector<Value>& loggers() const { return loggers_; }
  /// The `sweep` of the experiment as a call, its axes and settings by name; none if there is none.
  const Value& sweep() const { return sweep_; }
  bool has_hparam(const Str& name) const;
  /// What holds for `path` as it was typed, in a command or a file: `--set trainer.epochs=3`; "" where the program's value holds.
  Str typed(const Str& path) const;
  /// `config.json`.
  Str to_json() const;

  std::vector<Error> faults;

 private:
  struct Found {
    Value value;
    const Given* given;  ///< null: the program's value holds
  };
  /// What holds for `path`: the last that was given, else `value`, the program's. All that was given is read and checked,
  /// by what the table of ranges says of `range`.
  Found find(const Str& path, const Str& type, const Value& value, const Location& location, const Str& range);
  /// R2004 if `value` is outside of what the table of ranges says of `range`.
  bool check_range(const Str& range, const Str& shown, const Value& value, const Location& location);
  void record(Resolved setting);
  /// The one that holds, or null.
  const Given* given(const Str& path) const;

  int64_t world_;
  std::map<Str, std::vector<Given>> given_;
  std::set<Str> faulty_;  ///< what was given for them is a fault already
  std::set<Str> asked_;
  std::vector<Resolved> resolved_;
  std::vector<HparamInfo> hparams_;
  std::map<Str, int64_t> call_counts_;
  std::vector<Value> callbacks_;
  std::vector<Value> loggers_;
  Value sweep_;
  Str run_dir_ = "runs";
  Str run_name_;
};

}  // namespace ltr::cli
