#include "doors/npy.h"

#include <algorithm>
#include <stdexcept>

#include <utf8proc.h>

#include "doors/bytes.h"
#include "doors/csv.h"
#include "doors/file.h"
#include "doors/limits.h"

namespace ltr::doors {

namespace {

struct NpyType {
  const char* dtype;
  const char* numpy;
  size_t bytes;
};
constexpr NpyType kNpyTypes[] = {{"F64", "<f8", 8}, {"F32", "<f4", 4}, {"F16", "<f2", 2},
                                 {"I64", "<i8", 8}, {"I32", "<i4", 4}, {"I16", "<i2", 2},
                                 {"I8", "|i1", 1},  {"U8", "|u1", 1},  {"BOOL", "|b1", 1}};

/// What stands behind `'key':` in the header's dict, up to the next comma outside of brackets.
std::string value_of(const std::string& header, const std::string& key) {
  const size_t found = header.find("'" + key + "':");
  if (found == std::string::npos) return "";
  size_t begin = found + key.size() + 3;
  while (begin < header.size() && header[begin] == ' ') ++begin;
  size_t end = begin;
  for (int depth = 0; end < header.size(); ++end) {
    if (header[end] == '(' || header[end] == '[') ++depth;
    if (header[end] == ')' || header[end] == ']') --depth;
    if (depth == 0 && (header[end] == ',' || header[end] == '}')) break;
  }
  return header.substr(begin, end - begin);
}

}  // namespace

NpyArray read_npy(const std::string& path) { return parse_npy(read_file(path), path); }

NpyArray parse_npy(std::string bytes, const std::string& path) {
  if (bytes.starts_with("PK")) throw FormatError(path, 0, "not an npy file, but an archive of some: `npz` reads it");
  if (bytes.size() < 10 || bytes.compare(0, 6, "\x93NUMPY") != 0) throw FormatError(path, 0, "not an npy file");
  const bool is_short = bytes[6] == 1;
  if (!is_short && bytes.size() < 12) throw FormatError(path, bytes.size(), "the header ends early");
  const size_t start = is_short ? 10 : 12;
  const size_t length = is_short ? get_le<uint16_t>(bytes.data() + 8) : get_le<uint32_t>(bytes.data() + 8);
  if (length > bytes.size() - start) throw FormatError(path, bytes.size(), "the header ends early");
  const std::string header = bytes.substr(start, length);
  std::string descr = value_of(header, "descr");
  if (descr.size() > 2) descr = descr.substr(1, descr.size() - 2);
  const auto* type =
      std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes), [&](const NpyType& row) { return descr == row.numpy; });
  if (type == std::end(kNpyTypes)) throw FormatError(path, start, "element type " + descr + " is not supported");
  NpyArray array;
  array.dtype = type->dtype;
  uint64_t wanted = type->bytes;
  std::string number;
  for (const char c : value_of(header, "shape") + ",") {
    if (c >= '0' && c <= '9') number += c;
    if (c != ',' && c != ')') continue;
    int64_t dim = 0;
    if (number.empty()) continue;
    if (!parse_int(number, dim) || __builtin_mul_overflow(wanted, uint64_t(dim), &wanted)) {
      throw FormatError(path, start, "size overflows");
    }
    if (array.shape.size() == limits::kTensorDims) throw FormatError(path, start, "too many dims");
    array.shape.push_back(dim);
    number.clear();
  }
  if (value_of(header, "fortran_order") != "False" && array.shape.size() > 1) {
    throw FormatError(path, start, "its numbers lie column by column: save `np.ascontiguousarray(x)`");
  }
  if (bytes.size() - start - length != wanted) {
    throw FormatError(path, bytes.size(), "size of data and shape differ");
  }
  bytes.erase(0, start + length);
  array.data = std::move(bytes);
  return array;
}

namespace {

std::string encode(const std::string& element, const std::vector<int64_t>& sizes, const std::string& data) {
  std::string shape = "(";
  for (const int64_t dim : sizes) shape += std::to_string(dim) + ", ";
  if (sizes.size() > 1) shape.resize(shape.size() - 2);
  if (sizes.size() == 1) shape.resize(shape.size() - 1);
  std::string header = "{'descr': '" + element + "', 'fortran_order': False, 'shape': " + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out = "\x93NUMPY";
  out += '\1';
  out += '\0';
  put_le(out, uint16_t(header.size()));
  return out + header + data;
}

/// The code points of a text; bytes that are no UTF-8 stand for themselves.
std::vector<uint32_t> points_of(const std::string& text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  std::vector<uint32_t> points;
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t point = 0;
    const auto read = utf8proc_iterate(bytes + at, utf8proc_ssize_t(text.size() - at), &point);
    points.push_back(read > 0 ? uint32_t(point) : bytes[at]);
    at += read > 0 ? size_t(read) : 1;
  }
  return points;
}

}  // namespace

std::string encode_npy(const NpyArray& array) {
  const auto* type = std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes),
                                  [&](const NpyType& row) { return array.dtype == row.dtype; });
  if (type == std::end(kNpyTypes)) throw std::runtime_error("npy has no element type " + array.dtype);
  return encode(type->numpy, array.shape, array.data);
}

std::string encode_npy_texts(const std::vector<std::string>& texts) {
  size_t longest = 1;  // NumPy has no texts of width 0.
  for (const std::string& text : texts) longest = std::max(longest, points_of(text).size());
  std::string data;
  for (const std::string& text : texts) {
    std::vector<uint32_t> points = points_of(text);
    points.resize(longest);
    for (const uint32_t point : points) put_le(data, point);
  }
  return encode("<U" + std::to_string(longest), {int64_t(texts.size())}, data);
}

}  // namespace ltr::doors
