#pragma once

// TFRecord files (doors.md 7): length u64, its masked CRC-32C, payload, its masked CRC-32C; and `tf.train.Example`, what data sets
// put in.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ltr::doors {

/// Walks over the records of a file, looking at their lengths alone.
class TfRecords {
 public:
  /// `file` and `path`, which is for messages, outlive it.
  TfRecords(std::string_view file, const std::string& path) : file_(file), path_(path) {}

  enum class Found : uint8_t { End, Torn, Whole };
  /// The next record. Torn where the file ends within one. FormatError for a length that is damaged.
  Found next();
  /// Where the record begins.
  uint64_t offset() const { return at_; }
  /// Its bytes; FormatError if they are damaged.
  std::string_view payload() const;

 private:
  std::string_view file_;
  const std::string& path_;
  uint64_t at_ = 0;
  uint64_t behind_ = 0;
};

/// The payload of the record at `offset` of `file`, which `TfRecords` found there; FormatError if it is damaged.
std::string_view tfrecord_payload(std::string_view file, uint64_t offset, const std::string& path);

/// A feature of an example: a list of one of the three kinds, or none.
struct Feature {
  enum class Kind : uint8_t { None, Bytes, Floats, Ints };
  Kind kind = Kind::None;
  std::vector<std::string_view> texts = {};
  std::vector<float> floats = {};
  std::vector<int64_t> ints = {};
  size_t count() const { return texts.size() + floats.size() + ints.size(); }
};

/// Names of the features of an example, and what lies behind them, not yet parsed; bytes borrowed from `example`. FormatError for
/// what is no `tf.train.Example`, at its byte `offset` of the file `path`.
std::vector<std::pair<std::string_view, std::string_view>> example_features(std::string_view example, uint64_t offset,
                                                                            const std::string& path);
/// One of them.
Feature parse_feature(std::string_view bytes, uint64_t offset, const std::string& path);

}  // namespace ltr::doors
