#pragma once

// Writes protobuf messages field by field. No library: LibTorch carries its own protobuf, and two in
// one process clash.

#include <cstdint>
#include <string>
#include <string_view>

namespace ltr::doors {

/// A message being written. Sub-messages are written to their own `Message` and put in as bytes.
class Message {
 public:
  Message& varint(int field, uint64_t value);
  Message& real(int field, double value);   ///< wire type 1
  Message& single(int field, float value);  ///< wire type 5
  Message& bytes(int field, std::string_view value);
  Message& message(int field, const Message& value) { return bytes(field, value.data_); }
  const std::string& data() const { return data_; }

 private:
  void key(int field, int wire_type);
  std::string data_;
};

}  // namespace ltr::doors
