#include "runtime/cli/predictions.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>

#include <ATen/ATen.h>

#include "doors/csv.h"
#include "doors/npy.h"
#include "doors/number.h"
#include "doors/png.h"
#include "doors/safetensors.h"
#include "doors/zip.h"
#include "runtime/api/error.h"
#include "runtime/cli/terminal.h"
#include "runtime/data/texts.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/image.h"
#include "runtime/train/output_rows.h"

namespace ltr::cli {

namespace fs = std::filesystem;

namespace {

/// The names of the cells of a row: of an output of several elements with their numbers.
std::vector<Str> columns(const std::vector<Str>& names, const std::vector<bool>& are_texts,
                         const std::vector<at::Tensor>& outputs, int64_t row) {
  std::vector<Str> all;
  for (size_t k = 0; k < names.size(); ++k) {
    const int64_t count = are_texts[k] ? 1 : outputs[k][row].numel();
    for (int64_t i = 0; i < count; ++i) all.push_back(count == 1 ? names[k] : fmt::format("{}_{}", names[k], i));
  }
  return all;
}

/// An array has one width, and batches that were filled up may have several.
void check_widths(const std::vector<at::Tensor>& parts, const Str& name) {
  for (const at::Tensor& part : parts) {
    if (part.sizes().slice(1) == parts[0].sizes().slice(1)) continue;
    throw with_help(error_at({}, err::settings_contradict,
                             fmt::format("--write: the rows of {} differ in size, which an array cannot hold", name)),
                    "--write x.jsonl takes rows of any size");
  }
}

/// R2006 where they are too many bytes for an archive.
Str zip_of(const Str& path, const std::vector<std::pair<Str, Str>>& entries) {
  try {
    return doors::encode_zip(entries);
  } catch (const std::length_error&) {
    throw with_help(
        error_at({}, err::settings_contradict, fmt::format("--write {}: it would have more than 4 GiB", path)),
        "--write x.safetensors holds as much as the disk");
  }
}

[[noreturn]] void refuse_write(const Str& path) {
  throw error_at({}, err::cannot_write, path, std::generic_category().message(errno));
}

void write_whole(const Str& path, const Str& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (!file) refuse_write(path);
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

Predictions::Predictions(Str path, const std::vector<int32_t>* characters, bool writes)
    : path_(std::move(path)), characters_(characters), writes_(writes) {
  constexpr std::pair<const char*, Form> kForms[] = {{".jsonl", Form::Lines},
                                                     {".csv", Form::Csv},
                                                     {".npy", Form::Npy},
                                                     {".npz", Form::Npz},
                                                     {".safetensors", Form::Safetensors},
                                                     {"/", Form::Pictures}};
  const auto* form = std::ranges::find_if(kForms, [&](const auto& one) { return path_.ends_with(one.first); });
  if (form != std::end(kForms)) form_ = form->second;
  if (path_ == "-" || is_of_arrays()) return;
  if (form == std::end(kForms))
    throw error_at(
        {}, err::settings_contradict,
        fmt::format("--write {}: .jsonl, .csv, .npy, .npz, .safetensors, a folder/ or - are written", path_));
  if (form_ == Form::Pictures) open_folder();
  if (!writes_ || form_ == Form::Pictures) return;
  if (!fs::exists(path_) || fs::is_regular_file(path_)) part_ = path_ + ".part";
  file_.open(part_.empty() ? path_ : part_, std::ios::binary | std::ios::trunc);
  if (!file_) refuse_write(path_);
}

Predictions::~Predictions() {
  if (part_.empty()) return;
  std::error_code ignored;
  fs::remove_all(part_, ignored);
}

void Predictions::open_folder() {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  std::error_code failed;
  if (fs::exists(path_, failed) && !fs::is_empty(path_, failed)) {
    throw with_help(
        error_at({}, err::settings_contradict,
                 fmt::format("--write {}/: something is there already, which pictures would be mixed with", path_)),
        "name a new folder");
  }
  if (!writes_) return;
  part_ = path_ + ".part";
  fs::remove_all(part_, failed);
  fs::create_directories(part_, failed);
  if (failed) throw error_at({}, err::cannot_write, path_, failed.message());
}

void Predictions::put_pictures(const std::vector<at::Tensor>& outputs, int64_t row) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const at::Tensor one = outputs[k][row];
    const bool is_picture =
        !are_texts_[k] && (one.is_floating_point() || one.scalar_type() == at::kByte) && one.numel() > 0 &&
        (one.dim() == 2 || (one.dim() == 3 && (one.size(0) == 1 || one.size(0) == 3 || one.size(0) == 4)));
    if (!is_picture) {
      throw with_help(
          error_at({}, err::settings_contradict,
                   fmt::format(
                       "--write {}/: {} is no image: u8 or float in 0 to 1, [C, H, W] of 1, 3 or 4 channels, or [H, W]",
                       path_, names_[k])),
          "--write x.npz takes any array");
    }
    if (!writes_) continue;
    const Str name = outputs.size() == 1 ? "" : "." + names_[k];
    const Str file = fmt::format("{}/{:06}{}.png", part_, row_ + 1, name);
    write_whole(file, doors::encode_png(image_of(one)));
  }
}

void Predictions::put(const Outputs& outputs) {
  std::vector<at::Tensor> host;
  names_.clear();
  are_texts_.clear();
  for (const Output& one : outputs) {
    names_.emplace_back(one.name);
    are_texts_.push_back(one.is_texts);
    host.push_back(aten(one.value).detach().to(at::kCPU).contiguous());
  }
  count_not_finite(host);
  if (is_of_arrays()) {
    refuse_texts();
    parts_.resize(host.size());
    for (size_t k = 0; k < host.size(); ++k) parts_[k].push_back(host[k]);
    return;
  }
  const bool is_text = characters_ != nullptr && outputs.size() == 1;
  const std::vector<Str> lines = form_ != Form::Lines || is_text ? std::vector<Str>() : json_rows(outputs);
  for (int64_t i = 0; i < host[0].size(0); ++i) {
    put_faults(faults_.size());
    if (form_ == Form::Pictures)
      put_pictures(host, i);
    else if (lines.empty())
      put_row(host, i);
    else
      put_line(lines[size_t(i)] + "\n");
    ++row_;
  }
}

void Predictions::count_not_finite(const std::vector<at::Tensor>& outputs) {
  at::Tensor bad = at::zeros({outputs[0].size(0)}, at::kBool);
  for (const at::Tensor& one : outputs) {
    if (one.is_floating_point() && one.numel() > 0)
      bad |= one.isfinite().logical_not().reshape({one.size(0), -1}).any(1);
  }
  const at::Tensor rows = bad.nonzero();
  if (not_finite_ == 0 && rows.size(0) > 0) first_not_finite_ = put_ + rows[0].item<int64_t>() + 1;
  not_finite_ += rows.size(0);
  put_ += bad.size(0);
}

void Predictions::close(size_t rows) {
  if (!writes_) return;
  put_faults(std::min(rows, faults_.size()));
  if (is_of_arrays()) write_arrays();
  if (form_ != Form::Pictures) {
    if (!file_.is_open()) return;
    file_.close();
  }
  if (!file_) refuse_write(path_);
  std::error_code failed;
  if (!part_.empty()) fs::rename(part_, path_, failed);
  if (failed) throw error_at({}, err::cannot_write, path_, failed.message());
}

Option<Str> Predictions::text_in(const std::vector<at::Tensor>& outputs, size_t k, int64_t row) const {
  if (are_texts_[k]) return unpack_texts(outputs[k].narrow(0, row, 1))[0];
  if (characters_ != nullptr && outputs.size() == 1) return decode(outputs[k][row], *characters_);
  return std::nullopt;
}

void Predictions::put_row(const std::vector<at::Tensor>& outputs, int64_t row) {
  const bool is_text = characters_ != nullptr && outputs.size() == 1, is_csv = form_ == Form::Csv;
  std::vector<Str> cells;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const at::Tensor one = outputs[k][row];
    const Option<Str> text = text_in(outputs, k, row);
    if (!is_csv) {
      cells.push_back(fmt::format("{}:{}", doors::json_string(names_[k]), doors::json_string(*text)));
    } else if (text) {
      cells.push_back(doors::csv_cell(*text));
    } else {
      const at::Tensor flat = one.flatten();
      for (int64_t i = 0; i < flat.numel(); ++i) cells.push_back(number_text(flat[i], false));
    }
  }
  if (is_csv && !has_header_) put_header(is_text ? names_ : columns(names_, are_texts_, outputs, row));
  if (!has_header_) columns_ = cells.size();
  has_header_ = true;
  if (is_csv && cells.size() != columns_) {
    throw with_help(
        error_at({}, err::settings_contradict,
                 fmt::format("--write {}: record {} has {} columns and the first {}, which a table cannot hold", path_,
                             row_ + 1, cells.size(), columns_)),
        "--write x.jsonl takes rows of any size");
  }
  const Str line = fmt::format("{}", fmt::join(cells, ","));
  put_line(is_csv ? line + "\n" : "{" + line + "}\n");
}

