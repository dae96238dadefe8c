#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "doors/shell.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"

namespace ltr::driver {

int run_run(const std::string& file, const std::vector<std::string>& arguments, const Common& common) {
  Compilation compilation;
  const Compiled compiled = compile(file, common, {}, compilation);
  if (compiled.exit_code != kOk) return compiled.exit_code;
  std::string program = compiled.program.string();
  // What it is called by: its own advice says what to type.
  std::string called = "ltrc run " + doors::shell_word(file);
  std::vector<char*> argv = {called.data()};
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  // The program takes the place of ltrc: signals, exit code and terminal are its own.
  execv(program.c_str(), argv.data());
  fmt::print(stderr, "error: cannot start {}: {}\n", program, std::strerror(errno));
  return kErrors;
}

}  // namespace ltr::driver
