// `report`: what a run came to, as one page for a browser.

#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include "doors/file.h"
#include "doors/runs/page.h"
#include "runtime/cli/verbs.h"

namespace ltr::cli {

namespace fs = std::filesystem;

int run_report(const Program& program, const CommandLine& line) {
  const Str run = named_run(program, line);
  const Str page = (fs::canonical(run) / "report.html").string();
  try {
    const Str text = doors::run_page(doors::read_run(run, true));
    try {
      doors::write_file_atomically(page, text);
    } catch (const std::system_error& error) {
      throw error_at({}, err::cannot_write, page, error.code().message());
    }
  } catch (const doors::FormatError& error) {
    throw error_at({}, err::run_damaged, run, error.what());
  } catch (const std::system_error& error) {
    throw error_at({}, err::run_damaged, run, error.what());
  }
  print_out(line.has("json") ? nlohmann::json({{"run", run}, {"page", page}}).dump() + "\n" : page + "\n");
  return 0;
}

}  // namespace ltr::cli
