// `window` and `collate`: several records as one, with a new first dim.

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/rows.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Each field with `first` as new first dim; host fields become tensors. Text cannot.
Schema stacked(const Schema& schema, int64_t first, const char* stage) {
  Schema out = schema;
  for (FieldInfo& field : out) {
    switch (field.host[0]) {
      case '\0':
        break;
      case 'i':
        field.dtype = DType::I64;
        break;
      case 'f':
        field.dtype = DType::Float;
        break;
      case 'b':
        field.dtype = DType::Bool;
        break;
      default:
        throw with_help(error_here(err::schema_differs, stage,
                                   fmt::format("the field {} is text, which no tensor holds", field.name)),
                        "leave it out with select, or encode it in a map: class_of(…, […])");
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
      : Stage(stacked(inner.state()->schema(), n, "window"), inner), n_(n), stride_(stride) {
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

class Collate : public Stage {
 public:
  Collate(const Stream& inner, int64_t size, bool drop_last)
      : Stage(stacked(inner.state()->schema(), -1, "collate"), inner), batch_(size), drop_last_(drop_last) {
    for (const FieldInfo& field : this->inner().schema()) {
      bytes_.push_back(row_bytes(field));
      has_rows_ = has_rows_ && bytes_.back() >= 0;
    }
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
    return Stream(new Collate(inner().rebuilt(source), batch_, false));
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

  /// For fields whose size is known from the record alone.
  bool stack(const ReadAt& at, Record& out) const {
    std::vector<std::vector<at::Tensor>> columns(schema_.size());
    ReadAt one = at;
    one.index = at.index * batch_;
    Record record;
    for (int64_t i = 0; i < batch_samples(at.index); ++i, ++one.index) {
      if (!inner().read(one, record)) continue;
      for (size_t field = 0; field < columns.size(); ++field) {
        at::Tensor tensor = tensor_of(inner().schema()[field], record[field], one);
        if (!columns[field].empty() && columns[field][0].sizes() != tensor.sizes()) {
          throw with_help(error_at(location(), err::bad_record, inner().name_of(one),
                                   fmt::format("the field {} is {}, others of its batch are {}", schema_[field].name,
                                               sizes_text(tensor), sizes_text(columns[field][0]))),
                          "bring them to one size in a map");
        }
        columns[field].push_back(std::move(tensor));
      }
    }
    for (size_t field = 0; field < columns.size(); ++field) {
      if (columns[field].empty()) return false;
      out[field].tensor = give(at::stack(columns[field]));
    }
    return true;
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
  bool has_rows_ = true;
  std::vector<int64_t> bytes_;
};

}  // namespace

Stream window(const Stream& stream, int64_t n, int64_t stride) {
  if (n < 1) throw error_here(err::out_of_range, "window: n", n, "n >= 1");
  if (stride < 1) throw error_here(err::out_of_range, "window: stride", stride, "stride >= 1");
  return Stream(new Window(stream, n, stride));
}

Stream collate(const Stream& stream, int64_t size, bool drop_last) {
  if (size < 1) throw error_here(err::out_of_range, "collate: size", size, "size >= 1");
  return Stream(new Collate(stream, size, drop_last));
}

}  // namespace ltr