void Predictions::put_header(const std::vector<Str>& names) {
  std::set<Str> known;
  for (const Str& name : names) {
    if (known.insert(name).second) continue;
    throw with_help(
        error_at({}, err::settings_contradict, fmt::format("--write {}: two columns would be named {}", path_, name)),
        "--write x.jsonl keeps the outputs apart");
  }
  put_line(fmt::format("{}\n", fmt::join(names, ",")));
}

void Predictions::put_faults(size_t end) {
  for (; row_ < end && !faults_[row_].empty(); ++row_)
    put_line("{\"error\":" + doors::json_string(faults_[row_]) + "}\n");
}

void Predictions::put_line(const Str& line) {
  if (path_ == "-")
    print_out(line);
  else
    file_ << line;
}

std::vector<Str> Predictions::files() const {
  if (form_ == Form::Pictures) return {path_ + "/"};
  if (form_ != Form::Npy || names_.size() < 2) return {path_};
  std::vector<Str> all;
  for (const Str& name : names_) all.push_back(path_.substr(0, path_.size() - 3) + name + ".npy");
  return all;
}

void Predictions::refuse_texts() const {
  for (size_t k = 0; k < names_.size(); ++k) {
    if (form_ != Form::Safetensors || !are_texts_[k]) continue;
    throw with_help(error_at({}, err::settings_contradict,
                             fmt::format("--write {}: {} is texts, which safetensors cannot hold", path_, names_[k])),
                    "--write x.npz, x.csv or x.jsonl takes texts");
  }
}

