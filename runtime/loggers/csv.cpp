// `Csv()`: one row per step, columns fixed from the start, no clock: a killed and resumed run gives the bytes of an
// undisturbed one. Values of one step may come in several calls (step, round, epoch), so the last row stays open and is
// written again in its place.

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "doors/csv.h"
#include "doors/file.h"
#include "doors/number.h"
#include "runtime/loggers/make.h"
#include "runtime/loggers/waiting.h"

namespace ltr::loggers {

namespace {

Str row_of(const std::vector<Str>& cells) {
  Str row;
  for (const Str& cell : cells) {
    if (!row.empty()) row += ',';
    row += doors::csv_cell(cell);
  }
  row += '\n';
  return row;
}

class Csv : public Logger {
 public:
  Csv(Str path, int64_t resume_step)
      : path_(std::move(path)), resume_step_(resume_step), file_(path_, [this] { begin_file(); }) {}

  const char* name() const override { return "Csv"; }

  void columns(const std::vector<Str>& names) override {
    names_ = names;
    cells_.assign(names_.size(), "");
    file_.flush();
  }

  void scalars(int64_t step, int64_t epoch, double, const NamedValues& values) override {
    if (step != step_) {
      step_ = step;
      has_row_ = false;
      cells_.assign(cells_.size(), "");
    }
    bool is_changed = false;
    for (const auto& [name, value] : values) {
      const auto found = std::find(names_.begin(), names_.end(), name);
      if (found == names_.end()) continue;
      cells_[size_t(found - names_.begin())] = doors::shortest(value);
      is_changed = true;
    }
    if (!is_changed) return;
    Str row = std::to_string(step) + "," + std::to_string(epoch);
    for (const Str& cell : cells_) row += "," + cell;
    row += "\n";
    if (std::exchange(has_row_, true))
      file_.replace_last(std::move(row));
    else
      file_.append(std::move(row), true);
  }

  void flush() override { file_.flush(); }
  void close() override { file_.flush(); }
  bool is_waiting() const override { return file_.is_waiting(); }
  int64_t dropped() const override { return file_.dropped(); }

 private:
  /// The header, and with a resume the rows before its step. The checkpoint holds what belongs into the row of that step
  /// itself, and it is written again: what stands there may have been the end of a shorter run. A program that changed
  /// since goes by the names: new columns are empty in old rows, those that it has no more stay behind its own.
  void begin_file() {
    std::error_code failed;
    const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, failed);
    std::vector<Str> header{"step", "epoch"};
    header.insert(header.end(), names_.begin(), names_.end());
    Str rows;
    if (resume_step_ >= 0 && std::filesystem::exists(path_, failed)) rows = rows_before(resume_step_, header);
    doors::write_file_atomically(path_, row_of(header) + rows);
    // The row of the checkpoint's step may have values of columns that only the file has.
    names_.assign(header.begin() + 2, header.end());
    cells_.resize(names_.size());
  }

  /// Adds columns that only the file has to `header`.
  Str rows_before(int64_t first, std::vector<Str>& header) const {
    const Str text = doors::read_file(path_);
    doors::CsvReader reader(text);
    std::vector<Str> old;
    std::vector<Str> cells;
    reader.next(old);
    std::vector<size_t> places;  // of the old columns in `header`
    for (const Str& name : old) {
      places.push_back(size_t(std::find(header.begin(), header.end(), name) - header.begin()));
      if (places.back() == header.size()) header.push_back(name);
    }
    Str rows;
    while (reader.next(cells)) {
      int64_t step = 0;
      if (cells.size() != old.size() || !doors::parse_int(cells[0], step) || step >= first) continue;
      std::vector<Str> row(header.size());
      for (size_t i = 0; i < cells.size(); ++i) row[places[i]] = cells[i];
      rows += row_of(row);
    }
    return rows;
  }

  Str path_;
  int64_t resume_step_;
  std::vector<Str> names_;  ///< of the columns; those of an older program come last
  WaitingFile file_;
  int64_t step_ = -1;
  bool has_row_ = false;    ///< the row of `step_` was begun
  std::vector<Str> cells_;  ///< of that row, one for each name
};

}  // namespace

std::unique_ptr<Logger> make_csv(const Str& path, int64_t resume_step) {
  return std::make_unique<Csv>(path, resume_step);
}

}  // namespace ltr::loggers
