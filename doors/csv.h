#pragma once

// Delimited text (RFC 4180): quotes with newlines and doubled quotes, CRLF, LF or CR, a BOM at the start.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ltr::doors {

/// Line by line over a text that is kept by the caller.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text, char separator = ',');

  /// The next record into `cells`; false at the end. Blank lines are passed over.
  /// Throws FormatError (without a path: offset and reason) for a quote that is not closed, or text behind one.
  bool next(std::vector<std::string>& cells);
  /// The same without a copy: cells are of the text, or of the reader until it reads on.
  bool next(std::vector<std::string_view>& cells);
  /// Line on which the record that `next` gave last begins, from 1.
  int64_t line() const { return line_; }

 private:
  /// Moves behind LF, CRLF or CR, if one stands here.
  bool take_line_end();
  /// The cell behind the opening quote that stands here.
  std::string_view quoted_cell();

  std::string_view text_;
  size_t position_ = 0;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
  char separator_;
  std::deque<std::string> unescaped_;  ///< the first so many are cells of the record that hold quotes
  size_t unescaped_count_ = 0;
  std::vector<std::string_view> views_;
};

/// The whole of `text` as a number, in C's notation without locale; spaces around it are allowed.
/// Empty text, `NA`, `nan`, `NaN` are nan, `inf` is infinity. False if it is something else, or too large for a double.
bool parse_float(std::string_view text, double& value);
/// A decimal integer; spaces around it are allowed. False if it is none or does not fit.
bool parse_int(std::string_view text, int64_t& value);

/// `cell` as it must be written: in quotes where it holds the separator, quotes or line ends.
std::string csv_cell(std::string_view cell, char separator = ',');

/// The first of the names that is a number: then the line is no header, but a row. Null if none is.
const std::string* number_among(const std::vector<std::string>& header);

/// What seems to separate the columns of a header that came out as one, as a program writes it: ";", "\\t", "|", or "".
std::string likely_separator(const std::vector<std::string>& header);

}  // namespace ltr::doors
