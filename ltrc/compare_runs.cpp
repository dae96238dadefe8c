// `ltrc compare`: runs side by side.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "doors/file.h"
#include "doors/runs/comparison.h"
#include "doors/runs/page.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "ltrc/source_files.h"

namespace ltr::driver {

namespace {

/// Of a text in UTF-8.
size_t width_of(const std::string& text) {
  return size_t(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void print_rows(const std::string& title, const std::vector<doors::Row>& rows, const std::vector<size_t>& widths) {
  if (rows.empty()) return;
  fmt::print("{}\n", title);
  for (const doors::Row& row : rows) {
    std::string line = "  " + row.name + std::string(widths[0] - width_of(row.name), ' ');
    for (size_t i = 0; i < row.cells.size(); ++i)
      line += "  " + row.cells[i] + std::string(widths[i + 1] - width_of(row.cells[i]), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

void print_table(const std::vector<doors::Run>& runs, const doors::Comparison& found) {
  doors::Row head{"", {}};
  for (const doors::Run& run : runs) head.cells.push_back(run.name);
  std::vector<size_t> widths(runs.size() + 1);
  const std::vector<doors::Row> heads = {head};
  for (const std::vector<doors::Row>* rows : {&heads, &found.about, &found.settings, &found.results}) {
    for (const doors::Row& row : *rows) {
      widths[0] = std::max(widths[0], width_of(row.name));
      for (size_t i = 0; i < row.cells.size(); ++i) widths[i + 1] = std::max(widths[i + 1], width_of(row.cells[i]));
    }
  }
  print_rows("runs", heads, widths);
  print_rows("", found.about, widths);
  print_rows("settings that differ", found.settings, widths);
  print_rows("last values", found.results, widths);
}

nlohmann::json json_of(const std::vector<doors::Row>& rows) {
  nlohmann::json out = nlohmann::json::object();
  for (const doors::Row& row : rows) out[row.name] = row.cells;
  return out;
}

void print_json(const std::vector<doors::Run>& runs, const doors::Comparison& found) {
  nlohmann::json names = nlohmann::json::array();
  for (const doors::Run& run : runs) names.push_back(run.folder);
  const nlohmann::json all = {{"runs", names},
                              {"about", json_of(found.about)},
                              {"settings", json_of(found.settings)},
                              {"results", json_of(found.results)}};
  fmt::print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Runs of several folders may be called alike.
void tell_apart(std::vector<doors::Run>& runs) {
  std::map<std::string, int> called;
  for (const doors::Run& run : runs) ++called[run.name];
  for (doors::Run& run : runs) {
    if (called[run.name] > 1) run.name = run.folder;
  }
}

}  // namespace

int run_compare(const CompareOptions& options) {
  std::vector<doors::Run> runs;
  for (const std::string& folder : options.runs) {
    try {
      runs.push_back(doors::read_run(folder, false));
    } catch (const std::exception& error) {  // FormatError, std::system_error: both name the file
      fmt::print(stderr, "error: {}\n", error.what());
      return kUsage;
    }
  }
  tell_apart(runs);
  const doors::Comparison found = doors::compare_runs(runs);
  if (options.json)
    print_json(runs, found);
  else
    print_table(runs, found);
  if (options.html.empty()) return kOk;
  if (const auto reason = write_file(options.html, doors::overlay_page(runs))) {
    fmt::print(stderr, "error: cannot write {}: {}\n", options.html, *reason);
    return kErrors;
  }
  return kOk;
}

}  // namespace ltr::driver
