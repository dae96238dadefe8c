#include "doors/protobuf.h"

#include "doors/bytes.h"

namespace ltr::doors {

void Message::key(int field, int wire_type) { put_varint(data_, (uint64_t(field) << 3) | uint64_t(wire_type)); }

Message& Message::varint(int field, uint64_t value) {
  key(field, 0);
  put_varint(data_, value);
  return *this;
}

Message& Message::real(int field, double value) {
  key(field, 1);
  put_le(data_, value);
  return *this;
}

Message& Message::single(int field, float value) {
  key(field, 5);
  put_le(data_, value);
  return *this;
}

Message& Message::bytes(int field, std::string_view value) {
  key(field, 2);
  put_varint(data_, value.size());
  data_ += value;
  return *this;
}

bool Fields::next() {
  if (bytes_.empty() || is_broken_) return false;
  const auto key = take_varint(bytes_);
  is_broken_ = !key;
  if (is_broken_) return false;
  number = int(*key >> 3);
  wire = Wire(*key & 7);
  whole = 0;
  text = {};
  switch (wire) {
    case Wire::Varint: {
      const auto value = take_varint(bytes_);
      whole = value.value_or(0);
      is_broken_ = !value;
      return !is_broken_;
    }
    case Wire::Eight: return take(8);
    case Wire::Bytes: {
      const auto size = take_varint(bytes_);
      is_broken_ = !size;
      return size && take(*size);
    }
    case Wire::Four: return take(4);
  }
  is_broken_ = true;
  return false;
}

bool Fields::take(uint64_t size) {
  is_broken_ = size > bytes_.size();
  if (is_broken_) return false;
  text = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return true;
}

std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace ltr::doors
