// `text_chars`: the characters of a file as ids. `text_lines`: its lines.

#include <algorithm>
#include <cstring>
#include <map>

#include "doors/utf8.h"
#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/records.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

constexpr int64_t kMockVocab = 64;

/// The code point at `position` of a text in UTF-8; `position` moves behind it.
int32_t next_code_point(const Str& text, size_t& position) {
  const auto lead = uint8_t(text[position++]);
  if (lead < 0x80) return lead;
  const size_t behind = lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : 3;
  int32_t value = lead & (0x3F >> behind);
  for (size_t i = 0; i < behind; ++i) value = value << 6 | (uint8_t(text[position++]) & 0x3F);
  return value;
}

/// Behind a byte-order mark, which is no part of a text.
size_t begin_of(const Str& text) { return text.starts_with("\xEF\xBB\xBF") ? 3 : 0; }

class Characters : public Source {
 public:
  Characters(Str path, const Str& text) : Source(text_chars_record()), path_(std::move(path)) {
    need_utf8(text);
    std::vector<int32_t> points;
    points.reserve(text.size());
    for (size_t position = begin_of(text); position < text.size();) points.push_back(next_code_point(text, position));
    characters_ = points;
    std::sort(characters_.begin(), characters_.end());
    characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
    std::map<int32_t, int32_t> ids;
    for (size_t i = 0; i < characters_.size(); ++i) ids[characters_[i]] = int32_t(i);
    // Most text is a handful of characters: a table spares the search.
    std::vector<int32_t> table(256, -1);
    for (const auto& [point, id] : ids) {
      if (point < 256) table[size_t(point)] = id;
    }
    for (int32_t& point : points) point = point < 256 ? table[size_t(point)] : ids[point];
    ids_ = std::move(points);
  }

  int64_t size() const override { return int64_t(ids_.size()); }
  int64_t vocab() const override { return int64_t(characters_.size()); }
  const std::vector<int32_t>* characters() const override { return &characters_; }
  Str name_of(const ReadAt& at) const override { return fmt::format("{} character {}", path_, at.index); }

  bool read(const ReadAt& at, Record& out) const override {
    out.resize(1);
    out[0].tensor = give(at::scalar_tensor(int64_t(ids_[size_t(at.index)]), at::TensorOptions().dtype(at::kLong)));
    return true;
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override {
    const int64_t id = ids_[size_t(at.index)];
    std::memcpy(rows[0], &id, sizeof id);
    return true;
  }

 private:
  /// R3003, with the line, for what is no UTF-8.
  void need_utf8(const Str& text) const {
    if (const auto bad = doors::line_not_utf8(text))
      throw error_here(err::bad_record, fmt::format("{}:{}", path_, bad->line), bad->fault);
  }

  Str path_;
  std::vector<int32_t> ids_;
  std::vector<int32_t> characters_;
};

class Lines : public Source {
 public:
  explicit Lines(const std::vector<Str>& files) : Source(text_lines_record()) {
    for (const Str& path : files) {
      note_opened(path);
      const Str text = reading(path, [&] { return doors::read_file(path); });
      for (size_t begin = begin_of(text); begin < text.size();) {
        size_t end = text.find('\n', begin);
        if (end == Str::npos) end = text.size();
        const size_t stop = end > begin && text[end - 1] == '\r' ? end - 1 : end;
        lines_.push_back(text.substr(begin, stop - begin));
        begin = end + 1;
      }
      note_records(path, int64_t(lines_.size()) - (ends_.empty() ? 0 : ends_.back().first));
      ends_.emplace_back(int64_t(lines_.size()), path);
    }
  }

  int64_t size() const override { return int64_t(lines_.size()); }
  Str name_of(const ReadAt& at) const override {
    int64_t begin = 0;
    for (const auto& [end, path] : ends_) {
      if (at.index < end) return fmt::format("{}:{}", path, at.index - begin + 1);
      begin = end;
    }
    return fmt::format("line {}", at.index);
  }
  void check() const override {
    for (int64_t i = 0; i < size(); ++i) need_utf8(i);
  }
  bool read(const ReadAt& at, Record& out) const override {
    need_utf8(at.index);
    out.resize(1);
    out[0].text = lines_[size_t(at.index)];
    return true;
  }

 private:
  void need_utf8(int64_t line) const {
    if (const Str fault = doors::utf8_fault(lines_[size_t(line)]); !fault.empty())
      throw bad_record(location(), name_of({.index = line}), fault);
  }

  std::vector<Str> lines_;
  std::vector<std::pair<int64_t, Str>> ends_;
};

class Numbers : public Source {
 public:
  explicit Numbers(int64_t n) : Source(range_record()), n_(n) {}
  int64_t size() const override { return n_; }
  Str name_of(const ReadAt& at) const override { return fmt::format("record {}", at.index); }
  bool read(const ReadAt& at, Record& out) const override {
    out.resize(1);
    out[0].whole = at.index;
    return true;
  }

 private:
  int64_t n_;
};

}  // namespace

Stream text_chars(const Str& file) {
  if (is_mock_data()) return mock_source(text_chars_record());
  const Str path = find_path(file);
  note_opened(path);
  auto* source = new Characters(path, reading(path, [&] { return doors::read_file(path); }));
  note_records(path, source->size());
  return Stream(source);
}

int64_t character_count(const Stream& stream) {
  if (is_mock_data()) return kMockVocab;
  const int64_t count = stream.state()->vocab();
  if (count < 0) throw error_here(err::schema_differs, "vocab", "this stream has no vocabulary");
  return count;
}

Stream text_lines(const Str& glob) {
  return open_source(text_lines_record(), [&] { return Stream(new Lines(find_files(glob))); });
}

Stream range(int64_t n) {
  if (n < 0) throw error_here(err::out_of_range, "range: n", n, "n >= 0");
  return Stream(new Numbers(n));
}

}  // namespace ltr
