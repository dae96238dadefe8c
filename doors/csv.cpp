#include "doors/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "doors/file.h"

namespace ltr::doors {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

CsvReader::CsvReader(std::string_view text, char separator) : text_(text), separator_(separator) {
  if (text_.substr(0, 3) == "\xEF\xBB\xBF") position_ = 3;
}

bool CsvReader::take_line_end() {
  const size_t begin = position_;
  if (position_ < text_.size() && text_[position_] == '\r') ++position_;
  if (position_ < text_.size() && text_[position_] == '\n') ++position_;
  if (position_ > begin) ++next_line_;
  return position_ > begin;
}

std::string_view CsvReader::quoted_cell() {
  const size_t opened = position_++;
  std::string* whole = nullptr;
  size_t begin = position_;
  while (true) {
    const size_t end = text_.find('"', position_);
    if (end == std::string_view::npos) throw FormatError("", opened, "a quote is not closed");
    next_line_ += std::count(text_.begin() + long(position_), text_.begin() + long(end), '\n');
    position_ = end + 1;
    const bool is_doubled = position_ < text_.size() && text_[position_] == '"';
    if (!is_doubled && whole == nullptr) return text_.substr(begin, end - begin);
    if (whole == nullptr) {
      if (unescaped_count_ == unescaped_.size()) unescaped_.emplace_back();
      whole = &unescaped_[unescaped_count_++];
      whole->clear();
    }
    whole->append(text_.substr(begin, end - begin + size_t(is_doubled)));
    if (!is_doubled) return *whole;
    begin = ++position_;
  }
}

bool CsvReader::next(std::vector<std::string_view>& cells) {
  while (take_line_end()) continue;
  if (position_ >= text_.size()) return false;
  line_ = next_line_;
  cells.clear();
  unescaped_count_ = 0;
  const auto is_end = [&](char c) { return c == separator_ || c == '\n' || c == '\r'; };
  while (true) {
    if (position_ < text_.size() && text_[position_] == '"') {
      cells.push_back(quoted_cell());
      if (position_ < text_.size() && !is_end(text_[position_]))
        throw FormatError("", position_, "text behind a closing quote");
    } else {
      const size_t begin = position_;
      while (position_ < text_.size() && !is_end(text_[position_])) ++position_;
      cells.push_back(text_.substr(begin, position_ - begin));
    }
    if (position_ >= text_.size() || text_[position_] != separator_) break;
    ++position_;
  }
  take_line_end();
  return true;
}

bool CsvReader::next(std::vector<std::string>& cells) {
  if (!next(views_)) return false;
  cells.assign(views_.begin(), views_.end());
  return true;
}

bool parse_float(std::string_view text, double& value) {
  text = trim(text);
  if (text.empty() || text == "NA" || text == "N/A" || text == "nan" || text == "NaN" || text == "null") {
    value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  if (text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // Too small for a double is zero; too large is no number, for infinity is another.
    value = std::strtod(std::string(text).c_str(), nullptr);
    return std::isfinite(value);
  }
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_int(std::string_view text, int64_t& value) {
  text = trim(text);
  if (text.size() > 1 && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string csv_cell(std::string_view cell, char separator) {
  if (cell.find_first_of("\"\r\n") == std::string_view::npos && cell.find(separator) == std::string_view::npos) {
    return std::string(cell);
  }
  std::string out = "\"";
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

const std::string* number_among(const std::vector<std::string>& header) {
  double value = 0;
  const auto found = std::find_if(header.begin(), header.end(), [&](const std::string& name) {
    return parse_float(name, value) && std::isfinite(value);
  });
  return found == header.end() ? nullptr : &*found;
}

std::string likely_separator(const std::vector<std::string>& header) {
  const size_t place = header.size() == 1 ? header[0].find_first_of(";\t|") : std::string::npos;
  if (place == std::string::npos) return "";
  return header[0][place] == '\t' ? "\\t" : std::string(1, header[0][place]);
}

}  // namespace ltr::doors
