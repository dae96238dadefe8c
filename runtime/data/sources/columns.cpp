#include "runtime/data/sources/columns.h"

#include <cstring>

#include "runtime/data/image_cells.h"

namespace ltr {

namespace {

int64_t read_int(const char* from, size_t width) {
  switch (width) {
    case 1: return int8_t(*from);
    case 2: {
      int16_t value = 0;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
    case 4: {
      int32_t value = 0;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
    default: {
      int64_t value = 0;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
  }
}

size_t width_of(int64_t value) {
  if (value == int8_t(value)) return 1;
  if (value == int16_t(value)) return 2;
  return value == int32_t(value) ? 4 : 8;
}

/// Texts, and what is decoded when it is read.
bool is_of_bytes(const FieldInfo& field) {
  return cell_kind(field) == CellKind::Text || (field.host[0] == '\0' && !field.dims.empty());
}

}  // namespace

// The lowest bytes of a number stand first in memory.
void NarrowInts::push(int64_t value) {
  const size_t wanted = width_of(value);
  if (wanted > width_) widen(wanted);
  const auto* from = reinterpret_cast<const char*>(&value);
  bytes_.insert(bytes_.end(), from, from + width_);
}

int64_t NarrowInts::operator[](size_t i) const { return read_int(bytes_.data() + i * width_, width_); }

void NarrowInts::widen(size_t width) {
  const size_t count = size();
  std::vector<char> wide;
  wide.reserve(bytes_.capacity() / width_ * width);
  wide.resize(count * width);
  for (size_t i = 0; i < count; ++i) {
    const int64_t value = (*this)[i];
    std::memcpy(wide.data() + i * width, &value, width);
  }
  bytes_ = std::move(wide);
  width_ = width;
}

Column::Column(const FieldInfo& field) : kind_(is_of_bytes(field) ? CellKind::Text : cell_kind(field)) {}

void Column::reserve(size_t count) {
  if (kind_ == CellKind::Real)
    real_.reserve(count);
  else
    whole_.reserve(count);
}

size_t Column::size() const { return kind_ == CellKind::Real ? real_.size() : whole_.size(); }

void Column::push_bytes(std::string_view bytes) {
  bytes_ += bytes;
  whole_.push(int64_t(bytes_.size()));
}

void Column::push_missing() {
  missing_.resize(size());
  missing_.push_back(true);
  push_nothing();
}

void Column::push_nothing() {
  if (kind_ == CellKind::Real)
    push_real(0);
  else
    whole_.push(kind_ == CellKind::Text ? int64_t(bytes_.size()) : 0);
}

std::string_view Column::bytes(size_t row) const {
  const auto begin = row == 0 ? size_t(0) : size_t(whole_[row - 1]);
  return std::string_view(bytes_).substr(begin, size_t(whole_[row]) - begin);
}

}  // namespace ltr
