#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "ltrc/commands.h"
#include "ltrc/exit_code.h"

namespace ltr::driver {

namespace {

struct Tally {
  size_t passed = 0;
  size_t failed = 0;
  bool was_interrupted = false;
  int refused = kOk;  ///< what a program exited with that began no test, and said why
};

/// Runs the binary's tests; its lines are passed on, its last one is read for the counts.
bool run_binary(const std::string& program, const TestOptions& options, Tally& tally) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    std::vector<std::string> words = {program, "__tests"};
    if (!options.filter.empty()) words.insert(words.end(), {"--filter", options.filter});
    if (!options.devices.empty()) words.insert(words.end(), {"--devices", options.devices});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  close(ends[1]);
  FILE* lines = fdopen(ends[0], "r");
  char* line = nullptr;
  size_t capacity = 0;
  bool has_counts = false;
  while (getline(&line, &capacity, lines) > 0) {
    size_t passed = 0, failed = 0;
    if (std::sscanf(line, "%zu passed, %zu failed", &passed, &failed) == 2) {
      tally.passed += passed;
      tally.failed += failed;
      has_counts = true;
    } else {
      std::fputs(line, stdout);
      std::fflush(stdout);
    }
  }
  std::free(line);
  std::fclose(lines);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  tally.was_interrupted = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 130);
  if (!has_counts && WIFEXITED(status)) tally.refused = WEXITSTATUS(status);
  return has_counts;
}

}  // namespace

int run_test(const TestOptions& options, const Common& common) {
  Tally tally;
  for (const std::string& file : options.files) {
    Compilation compilation;
    const Compiled compiled = compile(file, common, {}, compilation);
    if (compiled.exit_code != kOk) return compiled.exit_code;
    bool any_to_run = false;
    for (const check::Test& test : compilation.program->tests) {
      // A test that `fails` was judged by the checker: had it not failed as it says, there would be
      // an error above.
      if (!test.is_fails) {
        any_to_run = true;
      } else if (options.filter.empty() || test.title.find(options.filter) != std::string::npos) {
        fmt::print("PASS {}\n", test.title);
        ++tally.passed;
      }
    }
    std::fflush(stdout);
    if (any_to_run && !run_binary(compiled.program.string(), options, tally)) {
      if (tally.was_interrupted) return 130;
      if (tally.refused != kOk) return tally.refused;
      fmt::print(stderr, "error: the tests of {} ended without a result\n", file);
      return kErrors;
    }
  }
  fmt::print("{} passed, {} failed\n", tally.passed, tally.failed);
  return tally.failed > 0 ? kErrors : kOk;
}

}  // namespace ltr::driver
