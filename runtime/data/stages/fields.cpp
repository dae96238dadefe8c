// `select` and `zip`: which fields a record has. `concat`: one stream behind the other.

#include <algorithm>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/permutation.h"
#include "runtime/data/rows.h"
#include "runtime/data/stream.h"

namespace ltr {

namespace {

Str fields_text(const Schema& schema) {
  Str text;
  for (const FieldInfo& field : schema) text += (text.empty() ? "" : ", ") + Str(field.name);
  return text;
}

class Select : public Stage {
 public:
  Select(const Stream& inner, Schema fields, std::vector<size_t> columns)
      : Stage(std::move(fields), inner), columns_(std::move(columns)) {
    for (const FieldInfo& field : this->inner().schema()) bytes_.push_back(row_bytes(field));
  }

  Stream rebuilt(const Stream& source) const override {
    return Stream(new Select(inner().rebuilt(source), schema_, columns_));
  }

  bool read(const ReadAt& at, Record& out) const override {
    Record in;
    if (!inner().read(at, in)) return false;
    out.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) out[i] = in[columns_[i]];
    return true;
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override {
    thread_local std::vector<std::byte> kept;
    std::vector<std::byte*> targets(bytes_.size(), nullptr);
    for (size_t i = 0; i < columns_.size(); ++i) targets[columns_[i]] = rows[i];
    size_t widest = 0;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (targets[i] != nullptr) continue;
      if (bytes_[i] < 0) return StreamState::fill(at, rows);
      widest = std::max(widest, size_t(bytes_[i]));
    }
    // Another select may stand below: the scratch row is taken away while it is in use.
    std::vector<std::byte> scratch = std::move(kept);
    if (scratch.size() < widest) scratch.resize(widest);
    for (size_t i = 0; i < bytes_.size(); ++i) {
      // What is not selected lands in one place, one field over the other.
      if (targets[i] == nullptr) targets[i] = scratch.data();
    }
    const bool is_there = inner().fill(at, targets.data());
    kept = std::move(scratch);
    return is_there;
  }

 private:
  std::vector<size_t> columns_;
  std::vector<int64_t> bytes_;
};

class Zip : public StreamState {
 public:
  Zip(const Stream& left, const Stream& right, Schema fields, int64_t size)
      : StreamState(std::move(fields)), left_(left), right_(right), size_(size) {}

  int64_t size() const override { return size_; }
  bool is_fixed() const override {
    return left_.state()->is_fixed() && right_.state()->is_fixed() && !goes_on(left_, size_) && !goes_on(right_, size_);
  }
  Str name_of(const ReadAt& at) const override {
    return left_.state()->name_of(wrapped(at, left_)) + " with " + right_.state()->name_of(wrapped(at, right_));
  }
  bool is_left_out(const ReadAt& at) const override {
    return left_.state()->is_left_out(wrapped(at, left_)) || right_.state()->is_left_out(wrapped(at, right_));
  }
  void check() const override {
    left_.state()->check();
    right_.state()->check();
  }
  int depth() const override { return std::max(left_.state()->depth(), right_.state()->depth()) + 1; }
  void plan() const override {
    left_.state()->plan();
    right_.state()->plan();
  }

  bool read(const ReadAt& at, Record& out) const override {
    Record other;
    if (!left_.state()->read(wrapped(at, left_), out)) return false;
    if (!right_.state()->read(wrapped(at, right_), other)) return false;
    out.insert(out.end(), std::make_move_iterator(other.begin()), std::make_move_iterator(other.end()));
    return true;
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override {
    return left_.state()->fill(wrapped(at, left_), rows) &&
           right_.state()->fill(wrapped(at, right_), rows + left_.state()->schema().size());
  }

 private:
  /// The shorter side of `cycle` begins again, as another epoch.
  ReadAt wrapped(const ReadAt& at, const Stream& side) const {
    const int64_t length = side.state()->size();
    if (length == kEndless) return gone_on(at, side, size_);
    ReadAt out = at;
    if (length == size_) return out;
    if (size_ != kEndless) {
      const int64_t passes = (size_ + length - 1) / length;
      out.epoch = at.epoch * passes + at.index / length;
    } else {
      out.epoch = at.index / length;
    }
    out.index = at.index % length;
    return out;
  }

  Stream left_;
  Stream right_;
  int64_t size_;
};

class Concat : public StreamState {
 public:
  Concat(const Stream& first, const Stream& second)
      : StreamState(first.state()->schema()), first_(first), second_(second), border_(first.state()->size()) {}

