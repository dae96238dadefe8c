#include "ltrc/compile.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "codegen/emit/emit.h"
#include "codegen/lower/lower.h"
#include "codegen/passes/pipeline.h"
#include "codegen/training_logic/training_logic.h"
#include "dsl/check/check.h"
#include "dsl/diagnostics/load_source.h"
#include "dsl/diagnostics/render.h"
#include "dsl/parse/parse.h"
#include "dsl/parse/unread.h"
#include "dsl/weights/weights.h"
#include "ltrc/canonical.h"
#include "ltrc/costs.h"
#include "ltrc/data_files.h"
#include "ltrc/exit_code.h"
#include "ltrc/externs.h"
#include "ltrc/project.h"
#include "ltrc/weights.h"

namespace ltr::driver {

namespace {

/// Runs a phase and notes its time.
template <class F>
auto timed(Compilation& compilation, const char* phase, F&& run) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = run();
  compilation.times_ms.emplace_back(
      phase, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  return result;
}

bool use_color(const Common& common) {
  if (common.color == "always") return true;
  return common.color == "auto" && isatty(2) != 0 && std::getenv("NO_COLOR") == nullptr;
}

std::string hash_of(const Compilation& compilation) {
  std::string all;
  for (const resolve::Module& module : compilation.graph->modules) {
    all += module.path + '\n' + std::string(compilation.sources.text(module.ast.source)) + '\0';
  }
  return toolchain::digest(all);
}

/// Where the paths of its sources begin; "" if they are absolute.
std::string folder_of(const Compilation& compilation) {
  std::error_code failed;
  const bool is_absolute = std::filesystem::path(compilation.graph->modules[0].path).is_absolute();
  return is_absolute ? "" : std::filesystem::current_path(failed).string();
}

lower::Options lower_options(const Compilation& compilation) {
  lower::Options options;
  options.library_sources = library_sources(compilation);
  return options;
}

/// Source to typed program, before what only its whole code tells. False if the file cannot be understood.
bool check_source(source::SourceId id, Compilation& compilation) {
  diagnostics::Sink& sink = *compilation.sink;
  ast::Module main = timed(compilation, "parse", [&] { return parse::parse(id, compilation.sources, sink); });
  // The rest of a file of another edition cannot be understood.
  if (sink.has_errors() && main.decls.empty()) return false;
  compilation.graph = timed(compilation, "resolve", [&] {
    const std::vector<std::string> folders =
        read_project(std::string(compilation.sources.path(id)), compilation.sources, sink).folders;
    return resolve::resolve(std::move(main), compilation.sources, sink, compilation.reach, folders);
  });
  compilation.program = timed(compilation, "check", [&] {
    const DataFilesHere files;
    return check::check(*compilation.graph, compilation.sources, sink, &files);
  });
  compilation.program = timed(compilation, "weights", [&] {
    return weights::check_weights(std::move(*compilation.program), *compilation.graph, compilation.sources, sink,
                                  WeightFilesHere());
  });
  compilation.check_errors = sink.error_count();
  return true;
}

}  // namespace

void check_whole(Compilation& compilation) {
  if (!compilation.program) return;
  timed(compilation, "logic", [&] {
    lower::Options options = lower_options(compilation);
    options.has_errors = compilation.sink->has_errors();
    compilation.analyzed = lower::lower_for_analysis(*compilation.program, compilation.sources, options);
    compilation.of_training =
        training_logic::check_training(*compilation.analyzed, *compilation.program, *compilation.sink);
    return true;
  });
  check_externs(compilation);
}

std::set<uint32_t> library_sources(const Compilation& compilation) {
  std::set<uint32_t> sources;
  for (const resolve::Module& module : compilation.graph->modules) {
    if (module.is_library) sources.insert(module.ast.source.index);
  }
  return sources;
}

void analyze(const std::string& file, const Common& common, Compilation& compilation) {
  compilation.sink = std::make_unique<diagnostics::Sink>(common.max_errors);
  const auto id = diagnostics::load_source(file, compilation.sources, *compilation.sink);
  if (id && check_source(*id, compilation)) check_whole(compilation);
  parse::withdraw_consequences(*compilation.sink, compilation.sources);
}

void check_text(const std::string& path, std::string text, Compilation& compilation) {
  compilation.sink = std::make_unique<diagnostics::Sink>();
  check_source(compilation.sources.add(path, std::move(text)), compilation);
  parse::withdraw_consequences(*compilation.sink, compilation.sources);
}

ir::Module to_ir(Compilation& compilation, const std::string& dump_after, std::string* dump) {
  lower::Options options = lower_options(compilation);
  options.source_hash = hash_of(compilation);
  options.compiler = LTR_VERSION;
  options.folder = folder_of(compilation);
  ir::Module module =
      timed(compilation, "lower", [&] { return lower::lower(*compilation.program, compilation.sources, options); });
  passes::PipelineOptions pipeline;
  pipeline.dump_after = dump_after;
#ifndef NDEBUG
  pipeline.verify = true;
#endif
  passes::PipelineResult result = timed(compilation, "passes", [&] { return passes::run_passes(module, pipeline); });
  if (dump != nullptr) *dump = std::move(result.dump);
  return module;
}

namespace {

/// Gives each experiment the hash of what it computes, as `ltrc lock` has it.
void add_hashes(const ir::Module& module, ir::Tables& tables) {
  const std::vector<Canonical> forms = canonical_forms(module);
  for (size_t i = 0; i < forms.size(); ++i) tables.experiments[i].semantic_hash = forms[i].hash();
}

}  // namespace

std::string to_cpp(Compilation& compilation, ir::Module& module) {
  const std::string file = compilation.graph->modules[0].path;
  module.tables = timed(compilation, "costs", [&] {
    const auto tables = std::make_shared<ir::Tables>(*module.tables);
    add_hashes(module, *tables);
    add_costs(*compilation.program, file, *tables);
    return tables;
  });
  return timed(compilation, "emit", [&] { return emit::emit(module, compilation.program->name + ".cpp"); });
}

int report(const Compilation& compilation, const Common& common) {
  size_t errors = 0, warnings = 0;
  // One line says one place.
  const std::vector<diagnostics::Diagnostic> sorted = compilation.sink->sorted();
  const auto told = common.message_format == "short" ? sorted : diagnostics::joined(sorted);
  for (const diagnostics::Diagnostic& diagnostic : told) {
    (diagnostic.severity == diagnostics::Severity::Error ? errors : warnings) += 1;
    if (common.message_format == "json") {
      fmt::print(stdout, "{}", diagnostics::render_json(diagnostic, compilation.sources));
    } else if (common.message_format == "short") {
      fmt::print(stderr, "{}", diagnostics::render_short(diagnostic, compilation.sources));
    } else {
      fmt::print(stderr, "{}\n",
                 diagnostics::render_human(diagnostic, compilation.sources, {.color = use_color(common)}));
    }
  }
  const auto denies = [&](const char* what) {
    return std::find(common.deny.begin(), common.deny.end(), what) != common.deny.end();
  };
  if (common.message_format == "human" && errors > 0)
    fmt::print(stderr, "{} error{}\n", errors, errors == 1 ? "" : "s");
  if (errors > 0) return kErrors;
  if (warnings > 0 && denies("warnings")) return kErrors;
  if (compilation.program && denies("runtime-shapes")) {
    size_t open = 0;
    for (const check::Obligation& obligation : compilation.program->obligations)
      open += obligation.fate != check::Fate::Proven ? 1 : 0;
    if (open > 0) {
      fmt::print(stderr, "{} shape{} not proven, denied by --deny runtime-shapes; `ltrc check -v` lists them\n", open,
                 open == 1 ? " is" : "s are");
      return kErrors;
    }
  }
  return kOk;
}

Compiled compile(const std::string& file, const Common& common, const toolchain::CompileOptions& options,
                 Compilation& compilation) {
  analyze(file, common, compilation);
  Compiled compiled;
  const toolchain::Installation installation = toolchain::find_installation();
  std::vector<toolchain::ExternObject> objects;
  if (!compilation.has_errors() && compilation.program && !compilation.program->externs.empty()) {
    auto built = timed(compilation, "extern", [&] { return build_externs(compilation, installation, options); });
    if (built) objects = std::move(*built);
  }
  compiled.exit_code = report(compilation, common);
  if (compiled.exit_code != kOk || !compilation.program) return compiled;
  std::string content = hash_of(compilation) + "|" + folder_of(compilation);
  for (const toolchain::ExternObject& object : objects) content += "|" + object.identity;
  const std::string key = toolchain::build_key(content, installation, options);
  if (const auto cached = toolchain::find_cached(key, compilation.program->name)) {
    compiled.program = *cached;
    return compiled;
  }
  ir::Module module = to_ir(compilation, "", nullptr);
  const std::string cpp = to_cpp(compilation, module);
  const toolchain::Built built = timed(compilation, "c++", [&] {
    return toolchain::build(cpp, emit::kParts, key, compilation.program->name, installation, options, objects);
  });
  if (built.failure) {
    fmt::print(stderr, "error: {}\n  = help: {}\n", built.failure->message, built.failure->cure);
    compiled.exit_code = built.failure->is_internal ? kInternal : kErrors;
    return compiled;
  }
  compiled.program = built.program;
  return compiled;
}

}  // namespace ltr::driver
