#include "runtime/cli/predictions.h"

#include <cerrno>
#include <cmath>
#include <system_error>

#include <ATen/ATen.h>

#include "doors/csv.h"
#include "doors/npy.h"
#include "doors/number.h"
#include "runtime/api/error.h"
#include "runtime/cli/terminal.h"
#include "runtime/tensor/dtype.h"

namespace ltr::cli {

namespace {

Str header(const at::Tensor& row) {
  if (row.numel() == 1) return "prediction\n";
  Str line;
  for (int64_t i = 0; i < row.numel(); ++i) line += fmt::format("{}prediction_{}", i == 0 ? "" : ",", i);
  return line + "\n";
}

Str number(const at::Tensor& value, bool is_json) {
  if (value.scalar_type() == at::kBool) return value.item().toBool() ? "true" : "false";
  if (!value.is_floating_point()) return std::to_string(value.item().toLong());
  // The shortest text of a float, not of the double that it widens to.
  const double wide = value.item().toDouble();
  if (value.scalar_type() == at::kFloat && std::isfinite(wide)) return fmt::format("{}", float(wide));
  return is_json ? doors::json_number(wide) : doors::shortest(wide);
}

Str nested(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return number(tensor, true);
  Str out = "[";
  for (int64_t i = 0; i < tensor.size(0); ++i) out += (i == 0 ? "" : ",") + nested(tensor[i]);
  return out + "]";
}

[[noreturn]] void refuse_write(const Str& path) {
  throw error_at({}, err::cannot_write, path, std::generic_category().message(errno));
}

}  // namespace

void put_utf8(Str& out, int32_t point) {
  const auto p = uint32_t(point);
  if (p < 0x80) {
    out += char(p);
  } else if (p < 0x800) {
    out += {char(0xC0 | p >> 6), char(0x80 | (p & 63))};
  } else if (p < 0x10000) {
    out += {char(0xE0 | p >> 12), char(0x80 | (p >> 6 & 63)), char(0x80 | (p & 63))};
  } else {
    out += {char(0xF0 | p >> 18), char(0x80 | (p >> 12 & 63)), char(0x80 | (p >> 6 & 63)), char(0x80 | (p & 63))};
  }
}

Str decode(const at::Tensor& ids, const std::vector<int32_t>& characters) {
  Str out;
  const at::Tensor flat = ids.flatten().to(at::kLong).contiguous();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const int64_t id = flat.const_data_ptr<int64_t>()[i];
    if (id >= 0 && id < int64_t(characters.size())) put_utf8(out, characters[size_t(id)]);
  }
  return out;
}

Predictions::Predictions(Str path, const std::vector<int32_t>* characters)
    : path_(std::move(path)), characters_(characters) {
  is_csv_ = path_.ends_with(".csv");
  is_npy_ = path_.ends_with(".npy");
  if (path_ == "-" || is_npy_) return;
  if (!is_csv_ && !path_.ends_with(".jsonl"))
    throw error_at({}, err::settings_contradict, fmt::format("--write {}: .jsonl, .csv, .npy or - are written", path_));
  file_.open(path_, std::ios::binary | std::ios::trunc);
  if (!file_) refuse_write(path_);
}

void Predictions::put(const at::Tensor& output) {
  const at::Tensor host = output.detach().to(at::kCPU).contiguous();
  if (is_npy_) {
    parts_.push_back(host);
    return;
  }
  for (int64_t i = 0; i < host.size(0); ++i) {
    put_faults(faults_.size());
    put_row(host[i]);
    ++row_;
  }
}

void Predictions::close(size_t rows) {
  put_faults(std::min(rows, faults_.size()));
  if (is_npy_) write_npy();
  if (!file_.is_open()) return;
  file_.close();
  if (!file_) refuse_write(path_);
}

void Predictions::put_row(const at::Tensor& row) {
  Str line;
  if (is_csv_) {
    if (!has_header_) line = header(row);
    has_header_ = true;
    const at::Tensor flat = row.flatten();
    if (characters_ != nullptr) line += doors::csv_cell(decode(row, *characters_));
    for (int64_t i = 0; characters_ == nullptr && i < flat.numel(); ++i)
      line += (i == 0 ? "" : ",") + number(flat[i], false);
  } else {
    line = "{\"prediction\":" + (characters_ != nullptr ? doors::json_string(decode(row, *characters_)) : nested(row)) + "}";
  }
  put_line(line + "\n");
}

void Predictions::put_faults(size_t end) {
  for (; row_ < end && !faults_[row_].empty(); ++row_) put_line("{\"error\":" + doors::json_string(faults_[row_]) + "}\n");
}

void Predictions::put_line(const Str& line) {
  if (path_ == "-")
    print_out(line);
  else
    file_ << line;
}

void Predictions::write_npy() {
  at::Tensor whole = parts_.empty() ? at::zeros({0}) : at::cat(parts_);
  if (whole.scalar_type() == at::kBFloat16) whole = whole.to(at::kFloat);
  const at::Tensor dense = whole.contiguous();
  doors::NpyArray array{stored_name(whole.scalar_type()), whole.sizes().vec(), {}};
  array.data.assign(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
  std::ofstream file(path_, std::ios::binary | std::ios::trunc);
  file << doors::encode_npy(array);
  file.close();
  if (!file) refuse_write(path_);
}

}  // namespace ltr::cli
