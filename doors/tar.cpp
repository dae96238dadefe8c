#include "doors/tar.h"

#include <algorithm>
#include <cctype>

#include "doors/file.h"

namespace ltr::doors {

namespace {

constexpr uint64_t kBlock = 512;
/// Names and pax headers that are longer are hostile.
constexpr uint64_t kLongest = uint64_t(1) << 20;

std::string_view text_in(std::string_view field) { return field.substr(0, std::min(field.find('\0'), field.size())); }

class Tar {
 public:
  Tar(std::string_view archive, const std::string& path) : archive_(archive), path_(path) {}

  std::vector<TarEntry> run() {
    std::vector<TarEntry> entries;
    while (true) {
      if (archive_.size() - at_ < kBlock) refuse(archive_.size(), "the archive ends early");
      const std::string_view header = archive_.substr(at_, kBlock);
      if (header.find_first_not_of('\0') == std::string_view::npos) break;
      check_sum(header);
      take(header, entries);
    }
    if (archive_.find_first_not_of('\0', at_) != std::string_view::npos)
      refuse(at_, "there is more behind the end of the archive, as of several in one file");
    return entries;
  }

 private:
  [[noreturn]] void refuse(uint64_t at, const std::string& reason) const { throw FormatError(path_, at, reason); }

  /// An octal number, or one of bytes where the first has its highest bit.
  uint64_t number(std::string_view field) const {
    uint64_t value = 0;
    if ((uint8_t(field[0]) & 0x80) != 0) {
      for (size_t i = field.size() - 8; i < field.size(); ++i) value = value << 8 | uint8_t(field[i]);
      return value;
    }
    for (const char c : text_in(field)) {
      if (c == ' ') continue;
      if (c < '0' || c > '7') refuse(at_, "a header with a number that is none");
      value = value * 8 + uint64_t(c - '0');
    }
    return value;
  }

  void check_sum(std::string_view header) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < kBlock; ++i) sum += i >= 148 && i < 156 ? ' ' : uint8_t(header[i]);
    uint64_t said = 0;
    for (const char c : text_in(header.substr(148, 8))) {
      if (c >= '0' && c <= '7') said = said * 8 + uint64_t(c - '0');
    }
    if (sum != said) refuse(at_, at_ == 0 ? "no tar archive" : "the sum of a header is wrong");
  }

  /// `17 path=a/b.jpg\n…`
  void read_pax(std::string_view records) {
    while (!records.empty()) {
      size_t length = 0, digits = 0;
      for (; digits < records.size() && records[digits] >= '0' && records[digits] <= '9' && length < kLongest; ++digits)
        length = length * 10 + size_t(records[digits] - '0');
      if (digits == 0 || length <= digits + 1 || length > records.size()) refuse(at_, "a pax header that is none");
      const std::string_view record = records.substr(digits + 1, length - digits - 2);
      if (record.starts_with("path=")) long_name_ = record.substr(5);
      if (record.starts_with("size=")) {
        pax_size_ = 0;
        for (const char c : record.substr(5)) pax_size_ = pax_size_ * 10 + (uint8_t(c) - uint8_t('0'));
        has_pax_size_ = true;
      }
      if (record.starts_with("GNU.sparse.")) refuse(at_, "a sparse file");
      records.remove_prefix(length);
    }
  }

  void take(std::string_view header, std::vector<TarEntry>& entries) {
    const char kind = header[156];
    const bool is_note = kind == 'x' || kind == 'g' || kind == 'L' || kind == 'K';
    const uint64_t size = has_pax_size_ && !is_note ? pax_size_ : number(header.substr(124, 12));
    const uint64_t begin = at_ + kBlock;
    if (size > archive_.size() - begin) refuse(archive_.size(), "the archive ends early");
    const std::string_view body = archive_.substr(begin, size);
    if (is_note && size > kLongest) refuse(at_, "a header of more than a mebibyte");
    if (kind == 'x') read_pax(body);
    if (kind == 'L') long_name_ = text_in(body);
    if (kind == 'S') refuse(at_, "a sparse file");
    if (kind == '0' || kind == '\0' || kind == '7') {
      std::string name = long_name_;
      if (name.empty()) {
        const std::string_view prefix =
            header.substr(257, 5) == "ustar" && header[262] == '\0' ? text_in(header.substr(345, 155)) : "";
        name = std::string(prefix) + (prefix.empty() ? "" : "/") + std::string(text_in(header.substr(0, 100)));
      }
      entries.push_back({std::move(name), begin, size});
    }
    if (!is_note) {
      long_name_.clear();
      has_pax_size_ = false;
    }
    // The last file may lack what fills up its block, but then the end is not there either.
    at_ = std::min<uint64_t>(archive_.size(), begin + (size + kBlock - 1) / kBlock * kBlock);
  }

  std::string_view archive_;
  const std::string& path_;
  uint64_t at_ = 0;
  std::string long_name_;
  uint64_t pax_size_ = 0;
  bool has_pax_size_ = false;
};

}  // namespace

std::pair<std::string, std::string> sample_parts(const std::string& name) {
  const size_t base = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  if (name.compare(base, 2, "__") == 0 || name.compare(base, 1, ".") == 0) return {name, ""};
  const size_t dot = std::min(name.find('.', base), name.size());
  std::string ending = name.substr(std::min(dot + 1, name.size()));
  for (char& c : ending) c = c == '.' ? '_' : char(std::tolower(static_cast<unsigned char>(c)));
  return {name.substr(0, dot), ending};
}

std::vector<TarEntry> read_tar(std::string_view archive, const std::string& path) { return Tar(archive, path).run(); }

}  // namespace ltr::doors
