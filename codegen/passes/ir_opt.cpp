// Runs one pass over IR in text form: `ir_opt PASS FILE`, `ir_opt PASS -` for standard input. Prints what comes out, or
// what is wrong. With `--twice` the pass runs again and must change nothing.

#include <fstream>
#include <iostream>
#include <sstream>

#include "codegen/ir/text.h"
#include "codegen/passes/pipeline.h"

int main(int argc, char** argv) {
  using namespace ltr;
  const bool twice = argc == 4 && std::string(argv[3]) == "--twice";
  if (argc != 3 && !twice) {
    std::cerr << "usage: ir_opt PASS|none FILE|- [--twice]\n";
    return 2;
  }
  const std::string name = argv[1];
  const passes::Pass* pass = passes::find_pass(name);
  if (pass == nullptr && name != "none") {
    std::cerr << "ir_opt: no pass named " << name << "\n";
    return 2;
  }
  std::stringstream text;
  if (std::string(argv[2]) == "-") {
    text << std::cin.rdbuf();
  } else {
    std::ifstream file(argv[2]);
    if (!file) {
      std::cerr << "ir_opt: cannot read " << argv[2] << "\n";
      return 2;
    }
    text << file.rdbuf();
  }
  ir::ReadError error;
  std::optional<ir::Module> module = ir::read(text.str(), error);
  if (!module) {
    std::cerr << argv[2] << ":" << error.line << ": " << error.message << "\n";
    return 1;
  }
  const auto verified = [&](const char* when) {
    for (const std::string& mistake : ir::verify(*module)) std::cerr << when << ": " << mistake << "\n";
    return ir::verify(*module).empty();
  };
  if (!verified("before")) return 1;
  if (pass != nullptr) pass->run(*module);
  if (!verified("after")) return 1;
  const std::string printed = ir::print(*module);
  std::cout << printed;
  if (twice && pass != nullptr) {
    pass->run(*module);
    if (ir::print(*module) != printed) {
      std::cerr << "a second run of " << name << " changes the module\n";
      return 1;
    }
  }
  return 0;
}
