#include "doors/tfrecord.h"

#include "doors/bytes.h"
#include "doors/crc.h"
#include "doors/file.h"
#include "doors/protobuf.h"

namespace ltr::doors {

namespace {

constexpr uint64_t kHead = 12;  // length and its CRC
constexpr uint64_t kTail = 4;

void need_whole(const Fields& fields, uint64_t offset, const std::string& path) {
  if (fields.is_broken()) throw FormatError(path, offset, "a record that is no tf.train.Example");
}

void take_float(std::string_view bytes, std::vector<float>& into) { into.push_back(get_le<float>(bytes.data())); }

/// False where `fields`, one of a list, is no value of it.
bool take_value(const Fields& fields, Feature& feature) {
  using Wire = Fields::Wire;
  switch (feature.kind) {
    case Feature::Kind::Bytes: feature.texts.push_back(fields.text); return fields.wire == Wire::Bytes;
    case Feature::Kind::Floats:
      // One by one, or packed.
      if ((fields.wire != Wire::Four && fields.wire != Wire::Bytes) || fields.text.size() % sizeof(float) != 0)
        return false;
      for (size_t at = 0; at < fields.text.size(); at += sizeof(float))
        take_float(fields.text.substr(at), feature.floats);
      return true;
    case Feature::Kind::Ints: {
      if (fields.wire == Wire::Varint) feature.ints.push_back(int64_t(fields.whole));
      std::string_view packed = fields.text;
      while (fields.wire == Wire::Bytes && !packed.empty()) {
        const auto value = take_varint(packed);
        if (!value) return false;
        feature.ints.push_back(int64_t(*value));
      }
      return fields.wire == Wire::Varint || fields.wire == Wire::Bytes;
    }
    case Feature::Kind::None: break;
  }
  return false;
}

}  // namespace

TfRecords::Found TfRecords::next() {
  at_ = behind_;
  const uint64_t left = file_.size() - at_;
  if (left == 0) return Found::End;
  if (left < kHead) return Found::Torn;
  const char* head = file_.data() + at_;
  if (get_le<uint32_t>(head + 8) != masked_crc32c(head, 8))
    throw FormatError(
        path_, at_,
        at_ == 0 ? "no TFRecord file, or one whose first length is damaged" : "a record whose length is damaged");
  const auto size = get_le<uint64_t>(head);
  if (left - kHead < kTail || size > left - kHead - kTail) return Found::Torn;
  behind_ = at_ + kHead + size + kTail;
  return Found::Whole;
}

std::string_view TfRecords::payload() const { return tfrecord_payload(file_, at_, path_); }

std::string_view tfrecord_payload(std::string_view file, uint64_t offset, const std::string& path) {
  const auto size = get_le<uint64_t>(file.data() + offset);
  const std::string_view payload = file.substr(offset + kHead, size);
  if (get_le<uint32_t>(payload.data() + size) != masked_crc32c(payload.data(), size))
    throw FormatError(path, offset, "a damaged record: its checksum is another one");
  return payload;
}

std::vector<std::pair<std::string_view, std::string_view>> example_features(std::string_view example, uint64_t offset,
                                                                            const std::string& path) {
  std::vector<std::pair<std::string_view, std::string_view>> features;
  // Example.features = 1, Features.feature = 1, a map of key = 1 and value = 2.
  Fields parts(example);
  while (parts.next()) {
    if (parts.number != 1 || parts.wire != Fields::Wire::Bytes) continue;
    Fields entries(parts.text);
    while (entries.next()) {
      if (entries.number != 1 || entries.wire != Fields::Wire::Bytes) continue;
      std::pair<std::string_view, std::string_view> feature;
      Fields pair(entries.text);
      while (pair.next()) {
        if (pair.number == 1) feature.first = pair.text;
        if (pair.number == 2) feature.second = pair.text;
      }
      need_whole(pair, offset, path);
      features.push_back(feature);
    }
    need_whole(entries, offset, path);
  }
  need_whole(parts, offset, path);
  return features;
}

Feature parse_feature(std::string_view bytes, uint64_t offset, const std::string& path) {
  Feature feature;
  Fields lists(bytes);
  while (lists.next()) {
    if (lists.number < int(Feature::Kind::Bytes) || lists.number > int(Feature::Kind::Ints)) continue;
    feature = {.kind = Feature::Kind(lists.number)};
    Fields values(lists.text);
    while (values.next()) {
      if (values.number == 1 && !take_value(values, feature))
        throw FormatError(path, offset, "a record with a list that is none of its kind");
    }
    need_whole(values, offset, path);
  }
  need_whole(lists, offset, path);
  return feature;
}

}  // namespace ltr::doors
