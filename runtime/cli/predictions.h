#pragma once

// Where predictions go: one row for each record, in the form that the file's ending says.

#include <fstream>

#include <ATen/core/Tensor.h>

#include "ltr/api.h"

namespace ltr::cli {

/// The text that `ids` stand for.
Str decode(const at::Tensor& ids, const std::vector<int32_t>& characters);
/// `point` behind `out`.
void put_utf8(Str& out, int32_t point);

/// Writes rows to `.jsonl`, `.csv` and `-` as they come, and whole arrays at the end: to `.npz` and `.safetensors` each output under
/// its name, to `.npy` the one, or of several one file each, `out.NAME.npy`. Texts are arrays in NumPy's files alone. To a folder,
/// `out/`, a PNG for each record, `000001.png`, or of several outputs one each, `000001.NAME.png`; the folder is new, or empty.
class Predictions {
 public:
  /// `characters`: the one output is ids of them and is written as text; null for numbers. R1004, or R2006 for another ending.
  /// Not `writes`: another rank does.
  Predictions(Str path, const std::vector<int32_t>* characters, bool writes);
  /// What was not closed leaves nothing, and the file of before as it was.
  ~Predictions();
  Predictions(const Predictions&) = delete;
  Predictions& operator=(const Predictions&) = delete;

  /// Whether a row may say what is wrong with its record.
  bool takes_faults() const { return form_ == Form::Lines; }
  /// What is wrong with the rows of the input, "" for a good one: good rows are predicted, the others stand between them.
  void set_faults(std::vector<Str> faults) { faults_ = std::move(faults); }

  /// The same of one row that has not been written.
  void set_fault(size_t row, Str fault) { faults_[row] = std::move(fault); }

  /// The outputs of the next good rows.
  void put(const Outputs& outputs);
  /// What is written to, for several outputs in `.npy` one file each.
  std::vector<Str> files() const;
  /// Rows with a number that is not finite, of those that `put` got, and the first of them from 1; 0 if there are none.
  int64_t not_finite() const { return not_finite_; }
  int64_t first_not_finite() const { return first_not_finite_; }

  /// Writes what is left, of the first `rows` rows of the input.
  void close(size_t rows);

 private:
  enum class Form { Lines, Csv, Npy, Npz, Safetensors, Pictures };
  bool is_of_arrays() const { return form_ != Form::Lines && form_ != Form::Csv && form_ != Form::Pictures; }
  void count_not_finite(const std::vector<at::Tensor>& outputs);
  void open_folder();
  void put_pictures(const std::vector<at::Tensor>& outputs, int64_t row);
  void put_row(const std::vector<at::Tensor>& outputs, int64_t row);
  /// The text in row `row` of the output `k`, if it is texts.
  Option<Str> text_in(const std::vector<at::Tensor>& outputs, size_t k, int64_t row) const;
  /// Rows with faults from here to the next good one, at most up to `end`.
  void put_header(const std::vector<Str>& names);
  void put_faults(size_t end);
  void put_line(const Str& line);
  void refuse_texts() const;
  /// The output `k` of all rows.
  at::Tensor whole(size_t k) const;
  /// The same as a file of NumPy.
  Str npy_of(size_t k) const;
  void write_arrays();
  void write_safetensors(const Str& path) const;

  Str path_;
  Str part_;  ///< where `file_` is until it is whole; "" for what is no file, such as a pipe
  const std::vector<int32_t>* characters_;
  bool writes_;
  Form form_ = Form::Lines;
  bool has_header_ = false;
  size_t columns_ = 0;  ///< of the header
  std::ofstream file_;
  std::vector<Str> names_;                      ///< of the outputs
  std::vector<bool> are_texts_;                 ///< likewise
  std::vector<std::vector<at::Tensor>> parts_;  ///< of each output, to be written at the end
  std::vector<Str> faults_;
  size_t row_ = 0;  ///< of the input
  int64_t put_ = 0;
  int64_t not_finite_ = 0;
  int64_t first_not_finite_ = 0;
};

}  // namespace ltr::cli
