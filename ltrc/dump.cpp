#include <fmt/core.h>

#include "codegen/ir/text.h"
#include "dsl/ast/dump.h"
#include "dsl/check/dump.h"
#include "dsl/diagnostics/load_source.h"
#include "dsl/lex/dump.h"
#include "dsl/lex/lex.h"
#include "dsl/parse/parse.h"
#include "ltrc/canonical.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "ltrc/externs.h"

namespace ltr::driver {

int run_dump(const std::string& what, const std::string& file, const std::string& after, const Common& common) {
  Compilation compilation;
  if (what == "tokens" || what == "ast") {
    compilation.sink = std::make_unique<diagnostics::Sink>(common.max_errors);
    const auto id = diagnostics::load_source(file, compilation.sources, *compilation.sink);
    if (id && what == "tokens") {
      fmt::print(
          "{}", lex::dump_tokens(lex::lex(*id, compilation.sources.text(*id), *compilation.sink), compilation.sources));
    } else if (id) {
      fmt::print("{}", ast::dump_ast(parse::parse(*id, compilation.sources, *compilation.sink), &compilation.sources));
    }
    std::fflush(stdout);
    return report(compilation, common);
  }
  analyze(file, common, compilation);
  const int status = report(compilation, common);
  if (status != kOk || !compilation.program) return status;
  if (what == "typed") {
    fmt::print("{}", check::dump_typed(*compilation.program, compilation.sources, library_sources(compilation)));
    return kOk;
  }
  if (what == "header") {
    for (const std::string& header : extern_headers(compilation)) fmt::print("{}", header);
    return kOk;
  }
  std::string dumped;
  ir::Module module = to_ir(compilation, after, &dumped);
  if (what == "canonical") {
    for (const Canonical& form : canonical_forms(module)) fmt::print("experiment {}\n{}", form.experiment, form.text());
  } else if (what == "ir") {
    fmt::print("{}", after.empty() ? ir::print(module) : dumped);
  } else {
    fmt::print("{}", to_cpp(compilation, module));
  }
  return kOk;
}

}  // namespace ltr::driver
