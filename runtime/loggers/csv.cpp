// `Csv()`: one row per step, columns fixed from the start, no clock: a killed and resumed run gives the bytes of an
// undisturbed one. Values of one step may come in several calls (step, round, epoch), so the last row stays open and is
// written again in its place.

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "doors/csv.h"
#include "doors/file.h"
#include "doors/number.h"
#include "runtime/loggers/make.h"

namespace ltr::loggers {

namespace {

class Csv : public Logger {
 public:
  Csv(Str path, int64_t resume_step) : path_(std::move(path)), resume_step_(resume_step) {}
  ~Csv() override {
    if (file_ >= 0) ::close(file_);
  }

  const char* name() const override { return "Csv"; }

  void columns(const std::vector<Str>& names) override {
    names_ = names;
    Str header = "step,epoch";
    for (const Str& name : names) header += "," + doors::csv_cell(name);
    header += "\n";
    std::error_code failed;
    const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, failed);
    if (resume_step_ >= 0 && std::filesystem::exists(path_, failed))
      keep_before(resume_step_, header);
    else
      doors::write_file_atomically(path_, header);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC, 0666);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_);
    offset_ = ::lseek(file_, 0, SEEK_END);
  }

  void scalars(int64_t step, int64_t epoch, double, const NamedValues& values) override {
    if (file_ < 0) return;
    if (step != step_) {
      write_row();
      offset_ += int64_t(written_);
      written_ = 0;
      step_ = step;
      epoch_ = epoch;
      cells_.assign(names_.size(), "");
    }
    for (const auto& [name, value] : values) {
      const auto found = std::find(names_.begin(), names_.end(), name);
      if (found == names_.end()) continue;
      cells_[size_t(found - names_.begin())] = doors::shortest(value);
      is_changed_ = true;
    }
    write_row();
  }

 private:
  void write_row() {
    if (!is_changed_) return;
    Str row = std::to_string(step_) + "," + std::to_string(epoch_);
    for (const Str& cell : cells_) row += "," + cell;
    row += "\n";
    const ssize_t count = ::pwrite(file_, row.data(), row.size(), offset_);
    if (count != ssize_t(row.size())) {
      throw std::system_error(count < 0 ? errno : ENOSPC, std::generic_category(), path_);
    }
    written_ = row.size();
    is_changed_ = false;
  }

  /// Cuts the rows from `first` on by rewrite and rename. The checkpoint holds what belongs into the row of `first`
  /// itself, and it is written again: what stands there may have been the end of a shorter run.
  void keep_before(int64_t first, const Str& header) {
    const Str text = doors::read_file(path_);
    doors::CsvReader reader(text);
    std::vector<Str> cells;
    Str kept = header;
    reader.next(cells);
    while (reader.next(cells)) {
      int64_t step = 0;
      if (cells.size() != names_.size() + 2 || !doors::parse_int(cells[0], step) || step >= first) continue;
      Str row;
      for (size_t i = 0; i < cells.size(); ++i) row += (i == 0 ? "" : ",") + cells[i];
      row += "\n";
      kept += row;
    }
    doors::write_file_atomically(path_, kept);
  }

  Str path_;
  int64_t resume_step_;
  std::vector<Str> names_;
  int file_ = -1;
  int64_t offset_ = 0;  ///< where the open row begins
  size_t written_ = 0;  ///< its bytes on disk
  int64_t step_ = -1;
  int64_t epoch_ = 0;
  std::vector<Str> cells_;
  bool is_changed_ = false;
};

}  // namespace

std::unique_ptr<Logger> make_csv(const Str& path, int64_t resume_step) {
  return std::make_unique<Csv>(path, resume_step);
}

}  // namespace ltr::loggers
