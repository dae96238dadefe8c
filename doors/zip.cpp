#include "doors/zip.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include <zlib.h>

#include "doors/bytes.h"
#include "doors/file.h"
#include "doors/limits.h"

namespace ltr::doors {

namespace {

constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kEnd64Locator = 0x07064b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kLocalEntry = 0x04034b50;
constexpr uint64_t kEndBytes = 22;

class Reader {
 public:
  Reader(const std::string& path, const Mapping& file) : path_(path), file_(file) {}

  std::vector<ZipEntry> run() {
    const uint64_t end = find_end();
    uint64_t count = at<uint16_t>(end + 10), begin = at<uint32_t>(end + 16);
    if ((count == 0xFFFF || begin == 0xFFFFFFFF) && end >= 20 && at<uint32_t>(end - 20) == kEnd64Locator) {
      const uint64_t end64 = at<uint64_t>(end - 12);
      if (at<uint32_t>(end64) != kEnd64) fail(end64, "the zip64 directory is not where it should be");
      count = at<uint64_t>(end64 + 32);
      begin = at<uint64_t>(end64 + 48);
    }
    std::vector<ZipEntry> entries;
    for (uint64_t i = 0; i < count; ++i) entries.push_back(entry(begin));
    return entries;
  }

 private:
  [[noreturn]] void fail(uint64_t offset, const std::string& reason) const { throw FormatError(path_, offset, reason); }

  template <class T>
  T at(uint64_t offset) const {
    if (offset > file_.size() || file_.size() - offset < sizeof(T))
      fail(std::min(offset, file_.size()), "the archive ends early");
    return get_le<T>(file_.data() + offset);
  }

  /// The directory's end stands at the end of the file, in front of a comment of at most 64 KiB.
  uint64_t find_end() const {
    if (file_.size() < kEndBytes) fail(0, "too short for a zip archive");
    const uint64_t last = file_.size() - kEndBytes, first = last > 0xFFFF ? last - 0xFFFF : 0;
    for (uint64_t offset = last + 1; offset-- > first;) {
      if (at<uint32_t>(offset) == kEnd) return offset;
    }
    fail(file_.size(), "the archive has no directory at its end: it was cut off");
  }

  /// Reads the entry at `position`, which moves behind it.
  ZipEntry entry(uint64_t& position) const {
    const uint64_t start = position;
    if (at<uint32_t>(start) != kDirectoryEntry) fail(start, "no directory entry");
    ZipEntry entry;
    entry.is_compressed = at<uint16_t>(start + 10) != 0;
    entry.crc = at<uint32_t>(start + 16);
    const uint64_t stored = at<uint32_t>(start + 20), whole = at<uint32_t>(start + 24);
    const uint64_t name = at<uint16_t>(start + 28), extra = at<uint16_t>(start + 30),
                   comment = at<uint16_t>(start + 32);
    uint64_t sizes[3] = {whole, stored, at<uint32_t>(start + 42)};
    position = start + 46 + name + extra + comment;
    if (position > file_.size()) fail(start, "the archive ends early");
    entry.name.assign(file_.data() + start + 46, name);
    widen(start + 46 + name, extra, sizes);
    entry.size = sizes[0];
    const uint64_t local = sizes[2];
    if (at<uint32_t>(local) != kLocalEntry) fail(local, "no entry where the directory says");
    entry.stored = sizes[1];
    entry.offset = local + 30 + at<uint16_t>(local + 26) + at<uint16_t>(local + 28);
    if (entry.offset > file_.size() || file_.size() - entry.offset < entry.stored)
      fail(start, entry.name + " goes beyond the file");
    if (!entry.is_compressed && sizes[0] != sizes[1]) fail(start, entry.name + " has two sizes");
    return entry;
  }

  /// Sizes that do not fit 32 bits stand in the extra field, in the order of `sizes`.
  void widen(uint64_t extra, uint64_t bytes, uint64_t (&sizes)[3]) const {
    const uint64_t end = extra + bytes;
    while (extra + 4 <= end) {
      const auto id = at<uint16_t>(extra);
      const uint64_t next = extra + 4 + at<uint16_t>(extra + 2);
      if (id == 1) {
        uint64_t place = extra + 4;
        for (uint64_t& size : sizes) {
          if (size != 0xFFFFFFFF) continue;
          if (place + 8 > next) fail(extra, "a zip64 field ends early");
          size = at<uint64_t>(place);
          place += 8;
        }
      }
      extra = next;
    }
  }

