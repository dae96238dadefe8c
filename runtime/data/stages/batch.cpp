// `window` and `collate`: several records as one, with a new first dim.

#include <algorithm>
#include <cmath>
#include <memory>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/rows.h"
#include "runtime/data/stream.h"
#include "runtime/data/texts.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Each field with `first` as new first dim; host fields become tensors, texts only in batches.
Schema stacked(const Schema& schema, int64_t first, const char* stage, bool is_batch) {
  Schema out = schema;
  for (FieldInfo& field : out) {
    switch (field.host[0]) {
      case '\0': break;
      case 'i': field.dtype = DType::I64; break;
      case 'f': field.dtype = DType::Float; break;
      case 'b': field.dtype = DType::Bool; break;
      default:
        if (!is_batch) {
          throw with_help(error_here(err::schema_differs, stage,
                                     fmt::format("the field {} is text, which no tensor holds", field.name)),
                          "leave it out with select, or encode it in a map: class_of(…, […])");
        }
        field.dtype = DType::U8;
        field.dims = {-1};
        field.form = FieldForm::Texts;
    }
    field.host = "";
    field.dims.insert(field.dims.begin(), first);
  }
  return out;
}

at::Tensor rows_of(const FieldInfo& field, int64_t count) {
  std::vector<int64_t> sizes = field.dims;
  sizes[0] = count;
  return at::empty(sizes, at::TensorOptions().dtype(field_type(field)));
}

class Window : public Stage {
 public:
  Window(const Stream& inner, int64_t n, int64_t stride)
      : Stage(stacked(inner.state()->schema(), n, "window", false), inner), n_(n), stride_(stride) {
    const int64_t records = this->inner().size();
    if (records == kEndless)
      size_ = kEndless;
    else
      size_ = records < n ? 0 : (records - n) / stride + 1;
    for (const FieldInfo& field : this->inner().schema()) {
      const int64_t bytes = row_bytes(field);
      if (bytes < 0) {
        throw error_here(err::schema_differs, "window",
                         fmt::format("the field {} is {}, of no fixed size", field.name, type_text(field)));
      }
      bytes_.push_back(bytes);
    }
  }

  int64_t size() const override { return size_; }
  Origin origin(const ReadAt& at) const override { return {this, at}; }
  const StreamState* root() const override { return this; }
  bool is_pure() const override { return is_fixed(); }
  Stream rebuilt(const Stream& source) const override {
    return Stream(new Window(inner().rebuilt(source), n_, stride_));
  }
  Str name_of(const ReadAt& at) const override {
    return fmt::format("{} records from {}", n_, inner().name_of(first(at)));
  }
  /// A window lacks all its records if it lacks one.
  bool is_left_out(const ReadAt& at) const override {
    ReadAt one = first(at);
    for (int64_t i = 0; i < n_; ++i, ++one.index) {
      if (inner().is_left_out(one)) return true;
    }
    return false;
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override {
    std::vector<std::byte*> targets(rows, rows + schema_.size());
    ReadAt one = first(at);
    for (int64_t i = 0; i < n_; ++i, ++one.index) {
      if (!inner().fill(one, targets.data())) return false;
      for (size_t field = 0; field < targets.size(); ++field) targets[field] += bytes_[field];
    }
    return true;
  }

  bool read(const ReadAt& at, Record& out) const override {
    std::vector<std::byte*> rows;
    out.resize(schema_.size());
    for (size_t i = 0; i < schema_.size(); ++i) {
      at::Tensor tensor = rows_of(schema_[i], n_);
      rows.push_back(static_cast<std::byte*>(tensor.data_ptr()));
      out[i].tensor = give(std::move(tensor));
    }
    return fill(at, rows.data());
  }

 private:
  ReadAt first(const ReadAt& at) const {
    ReadAt out = at;
    out.index *= stride_;
    return out;
  }

  int64_t n_;
  int64_t stride_;
  int64_t size_ = 0;
  std::vector<int64_t> bytes_;
};

/// What fills fields up whose last size differs from record to record, and which of their lengths are kept: pairs of a
/// field and the name of its lengths.
struct Padding {
  Option<double> fill;  ///< of all fields that `fills` does not name
  std::vector<std::tuple<Str, double>> fills;
  std::vector<std::tuple<Str, Str>> lengths;
  int64_t multiple = 1;  ///< of the size to which they are filled up
  bool is_left = false;

