#include "runtime/data/cell_bytes.h"

#include <ATen/ATen.h>

#include "doors/bytes.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

// A cell is its parts, a bit for each that is there, then those parts.
enum CellPart : uint8_t { kTensor = 1, kWhole = 2, kReal = 4, kText = 8, kMissing = 16 };

/// What is left of the bytes of a record.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool is_at_end() const { return bytes_.empty(); }

  template <class T>
  bool take(T& value) {
    if (bytes_.size() < sizeof value) return false;
    value = doors::get_le<T>(bytes_.data());
    bytes_.remove_prefix(sizeof value);
    return true;
  }

  bool take(uint64_t size, std::string_view& text) {
    if (size > bytes_.size()) return false;
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }

 private:
  std::string_view bytes_;
};

void append_tensor(const at::Tensor& given, Str& out) {
  const at::Tensor tensor = given.detach().cpu().contiguous();
  doors::put_le(out, int8_t(tensor.scalar_type()));
  doors::put_le(out, uint8_t(tensor.dim()));
  for (const int64_t size : tensor.sizes()) doors::put_le(out, size);
  doors::put_le(out, uint64_t(tensor.nbytes()));
  out.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
}

bool take_tensor(Reader& reader, Tensor& out) {
  int8_t type = 0;
  uint8_t dims = 0;
  uint64_t bytes = 0;
  std::string_view numbers;
  if (!reader.take(type) || !reader.take(dims)) return false;
  std::vector<int64_t> sizes(dims);
  for (int64_t& size : sizes) {
    if (!reader.take(size)) return false;
  }
  if (!reader.take(bytes) || !reader.take(bytes, numbers)) return false;
  const at::Tensor tensor = at::empty(sizes, at::TensorOptions().dtype(at::ScalarType(type)).device(at::kCPU));
  if (tensor.nbytes() != numbers.size()) return false;
  std::memcpy(tensor.mutable_data_ptr(), numbers.data(), numbers.size());
  out = give(tensor);
  return true;
}

bool take_cell(Reader& reader, Cell& cell) {
  uint8_t parts = 0;
  if (!reader.take(parts)) return false;
  cell = {};
  cell.is_missing = (parts & kMissing) != 0;
  if ((parts & kWhole) != 0 && !reader.take(cell.whole)) return false;
  if ((parts & kReal) != 0 && !reader.take(cell.real)) return false;
  if ((parts & kText) != 0) {
    uint64_t size = 0;
    std::string_view text;
    if (!reader.take(size) || !reader.take(size, text)) return false;
    cell.text = text;
  }
  return (parts & kTensor) == 0 || take_tensor(reader, cell.tensor);
}

}  // namespace

void append_record(const Record& record, Str& out) {
  for (const Cell& cell : record) {
    // -0.0 is not 0.0: a number is left out by its bits.
    const bool is_real = std::bit_cast<uint64_t>(cell.real) != 0;
    const int parts = (cell.tensor.defined() ? kTensor : 0) | (cell.whole != 0 ? kWhole : 0) | (is_real ? kReal : 0) |
                      (cell.text.empty() ? 0 : kText) | (cell.is_missing ? kMissing : 0);
    doors::put_le(out, uint8_t(parts));
    if (cell.whole != 0) doors::put_le(out, cell.whole);
    if (is_real) doors::put_le(out, cell.real);
    if (!cell.text.empty()) {
      doors::put_le(out, uint64_t(cell.text.size()));
      out += cell.text;
    }
    if (cell.tensor.defined()) append_tensor(aten(cell.tensor), out);
  }
}

bool parse_record(std::string_view bytes, size_t fields, Record& out) {
  Reader reader(bytes);
  out.resize(fields);
  for (Cell& cell : out) {
    if (!take_cell(reader, cell)) return false;
  }
  return reader.is_at_end();
}

}  // namespace ltr
