#include "doors/idx.h"

#include <algorithm>

#include "doors/bytes.h"
#include "doors/file.h"
#include "doors/limits.h"

namespace ltr::doors {

namespace {

struct IdxType {
  uint8_t code;
  const char* dtype;
  size_t bytes;
};
constexpr IdxType kIdxTypes[] = {{0x08, "U8", 1},  {0x09, "I8", 1},  {0x0B, "I16", 2},
                                 {0x0C, "I32", 4}, {0x0D, "F32", 4}, {0x0E, "F64", 8}};

}  // namespace

IdxFile read_idx(const std::string& path) {
  std::string bytes = read_file(path);
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0) throw FormatError(path, 0, "not an IDX file");
  const auto* type = std::find_if(std::begin(kIdxTypes), std::end(kIdxTypes),
                                  [&](const IdxType& row) { return row.code == uint8_t(bytes[2]); });
  if (type == std::end(kIdxTypes)) throw FormatError(path, 2, "unknown element type");
  const auto dims = size_t(uint8_t(bytes[3]));
  const size_t start = 4 + 4 * dims;
  if (dims == 0) throw FormatError(path, 3, "no dims");
  if (dims > limits::kTensorDims) throw FormatError(path, 3, "too many dims");
  if (bytes.size() < start) throw FormatError(path, bytes.size(), "the header ends early");
  IdxFile file;
  file.dtype = type->dtype;
  uint64_t wanted = type->bytes;
  for (size_t i = 0; i < dims; ++i) {
    const uint32_t size = get_be32(bytes.data() + 4 + 4 * i);
    file.shape.push_back(int64_t(size));
    if (__builtin_mul_overflow(wanted, uint64_t(size), &wanted)) throw FormatError(path, 4 + 4 * i, "size overflows");
  }
  if (bytes.size() - start != wanted) {
    throw FormatError(path, std::min(uint64_t(bytes.size()), start + wanted),
                      bytes.size() - start < wanted
                          ? "the file ends early: " + std::to_string(wanted) + " bytes of data are declared, " +
                                std::to_string(bytes.size() - start) + " are there"
                          : "data behind the last element");
  }
  bytes.erase(0, start);
  if (type->bytes > 1) {
    for (size_t i = 0; i < bytes.size(); i += type->bytes) {
      std::reverse(bytes.begin() + int64_t(i), bytes.begin() + int64_t(i + type->bytes));
    }
  }
  file.data = std::move(bytes);
  return file;
}

}  // namespace ltr::doors