  /// What fills up `field`, if something does.
  Option<double> fill_of(const Str& field) const {
    for (const auto& [name, value] : fills) {
      if (name == field) return value;
    }
    return fill;
  }
};

Schema batched(const Schema& record, const Padding& padding) {
  Schema out = stacked(record, -1, "collate", true);
  for (const auto& [field, name] : padding.lengths)
    out.push_back({name.c_str(), DType::I64, {-1}, "", FieldForm::Lengths});
  return out;
}

class Collate : public Stage {
 public:
  /// `padding` outlives the stream, which takes the names of its fields from there.
  Collate(const Stream& inner, int64_t size, bool drop_last, std::shared_ptr<const Padding> padding)
      : Stage(batched(inner.state()->schema(), *padding), inner),
        batch_(size),
        drop_last_(drop_last),
        padding_(std::move(padding)) {
    for (const FieldInfo& field : this->inner().schema()) {
      bytes_.push_back(row_bytes(field));
      has_rows_ = has_rows_ && bytes_.back() >= 0;
    }
    has_rows_ = has_rows_ && padding_->lengths.empty();
    for (const auto& [field, fill] : padding_->fills) static_cast<void>(column_of(field));
    check_filling();
    for (const auto& [field, name] : padding_->lengths) measured_.push_back(column_of(field));
    this->inner().group(size);
  }

  int64_t size() const override {
    const int64_t records = inner().size();
    if (records == kEndless) return kEndless;
    return drop_last_ ? records / batch_ : (records + batch_ - 1) / batch_;
  }
  Origin origin(const ReadAt& at) const override { return {this, at}; }
  const StreamState* root() const override { return this; }
  bool is_pure() const override { return is_fixed(); }
  Stream rebuilt(const Stream& source) const override {
    return Stream(new Collate(inner().rebuilt(source), batch_, false, padding_));
  }
  int64_t batch_size() const override { return batch_; }
  int64_t batch_samples(int64_t index) const override {
    const int64_t records = inner().size();
    return records == kEndless ? batch_ : std::min(batch_, records - index * batch_);
  }
  Str name_of(const ReadAt& at) const override { return fmt::format("batch {}", at.index); }
  std::vector<Str> names_of(const ReadAt& at) const override {
    std::vector<Str> names;
    ReadAt one = at;
    one.index = at.index * batch_;
    for (int64_t i = 0; i < batch_samples(at.index); ++i, ++one.index) {
      if (!inner().is_left_out(one)) names.push_back(inner().name_of(one));
    }
    return names;
  }

  bool read(const ReadAt& at, Record& out) const override {
    out.resize(schema_.size());
    return has_rows_ ? copy_rows(at, out) : stack(at, out);
  }

 private:
  bool copy_rows(const ReadAt& at, Record& out) const {
    const int64_t wanted = batch_samples(at.index);
    Tensors tensors;
    std::vector<std::byte*> rows;
    std::vector<at::Tensor> batch;
    for (const FieldInfo& field : schema_) {
      batch.push_back(rows_of(field, wanted));
      rows.push_back(static_cast<std::byte*>(batch.back().data_ptr()));
    }
    ReadAt one = at;
    one.index = at.index * batch_;
    int64_t count = 0;
    for (int64_t i = 0; i < wanted; ++i, ++one.index) {
      if (!inner().fill(one, rows.data())) continue;
      ++count;
      for (size_t field = 0; field < rows.size(); ++field) rows[field] += bytes_[field];
    }
    for (size_t i = 0; i < batch.size(); ++i) {
      if (count < wanted) batch[i] = batch[i].narrow(0, 0, count);
      out[i].tensor = give(std::move(batch[i]));
    }
    return count > 0;
  }

  /// R2004 for a value that a field which is filled up cannot hold.
  void check_filling() const {
    for (const FieldInfo& field : inner().schema()) {
      if (field.host[0] != '\0' || field.dims.empty() || field.dims.back() >= 0) continue;
      const at::ScalarType type = field_type(field);
      const Option<double> given = padding_->fill_of(field.name);
      if (!given || at::isFloatingType(type)) continue;
      const double fill = *given;
      if (fill == std::floor(fill) && !c10::overflows<int64_t>(fill) &&
          at::scalar_tensor(fill, at::TensorOptions().dtype(at::kLong)).to(type).item<double>() == fill)
        continue;
      throw error_here(err::out_of_range, "collate: pad", fill,
                       fmt::format("a value of {}: {}", field.name, type_text(field)));
    }
  }

  size_t column_of(const Str& field) const {
    const Schema& fields = inner().schema();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (field == fields[i].name && fields[i].host[0] == '\0' && !fields[i].dims.empty()) return i;
    }
    throw error_here(err::schema_differs, "collate", fmt::format("there is no field {} with a length", field));
  }

  /// For fields whose size is known from the record alone.
  bool stack(const ReadAt& at, Record& out) const {
    const Schema& fields = inner().schema();
    std::vector<std::vector<at::Tensor>> columns(fields.size());
    std::vector<std::vector<Str>> texts(fields.size());
    ReadAt one = at;
    one.index = at.index * batch_;
    Record record;
    int64_t count = 0;
    for (int64_t i = 0; i < batch_samples(at.index); ++i, ++one.index) {
      if (!inner().read(one, record)) continue;
      ++count;
      for (size_t field = 0; field < columns.size(); ++field) {
        if (schema_[field].form == FieldForm::Texts) {
          texts[field].push_back(record[field].text);
          continue;
        }
        at::Tensor tensor = tensor_of(fields[field], record[field], one);
        if (!columns[field].empty()) check_sizes(field, tensor, columns[field][0], one);
        columns[field].push_back(std::move(tensor));
      }
    }
    if (count == 0) return false;
    for (size_t field = 0; field < columns.size(); ++field) {
      const bool is_texts = schema_[field].form == FieldForm::Texts;
      out[field].tensor = give(is_texts ? pack_texts(texts[field]) : joined(columns[field], field));
    }
    for (size_t i = 0; i < measured_.size(); ++i)
      out[fields.size() + i].tensor = give(lengths_of(columns[measured_[i]]));
    return true;
  }