  int64_t size() const override {
    const int64_t second = second_.state()->size();
    return second == kEndless ? kEndless : border_ + second;
  }
  bool is_fixed() const override { return first_.state()->is_fixed() && second_.state()->is_fixed(); }
  Str name_of(const ReadAt& at) const override { return side(at).name_of(inside(at)); }
  bool is_left_out(const ReadAt& at) const override { return side(at).is_left_out(inside(at)); }
  void check() const override {
    first_.state()->check();
    second_.state()->check();
  }
  int depth() const override { return std::max(first_.state()->depth(), second_.state()->depth()) + 1; }
  void plan() const override {
    first_.state()->plan();
    second_.state()->plan();
  }
  bool read(const ReadAt& at, Record& out) const override { return side(at).read(inside(at), out); }
  bool fill(const ReadAt& at, std::byte* const* rows) const override { return side(at).fill(inside(at), rows); }

 private:
  const StreamState& side(const ReadAt& at) const { return at.index < border_ ? *first_.state() : *second_.state(); }
  ReadAt inside(const ReadAt& at) const {
    ReadAt out = at;
    if (at.index >= border_) {
      out.index -= border_;
      out.time = ltr::mix(at.time + 1);  // The same records may stand in both.
    }
    return out;
  }

  Stream first_;
  Stream second_;
  int64_t border_;
};

}  // namespace

Stream select(const Stream& stream, const std::vector<Str>& names) {
  const Schema& schema = stream.state()->schema();
  Schema fields;
  std::vector<size_t> columns;
  for (const Str& name : names) {
    const auto found =
        std::find_if(schema.begin(), schema.end(), [&](const FieldInfo& field) { return name == field.name; });
    if (found == schema.end()) {
      throw error_here(err::schema_differs, "select",
                       fmt::format("there is no field {} (there are: {})", name, fields_text(schema)));
    }
    fields.push_back(*found);
    columns.push_back(size_t(found - schema.begin()));
  }
  return Stream(new Select(stream, std::move(fields), std::move(columns)));
}

Stream zip(const Stream& left, const Stream& right, const Str& length) {
  const int64_t a = left.state()->size();
  const int64_t b = right.state()->size();
  const bool is_absent = left.state()->is_absent() || right.state()->is_absent();
  if (length == "equal" && a != b && !is_mock_data() && !is_absent) {
    const auto text = [](int64_t size) { return size == kEndless ? Str("no end") : std::to_string(size); };
    throw with_help(
        error_here(err::stream_too_short, fmt::format("zip: the streams have {} and {} records", text(a), text(b))),
        "length = min or cycle takes streams of different lengths");
  }
  if (length == "cycle" && (a == 0 || b == 0) && !is_absent)
    throw error_here(err::stream_too_short, "zip: a stream is empty");
  Schema fields = left.state()->schema();
  fields.insert(fields.end(), right.state()->schema().begin(), right.state()->schema().end());
  return Stream(new Zip(left, right, std::move(fields), length == "cycle" ? std::max(a, b) : std::min(a, b)));
}

Stream concat(const Stream& first, const Stream& second) {
  need_end(first, "concat");
  const Schema& a = first.state()->schema();
  const Schema& b = second.state()->schema();
  if (!same_records(a, b)) {
    throw error_here(err::schema_differs, "concat",
                     fmt::format("the records differ: {} and {}", fields_text(a), fields_text(b)));
  }
  return Stream(new Concat(first, second));
}

}  // namespace ltr
