#include <fmt/core.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdlib>
#include <set>
#include <utility>

#include "codegen/ir/internal_error.h"
#include "dsl/diagnostics/suggest.h"
#include "dsl/resolve/library.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "ltrc/output.h"
#include "ltrc/pools.h"
#include "ltrc/tools.h"

namespace ltr::driver {

namespace {

const std::set<std::string> kLater = {"export", "submit"};

/// What CLI11 refused, in our words.
int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  const std::vector<std::string> extra = at->remaining(true);
  // An unknown option is the mistake, whatever else is missing beside it.
  const auto* extras = dynamic_cast<const CLI::ExtrasError*>(&error);
  const auto unknown = std::find_if(extra.begin(), extra.end(), [](const auto& word) { return word.starts_with("-"); });
  if (unknown != extra.end() || (extras != nullptr && !extra.empty())) {
    std::vector<std::string> known;
    for (const CLI::Option* option : at->get_options()) {
      if (!option->get_lnames().empty()) known.push_back("--" + option->get_lnames()[0]);
    }
    const std::string& first = unknown != extra.end() ? *unknown : extra[0];
    const std::string word = first.substr(0, first.find('='));
    fmt::print(stderr, "error: ltrc {} has no {} `{}`\n", at->get_name(),
               word.starts_with("-") ? "option" : "further argument", word);
    const auto is_begun = [&](const std::string& one) { return word.size() > 3 && one.starts_with(word); };
    if (const auto near = diagnostics::suggest(word, known))
      fmt::print(stderr, "  = help: did you mean `{}`?\n", *near);
    else if (std::ranges::count_if(known, is_begun) == 1)
      fmt::print(stderr, "  = help: did you mean `{}`?\n", *std::ranges::find_if(known, is_begun));
    else
      fmt::print(stderr, "  = help: ltrc {} --help\n", at->get_name());
    return kUsage;
  }
  fmt::print(stderr, "error: {}\n  = help: ltrc {} --help\n", error.what(), at->get_name());
  return kUsage;
}

/// `app` has all commands of this version.
int unknown_command(const CLI::App& app, const std::string& word) {
  if (kLater.contains(word)) {
    fmt::print(stderr, "error: `ltrc {}` is not in this version\n", word);
    return kUsage;
  }
  fmt::print(stderr, "error: ltrc has no command `{}`\n", word);
  std::vector<std::string> known(kLater.begin(), kLater.end());
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  if (const auto near = diagnostics::suggest(word, known)) {
    fmt::print(stderr, "  = help: did you mean `{}`?\n", *near);
  } else {
    fmt::print(stderr, "  = help: `ltrc --help` lists them\n");
  }
  return kUsage;
}

/// `ltrc run [common options] FILE WORD…`: what stands behind the file belongs to the program.
int main_run(const std::vector<std::string>& words) {
  Common common;
  size_t file = 0;
  while (file < words.size() && words[file].starts_with("-") && words[file] != "-h" && words[file] != "--help") {
    file += words[file].find('=') == std::string::npos && words[file] != "--time" ? 2 : 1;
  }
  CLI::App app("Builds a program into the cache and runs it", "run");
  add_common(app, common);
  std::string given;
  app.add_option("FILE", given, "the program; everything behind it is passed to it")->required();
  std::vector<std::string> own(words.begin(), words.begin() + long(std::min(file + 1, words.size())));
  std::reverse(own.begin(), own.end());
  try {
    app.parse(own);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return kOk;
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  return run_run(given, {words.begin() + long(file) + 1, words.end()}, common);
}

/// `ltrc doc ->` and `-=` ask for operators, and name no options: such a word stands last, behind `--`.
void put_sign_last(std::vector<std::string>& reversed) {
  const auto sign = std::find_if(reversed.begin(), reversed.end(), [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' && word[1] != '-' &&
           std::isalpha(static_cast<unsigned char>(word[1])) == 0;
  });
  if (sign == reversed.end() || std::find(reversed.begin(), reversed.end(), "--") != reversed.end()) return;
  std::rotate(reversed.begin(), sign, sign + 1);
  // `ltrc doc std ->`: what is behind `--` is the whole of its words.
  reversed.insert(reversed.begin() + (reversed.size() == 3 && !reversed[1].starts_with('-') ? 2 : 1), "--");
}

int main_of(const std::vector<std::string>& words) {
  CLI::App app("Compiler of the training language Ltr", "ltrc");
  app.require_subcommand(1);
  app.footer("A program has options of its own, one for each hparam among them: ltrc run x.ltr fit --help");
  app.set_version_flag("--version", "ltrc " LTR_VERSION);
  Common common;
  CheckOptions check;
  BuildOptions build;
  TestOptions test;
  std::string file, code, what, after;

  CLI::App* new_command = app.add_subcommand("new", "write a program to start from");
  NewOptions new_options;
  new_command->add_option("NAME", new_options.name, "its name");
  CLI::Option* from = new_command->add_option("--from", new_options.from, "which starter");
  new_command->add_option("--task", new_options.task, "a short program with a whole model of std.tasks")
      ->excludes(from);
  new_command->add_option("--data", new_options.data, "what it reads, in place of the data that come with it");
  new_command->add_flag("--list", new_options.list, "name the starters and tasks");
  CLI::App* check_command = app.add_subcommand("check", "find mistakes, build nothing");
  check_command->add_option("FILE", check.files, "programs")->required();
  check_command->add_flag("-v,--verbose", check.verbose,
                          "list every shape obligation and when it is checked, and which steps have no plan");
  check_command->add_flag("--fix", check.fix, "apply the fixes that are right whenever offered");
  CLI::App* build_command = app.add_subcommand("build", "make a native program");
  build_command->add_option("FILE", build.file, "the program")->required();
  build_command->add_option("-o,--output", build.output, "where to write it (default: its name, here)");
  build_command->add_flag("-g", build.compile.debug, "for a debugger");
  build_command->add_option("-O", build.compile.optimization, "optimization of the C++ compiler: g, or 0 to 3")
      ->check(CLI::IsMember({"g", "0", "1", "2", "3"}));
  app.add_subcommand("run", "build into the cache and run: ltrc run x.ltr fit --lr 3e-4");
  CLI::App* test_command = app.add_subcommand("test", "run the tests of programs");
  test_command->add_option("FILE", test.files, "programs")->required();
  test_command->add_option("--filter", test.filter, "only tests whose title holds this text");
  test_command->add_option("--devices", test.devices, "where they compute: cpu (the default), auto or cuda");
  CLI::App* dump_command =
      app.add_subcommand("dump", "print what a phase made: tokens, ast, typed, canonical, header, ir, cpp");
  dump_command->add_option("WHAT", what, "tokens, ast, typed, canonical, header, ir or cpp")
      ->required()
      ->check(CLI::IsMember({"tokens", "ast", "typed", "canonical", "header", "ir", "cpp"}));
  dump_command->add_option("FILE", file, "the program")->required();
  dump_command->add_option("--dump-after", after, "with ir: the text after this pass");
  CLI::App* explain_command = app.add_subcommand("explain", "what a code such as E0304 or R3001 means");
  explain_command->add_option("CODE", code, "the code")->required();
  app.add_subcommand("info", "versions and places");
  CLI::App* lock_command = app.add_subcommand("lock", "write down what experiments compute and read, to be committed");
  LockOptions lock;
  lock_command->add_option("FILE", lock.files, "programs, or folders of them (default: those of the ltr.lock here)");
  lock_command->add_flag("--check", lock.check, "write nothing, say what differs, exit 1");
  for (CLI::App* command : {check_command, build_command, test_command, dump_command, lock_command})
    add_common(*command, common);
  const auto is_named = [&](const CLI::App* command) { return command->get_name() == words[0]; };
  // They have many options, which the commands above have no use for.
  Tools tools;
  if (std::as_const(app).get_subcommands(is_named).empty()) tools.add_to(app, common);
  if (!words[0].starts_with("-") && std::as_const(app).get_subcommands(is_named).empty())
    return unknown_command(app, words[0]);
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  if (words[0] == "doc") put_sign_last(reversed);
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* at = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
    fmt::print("{}", at->help());
    return kOk;
  } catch (const CLI::CallForVersion&) {
    fmt::print("ltrc {}\n", LTR_VERSION);
    return kOk;
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  const std::string chosen = app.get_subcommands().front()->get_name();
  if (tools.has(chosen)) return tools.run(chosen);
  if (chosen == "new") return run_new(new_options);
  if (chosen == "check") return run_check(check, common);
  if (chosen == "build") return run_build(build, common);
  if (chosen == "test") return run_test(test, common);
  if (chosen == "dump") return run_dump(what, file, after, common);
  if (chosen == "explain") return run_explain(code);
  if (chosen == "lock") return run_lock(lock, common);
  return run_info();
}

int guarded_main(std::vector<std::string> words) {
  try {
    if (words.empty()) words = {"--help"};
    if (words[0] == "help") {
      words.erase(words.begin());
      words.emplace_back("--help");
    }
    if (words[0] == "run") return main_run({words.begin() + 1, words.end()});
    return main_of(words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: ltrc itself made a mistake: {}\n  = help: please report it with the .ltr file\n",
               error.what());
    return kInternal;
  }
}

}  // namespace

void add_common(CLI::App& app, Common& common) {
  app.add_option("--message-format", common.message_format, "human, short or json")
      ->check(CLI::IsMember({"human", "short", "json"}));
  app.add_option("--color", common.color, "auto, always or never")->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--max-errors", common.max_errors, "stop after so many errors")->check(CLI::PositiveNumber);
  app.add_option("--deny", common.deny, "warnings, runtime-shapes: treat them as errors")
      ->check(CLI::IsMember({"warnings", "runtime-shapes"}));
  app.add_flag("--time", common.time, "print how long each phase took");
}

/// `guarded_main` on a stack for programs of all depths that the checks let pass: what walks over code is recursive.
int main_on_deep_stack(const std::vector<std::string>& words) {
  constexpr size_t kStack = size_t(256) << 20U;
  std::pair<const std::vector<std::string>&, int> job(words, 0);
  const auto run = [](void* given) -> void* {
    auto& [of, code] = *static_cast<decltype(job)*>(given);
    use_pools();
    code = guarded_main(of);
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread = 0;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  const bool is_started = pthread_create(&thread, &attributes, run, &job) == 0;
  pthread_attr_destroy(&attributes);
  if (!is_started) return guarded_main(words);
  resolve::LibraryIndex::get();  // While the other thread reads the command line and the program.
  pthread_join(thread, nullptr);
  return job.second;
}

}  // namespace ltr::driver

namespace {

/// One thread works, and the process soon ends: memory comes in one large step, on huge pages where the system has them, and none is
/// given back between. What of it is not used is never there.
void take_memory_in_large_steps() {
#if defined(__GLIBC__)
  constexpr int kStep = 64 << 20;
  constexpr uintptr_t kPage = 2 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TOP_PAD, kStep);
  mallopt(M_TRIM_THRESHOLD, 16 * kStep);
  mallopt(M_MMAP_THRESHOLD, kStep);
  // What malloc writes at both ends of its first piece would make small pages of the huge ones around it: that piece is larger than what
  // is left, so that it comes with the step, and ends before the first huge page.
  constexpr int kFirst = 192 << 10;
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  const uintptr_t huge = (end + kFirst + kPage - 1) / kPage * kPage;
  sbrk(intptr_t(huge - kFirst - end));
  void* const volatile first = std::malloc(kFirst / 4 * 3);  // volatile, or compilers leave out what nobody uses
  madvise(reinterpret_cast<void*>(huge), kStep - kPage, MADV_HUGEPAGE);
  std::free(first);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ltr::driver;
  take_memory_in_large_steps();
  watch_output();
  return end_output(main_on_deep_stack({argv + 1, argv + argc}));
}