  /// Records of one batch differ in their last size alone, and only where they are filled up.
  void check_sizes(size_t field, const at::Tensor& tensor, const at::Tensor& first, const ReadAt& at) const {
    const bool is_open = tensor.dim() > 0 && tensor.dim() == first.dim() && is_filled(field);
    const bool fits =
        is_open ? tensor.sizes().slice(0, size_t(tensor.dim()) - 1) == first.sizes().slice(0, size_t(tensor.dim()) - 1)
                : tensor.sizes() == first.sizes();
    if (fits) return;
    throw with_help(error_at(location(), err::bad_record, inner().name_of(at),
                             fmt::format("the field {} is {}, others of its batch are {}", schema_[field].name,
                                         sizes_text(tensor), sizes_text(first))),
                    "bring them to one size in a map, or fill them up: collate(…, pad = 0)");
  }

  bool is_filled(size_t field) const {
    const FieldInfo& info = inner().schema()[field];
    return padding_->fill_of(info.name) && info.host[0] == '\0' && !info.dims.empty() && info.dims.back() < 0;
  }

  /// One tensor of all, the shorter ones filled up.
  at::Tensor joined(const std::vector<at::Tensor>& column, size_t field) const {
    int64_t longest = 0;
    bool is_even = true;
    for (const at::Tensor& one : column) {
      if (one.dim() > 0) longest = std::max(longest, one.size(-1));
      is_even = is_even && one.sizes() == column[0].sizes();
    }
    if (is_filled(field)) longest = (longest + padding_->multiple - 1) / padding_->multiple * padding_->multiple;
    if (is_even && (column[0].dim() == 0 || column[0].size(-1) == longest)) return at::stack(column);
    std::vector<int64_t> sizes = column[0].sizes().vec();
    sizes.back() = longest;
    sizes.insert(sizes.begin(), int64_t(column.size()));
    const at::Tensor whole = at::full(sizes, *padding_->fill_of(schema_[field].name), column[0].options());
    for (size_t i = 0; i < column.size(); ++i) {
      const int64_t size = column[i].size(-1);
      whole[int64_t(i)].narrow(-1, padding_->is_left ? longest - size : 0, size).copy_(column[i]);
    }
    return whole;
  }

  static at::Tensor lengths_of(const std::vector<at::Tensor>& column) {
    at::Tensor lengths = at::empty({int64_t(column.size())}, at::kLong);
    for (size_t i = 0; i < column.size(); ++i) lengths.data_ptr<int64_t>()[i] = column[i].size(-1);
    return lengths;
  }

  at::Tensor tensor_of(const FieldInfo& field, const Cell& cell, const ReadAt& at) const {
    if (field.host[0] == '\0') return aten(cell.tensor).to(field_type(field));
    at::Tensor tensor = at::empty({}, at::TensorOptions().dtype(field_type(field)));
    write_cell(field, cell, static_cast<std::byte*>(tensor.data_ptr()), [&] { return inner().name_of(at); });
    return tensor;
  }

  static Str sizes_text(const at::Tensor& tensor) {
    return fmt::format("[{}]", fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "));
  }

  int64_t batch_;
  bool drop_last_;
  std::shared_ptr<const Padding> padding_;
  std::vector<size_t> measured_;  ///< the fields whose lengths are kept
  bool has_rows_ = true;
  std::vector<int64_t> bytes_;
};

}  // namespace

Stream window(const Stream& stream, int64_t n, int64_t stride) {
  if (n < 1) throw error_here(err::out_of_range, "window: n", n, "n >= 1");
  if (stride < 1) throw error_here(err::out_of_range, "window: stride", stride, "stride >= 1");
  return Stream(new Window(stream, n, stride));
}

Stream collate(const Stream& stream, int64_t size, bool drop_last, const Option<double>& pad,
               const std::vector<std::tuple<Str, Str>>& lengths, const std::vector<std::tuple<Str, double>>& pads,
               int64_t pad_to, const Str& side) {
  if (size < 1) throw error_here(err::out_of_range, "collate: size", size, "size >= 1");
  if (pad_to < 1) throw error_here(err::out_of_range, "collate: pad_to", pad_to, "pad_to >= 1");
  return Stream(new Collate(stream, size, drop_last,
                            std::make_shared<const Padding>(Padding{pad, pads, lengths, pad_to, side == "left"})));
}

}  // namespace ltr
