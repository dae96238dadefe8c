#pragma once

// Writes and reads protobuf messages field by field. No library: LibTorch carries its own protobuf, and two in
// one process clash.

#include <cstdint>
#include <optional>
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

/// The fields of a message, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  /// The next field; false at the end, or where the bytes are no message.
  bool next();
  /// Whether it ended where the bytes are no message.
  bool is_broken() const { return is_broken_; }

  enum class Wire : uint8_t { Varint = 0, Eight = 1, Bytes = 2, Four = 5 };
  int number = 0;
  Wire wire = Wire::Varint;
  uint64_t whole = 0;     ///< of a varint
  std::string_view text;  ///< of all others, as many bytes as they have

 private:
  bool take(uint64_t size);
  std::string_view bytes_;
  bool is_broken_ = false;
};

/// The varint that `bytes` begin with, which are then behind it; nothing where they are none.
std::optional<uint64_t> take_varint(std::string_view& bytes);

}  // namespace ltr::doors
