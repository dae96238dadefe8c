#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <string>

#include "ltrc/commands.h"

namespace ltr::driver {

/// The options that every command which reads programs takes.
void add_common(CLI::App& app, Common& common);

/// The commands that work on source and build nothing: their words on the command line, and what
/// each does once they are read.
class Tools {
 public:
  /// Adds the commands to `app`; `common` is filled with the options they share.
  void add_to(CLI::App& app, Common& common);
  bool has(const std::string& command) const { return run_.contains(command); }
  int run(const std::string& command) const { return run_.at(command)(); }

 private:
  CLI::App* add(CLI::App& app, Common& common, const std::string& name, const std::string& help,
                std::function<int()> run);

  FmtOptions fmt_;
  DocOptions doc_;
  MigrateOptions migrate_;
  PlanOptions plan_;
  DiffOptions diff_;
  CompareOptions compare_;
  SyncOptions sync_;
  DataCommandOptions data_;
  UiOptions ui_;
  std::map<std::string, std::function<int()>> run_;
};

}  // namespace ltr::driver