at::Tensor Predictions::whole(size_t k) const {
  check_widths(parts_[k], names_[k]);
  return at::cat(parts_[k]).contiguous();
}

Str Predictions::npy_of(size_t k) const {
  if (are_texts_[k]) {
    std::vector<Str> texts;
    for (const at::Tensor& part : parts_[k]) {
      for (Str& text : unpack_texts(part)) texts.push_back(std::move(text));
    }
    return doors::encode_npy_texts(texts);
  }
  at::Tensor dense = whole(k);
  if (dense.scalar_type() == at::kBFloat16) dense = dense.to(at::kFloat);  // NumPy has no such numbers.
  doors::NpyArray array{stored_name(dense.scalar_type()), dense.sizes().vec(), {}};
  array.data.assign(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
  return doors::encode_npy(array);
}

void Predictions::write_safetensors(const Str& path) const {
  std::vector<at::Tensor> arrays;
  std::vector<doors::TensorEntry> entries;
  for (size_t k = 0; k < names_.size(); ++k) {
    const at::Tensor& array = arrays.emplace_back(whole(k));
    entries.push_back(
        {names_[k], stored_name(array.scalar_type()), array.sizes().vec(), array.const_data_ptr(), array.nbytes()});
  }
  try {
    doors::write_safetensors(path, std::move(entries), {});
  } catch (const std::system_error& error) {
    throw error_at({}, err::cannot_write, path_, error.code().message());
  }
}

void Predictions::write_arrays() {
  if (parts_.empty()) {  // There was no record.
    names_ = {"prediction"};
    are_texts_ = {false};
    parts_.push_back({at::zeros({0})});
  }
  const std::vector<Str> paths = files();
  std::vector<std::pair<Str, Str>> entries;
  for (size_t k = 0; form_ == Form::Npz && k < names_.size(); ++k) entries.emplace_back(names_[k] + ".npy", npy_of(k));
  for (size_t k = 0; k < paths.size(); ++k) {
    const bool is_file = !fs::exists(paths[k]) || fs::is_regular_file(paths[k]);
    if (is_file) part_ = paths[k] + ".part";
    const Str& to = is_file ? part_ : paths[k];
    if (form_ == Form::Npy) write_whole(to, npy_of(k));
    if (form_ == Form::Npz) write_whole(to, zip_of(path_, entries));
    if (form_ == Form::Safetensors) write_safetensors(to);
    std::error_code failed;
    if (is_file) fs::rename(part_, paths[k], failed);
    if (failed) throw error_at({}, err::cannot_write, paths[k], failed.message());
  }
}

}  // namespace ltr::cli
