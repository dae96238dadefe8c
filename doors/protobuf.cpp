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

}  // namespace ltr::doors
