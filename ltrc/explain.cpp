#include "dsl/diagnostics/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "dsl/diagnostics/diagnostic.h"
#include "dsl/diagnostics/suggest.h"
#include "dsl/source/embedded.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"

namespace ltr::driver {

/// Pages of the codes that programs give when they run: `R3001.md`.
extern const std::span<const source::EmbeddedFile> runtime_pages;

int run_explain(const std::string& given) {
  std::string code = given;
  std::transform(code.begin(), code.end(), code.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  // `303` is `E0303`.
  const bool is_number = !code.empty() && code.size() <= 4 && code.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) code = "E" + std::string(4 - code.size(), '0') + code;
  if (const auto page = diagnostics::explain(code)) {
    fmt::print("{}", *page);
    return kOk;
  }
  std::vector<std::string> known;
  for (const source::EmbeddedFile& page : runtime_pages) {
    const std::string name(page.name.substr(0, page.name.find('.')));
    if (name == code) {
      fmt::print("{}", page.text);
      return kOk;
    }
    known.push_back(name);
  }
  for (const diagnostics::CodeInfo& info : diagnostics::all_codes()) known.emplace_back(info.text);
  fmt::print(stderr, "error: there is no page for `{}`\n", given);
  if (const auto near = diagnostics::suggest(code, known)) fmt::print(stderr, "  = help: did you mean {}?\n", *near);
  return kUsage;
}

}  // namespace ltr::driver
