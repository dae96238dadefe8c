#include <optional>
#include <string_view>

#include "doors/bytes.h"
#include "doors/crc.h"
#include "doors/file.h"
#include "doors/limits.h"
#include "doors/tfevents.h"

namespace ltr::doors {

namespace {

/// The fields of a protobuf message, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  /// The next field; false at the end, or where the bytes are no message.
  bool next() {
    const auto key = varint();
    if (!key) return false;
    number = int(*key >> 3);
    whole = 0;
    text = {};
    switch (*key & 7) {
      case 0: {
        const auto value = varint();
        whole = value.value_or(0);
        return value.has_value();
      }
      case 1: return take(8);
      case 2: {
        const auto size = varint();
        return size && take(*size);
      }
      case 5: return take(4);
      default: return false;
    }
  }

  int number = 0;
  uint64_t whole = 0;
  std::string_view text;

 private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  bool take(uint64_t size) {
    if (size > bytes_.size()) return false;
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }

  std::string_view bytes_;
};

/// `SummaryMetadata.plugin_data.plugin_name`
std::string_view plugin_of(std::string_view metadata) {
  for (Fields fields(metadata); fields.next();) {
    for (Fields parts(fields.text); fields.number == 1 && parts.next();) {
      if (parts.number == 1) return parts.text;
    }
  }
  return {};
}

/// `Summary.Value` of the plugin for images: a tensor of width, height and files.
std::optional<LoggedImage> image_of(std::string_view value) {
  LoggedImage image;
  std::vector<std::string_view> strings;
  bool is_image = false;
  for (Fields fields(value); fields.next();) {
    if (fields.number == 1) image.tag = fields.text;
    if (fields.number == 9) is_image = plugin_of(fields.text) == "images";
    for (Fields parts(fields.text); fields.number == 8 && parts.next();) {
      if (parts.number == 8) strings.push_back(parts.text);
    }
  }
  if (!is_image || strings.size() < 3) return std::nullopt;
  image.png = strings[2];
  return image;
}

void take_event(std::string_view event, std::vector<LoggedImage>& into) {
  int64_t step = 0;
  const size_t first = into.size();
  for (Fields fields(event); fields.next();) {
    if (fields.number == 2) step = int64_t(fields.whole);
    if (fields.number != 5) continue;
    for (Fields values(fields.text); values.next();) {
      if (auto image = values.number == 1 ? image_of(values.text) : std::nullopt) into.push_back(std::move(*image));
    }
  }
  for (size_t i = first; i < into.size(); ++i) into[i].step = step;
}

}  // namespace

std::vector<LoggedImage> read_images(const std::string& path) {
  const std::string file = read_plain_file(path, limits::kFileBytes);
  std::vector<LoggedImage> images;
  constexpr size_t kHead = 12;  // length and its CRC
  for (size_t at = 0; at + kHead <= file.size();) {
    const auto size = get_le<uint64_t>(file.data() + at);
    if (get_le<uint32_t>(file.data() + at + 8) != masked_crc32c(file.data() + at, 8))
      throw FormatError(path, at, "a record whose length is damaged");
    if (size > file.size() - at - kHead || file.size() - at - kHead - size < 4) break;
    const std::string_view record = std::string_view(file).substr(at + kHead, size);
    if (get_le<uint32_t>(record.data() + size) != masked_crc32c(record.data(), size))
      throw FormatError(path, at, "a damaged record");
    take_event(record, images);
    at += kHead + size + 4;
  }
  return images;
}

}  // namespace ltr::doors