  const std::string& path_;
  const Mapping& file_;
};

}  // namespace

std::vector<ZipEntry> read_zip(const std::string& path, const Mapping& file) { return Reader(path, file).run(); }

std::string unpacked(const std::string& path, const Mapping& file, const ZipEntry& entry) {
  const auto refuse = [&](const std::string& reason) -> void {
    throw FormatError(path, entry.offset, entry.name + ": " + reason);
  };
  const uint64_t limit =
      std::min(limits::kFileBytes, std::max(limits::kInflateBytes, limits::kInflateRatio * entry.stored));
  if (entry.size > limit) refuse("unpacked it has more than " + std::to_string(limit) + " bytes");
  std::string out;
  if (!entry.is_compressed) {
    out.assign(file.data() + entry.offset, entry.size);
  } else {
    out.resize(entry.size);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    // zlib counts in 32 bits: both sides are handed over in pieces.
    constexpr uint64_t kPiece = uint64_t(1) << 30;
    uint64_t taken = 0;
    uint64_t given = 0;
    int code = Z_OK;
    while (code == Z_OK) {
      const uint64_t in = std::min(kPiece, entry.stored - taken);
      const uint64_t room = std::min(kPiece, entry.size - given);
      // zlib's own types: it reads the input, and never writes it.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data() + entry.offset + taken));
      stream.avail_in = uInt(in);
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + given);
      stream.avail_out = uInt(room);
      code = inflate(&stream, Z_NO_FLUSH);
      taken += in - stream.avail_in;
      given += room - stream.avail_out;
    }
    inflateEnd(&stream);
    if (code != Z_STREAM_END || given != entry.size) refuse("its compressed bytes are damaged");
  }
  if (entry.crc != 0 && crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size()) != entry.crc)
    refuse("its bytes are not those that were written");
  return out;
}

std::string encode_zip(const std::vector<std::pair<std::string, std::string>>& entries) {
  constexpr uint16_t kVersion = 20, kUtf8 = 0x0800, kStored = 0, kFirstDay = 0x21;  // 1 January 1980
  std::string out, directory;
  uint64_t sum = 0;
  for (const auto& [name, bytes] : entries) sum += name.size() + bytes.size();
  if (sum > kZipBytes || entries.size() >= 0xFFFF) throw std::length_error("too much for a zip archive");
  for (const auto& [name, bytes] : entries) {
    std::string facts;  // What stands before the bytes and in the directory alike.
    for (const uint16_t word : {kVersion, kUtf8, kStored, uint16_t(0), kFirstDay}) put_le(facts, word);
    put_le(facts, uint32_t(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size())));
    for (int i = 0; i < 2; ++i) put_le(facts, uint32_t(bytes.size()));
    put_le(facts, uint16_t(name.size()));
    put_le(facts, uint16_t(0));
    put_le(directory, kDirectoryEntry);
    put_le(directory, kVersion);
    directory += facts;
    directory.append(10, '\0');  // no comment, on the first disk, no attributes
    put_le(directory, uint32_t(out.size()));
    directory += name;
    put_le(out, kLocalEntry);
    out += facts + name + bytes;
  }
  const auto begin = uint32_t(out.size());
  out += directory;
  put_le(out, kEnd);
  put_le(out, uint32_t(0));
  for (int i = 0; i < 2; ++i) put_le(out, uint16_t(entries.size()));
  put_le(out, uint32_t(directory.size()));
  put_le(out, begin);
  put_le(out, uint16_t(0));
  return out;
}

bool has_its_crc(const Mapping& file, const ZipEntry& entry) {
  const auto* bytes = reinterpret_cast<const Bytef*>(file.data() + entry.offset);
  return entry.crc == 0 || crc32_z(0, bytes, entry.size) == entry.crc;
}

}  // namespace ltr::doors
