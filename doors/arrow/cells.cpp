#include "doors/arrow/cells.h"

#include <arrow/util/byte_size.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <algorithm>
#include <limits>

namespace ltr::doors {

namespace {

using arrow::Array;
using arrow::DataType;
using arrow::Type;

/// What an extension is made of.
const DataType& plain(const DataType& type) {
  if (type.id() != Type::EXTENSION) return type;
  return plain(*static_cast<const arrow::ExtensionType&>(type).storage_type());
}

const Array& plain(const Array& array) {
  if (array.type_id() != Type::EXTENSION) return array;
  return plain(*static_cast<const arrow::ExtensionArray&>(array).storage());
}

bool is_text(Type::type id) { return id == Type::STRING || id == Type::LARGE_STRING || id == Type::STRING_VIEW; }

bool is_bytes(Type::type id) {
  return id == Type::BINARY || id == Type::LARGE_BINARY || id == Type::BINARY_VIEW || id == Type::FIXED_SIZE_BINARY;
}

bool holds_lists(Type::type id) { return id == Type::LIST || id == Type::LARGE_LIST || id == Type::FIXED_SIZE_LIST; }

/// What numbers of `type` are read as; "" of what are none.
const char* element_of(const DataType& type) {
  switch (type.id()) {
    case Type::BOOL: return "BOOL";
    case Type::INT8: return "I8";
    case Type::UINT8: return "U8";
    case Type::INT16: return "I16";
    case Type::UINT16:
    case Type::INT32: return "I32";
    case Type::UINT32:
    case Type::UINT64:
    case Type::INT64: return "I64";
    case Type::HALF_FLOAT: return "F16";
    case Type::FLOAT: return "F32";
    case Type::DOUBLE: return "F64";
    default: return "";
  }
}

bool is_file(const DataType& type) {
  if (type.id() != Type::STRUCT) return false;
  const auto& record = static_cast<const arrow::StructType&>(type);
  const auto bytes = record.GetFieldByName("bytes");
  const auto path = record.GetFieldByName("path");
  return bytes != nullptr && is_bytes(bytes->type()->id()) && (path == nullptr || is_text(path->type()->id()));
}

template <class Word>
void widen(const Array& leaf, int64_t first, int64_t count, std::string& out) {
  using Wide = std::conditional_t<sizeof(Word) == 2, int32_t, int64_t>;
  const Word* from = leaf.data()->GetValues<Word>(1) + first;
  out.resize(size_t(count) * sizeof(Wide));
  auto* to = reinterpret_cast<Wide*>(out.data());
  for (int64_t i = 0; i < count; ++i) {
    if (sizeof(Word) == 8 && from[i] > Word(INT64_MAX))
      throw std::range_error("is " + std::to_string(from[i]) + ", more than an i64 holds");
    to[i] = Wide(from[i]);
  }
}

StoredNumbers leaf_numbers(const Array& leaf, int64_t first, int64_t count, std::vector<int64_t> shape) {
  StoredNumbers out;
  out.shape = std::move(shape);
  for (int64_t i = first; leaf.null_count() > 0 && i < first + count; ++i) {
    if (leaf.IsNull(i)) throw std::range_error("has a null among its numbers");
  }
  if (count == 0) return out;
  switch (leaf.type_id()) {
    case Type::BOOL:
      for (int64_t i = first; i < first + count; ++i)
        out.unpacked += char(static_cast<const arrow::BooleanArray&>(leaf).Value(i));
      break;
    case Type::UINT16: widen<uint16_t>(leaf, first, count, out.unpacked); break;
    case Type::UINT32: widen<uint32_t>(leaf, first, count, out.unpacked); break;
    case Type::UINT64: widen<uint64_t>(leaf, first, count, out.unpacked); break;
    default: {
      const int width = static_cast<const arrow::FixedWidthType&>(*leaf.type()).bit_width() / 8;
      out.data = leaf.data()->GetValues<uint8_t>(1, 0) + (leaf.offset() + first) * width;
    }
  }
  return out;
}

/// Runs `body` with an array of lists as what it is.
template <class Body>
auto with_lists(const Array& lists, Body&& body) {
  switch (lists.type_id()) {
    case Type::LIST: return body(static_cast<const arrow::ListArray&>(lists));
    case Type::LARGE_LIST: return body(static_cast<const arrow::LargeListArray&>(lists));
    default: return body(static_cast<const arrow::FixedSizeListArray&>(lists));
  }
}

struct Part {
  int64_t first = 0;
  int64_t size = 0;
};

Part list_part(const Array& lists, int64_t i) {
  return with_lists(lists, [&](const auto& own) { return Part{own.value_offset(i), own.value_length(i)}; });
}

const Array& elements_of(const Array& lists) {
  return plain(*with_lists(lists, [](const auto& own) { return own.values().get(); }));
}

/// Lists lie one behind the other, so numbers of lists of one length each are neighbours.
StoredNumbers nested_numbers(const Array& array, int64_t row) {
  const Array* lists = &plain(array);
  int64_t first = row;
  int64_t count = 1;
  std::vector<int64_t> shape;
  while (holds_lists(lists->type_id())) {
    Part whole;
    for (int64_t i = first; i < first + count; ++i) {
      if (lists->IsNull(i)) throw std::range_error("has a null among its lists");
      const Part part = list_part(*lists, i);
      if (i > first && part.size != whole.size)
        throw std::range_error("has lists of " + std::to_string(whole.size) + " and of " + std::to_string(part.size) +
                               " elements side by side");
      if (i == first) whole = part;
    }
    shape.push_back(whole.size);
    first = whole.first;
    count *= whole.size;
    lists = &elements_of(*lists);
  }
  return leaf_numbers(*lists, first, count, std::move(shape));
}

template <class ArrayType, class Value>
Value value_at(const Array& array, int64_t row) {
  return Value(static_cast<const ArrayType&>(array).Value(row));
}

int64_t whole_at(const Array& array, int64_t row) {
  switch (array.type_id()) {
    case Type::BOOL: return value_at<arrow::BooleanArray, int64_t>(array, row);
    case Type::INT8: return value_at<arrow::Int8Array, int64_t>(array, row);
    case Type::UINT8: return value_at<arrow::UInt8Array, int64_t>(array, row);
    case Type::INT16: return value_at<arrow::Int16Array, int64_t>(array, row);
    case Type::UINT16: return value_at<arrow::UInt16Array, int64_t>(array, row);
    case Type::INT32: return value_at<arrow::Int32Array, int64_t>(array, row);
    case Type::UINT32: return value_at<arrow::UInt32Array, int64_t>(array, row);
    case Type::INT64: return value_at<arrow::Int64Array, int64_t>(array, row);
    default: {
      const auto wide = value_at<arrow::UInt64Array, uint64_t>(array, row);
      if (wide > uint64_t(INT64_MAX)) throw std::range_error("is " + std::to_string(wide) + ", more than an i64 holds");
      return int64_t(wide);
    }
  }
}

double real_at(const Array& array, int64_t row) {
  switch (array.type_id()) {
    case Type::HALF_FLOAT:
      return arrow::util::Float16::FromBits(value_at<arrow::HalfFloatArray, uint16_t>(array, row)).ToDouble();
    case Type::FLOAT: return value_at<arrow::FloatArray, double>(array, row);
    case Type::DOUBLE: return value_at<arrow::DoubleArray, double>(array, row);
    case Type::DECIMAL128: {
      const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
      return arrow::Decimal128(decimals.GetValue(row))
          .ToDouble(static_cast<const arrow::Decimal128Type&>(*array.type()).scale());
    }
    case Type::UINT64: return value_at<arrow::UInt64Array, double>(array, row);
    default: return double(whole_at(array, row));
  }
}

std::string_view bytes_at(const Array& array, int64_t row) {
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY: return static_cast<const arrow::BinaryArray&>(array).GetView(row);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY: return static_cast<const arrow::LargeBinaryArray&>(array).GetView(row);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW: return static_cast<const arrow::BinaryViewArray&>(array).GetView(row);
    default: return static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row);
  }
}

/// A place in an array whose extensions and dictionaries are resolved.
struct Place {
  const Array* array;
  int64_t row;
  bool is_null() const { return array->IsNull(row); }
};

Place resolved(const Array& array, int64_t row) {
  const Array& own = plain(array);
  if (own.type_id() != Type::DICTIONARY || own.IsNull(row)) return {&own, row};
  const auto& coded = static_cast<const arrow::DictionaryArray&>(own);
  return resolved(*coded.dictionary(), coded.GetValueIndex(row));
}

class Block : public RowBlock {
 public:
  Block(std::shared_ptr<const arrow::MemoryPool> pool, std::shared_ptr<const arrow::Table> table)
      : pool_(std::move(pool)), table_(std::move(table)), bytes_(arrow::util::TotalBufferSize(*table_)) {
    for (const auto& column : table_->columns()) {
      Chunks& chunks = columns_.emplace_back();
      int64_t begin = 0;
      for (const auto& chunk : column->chunks()) {
        if (chunk->length() == 0) continue;
        chunks.arrays.push_back(chunk.get());
        chunks.begins.push_back(begin);
        begin += chunk->length();
      }
    }
  }

  int64_t rows() const override { return table_->num_rows(); }
  int64_t bytes() const override { return bytes_; }
  bool is_null(size_t column, int64_t row) const override { return place(column, row).is_null(); }

  int64_t whole(size_t column, int64_t row) const override {
    const Place at = place(column, row);
    return whole_at(*at.array, at.row);
  }

  double real(size_t column, int64_t row) const override {
    const Place at = place(column, row);
    return real_at(*at.array, at.row);
  }

  std::string_view bytes(size_t column, int64_t row) const override {
    const Place at = place(column, row);
    return at.array->type_id() == Type::STRUCT ? field(at, "bytes") : bytes_at(*at.array, at.row);
  }

  std::string_view path(size_t column, int64_t row) const override { return field(place(column, row), "path"); }

  StoredNumbers numbers(size_t column, int64_t row) const override {
    const Place at = place(column, row);
    return nested_numbers(*at.array, at.row);
  }

 private:
  struct Chunks {
    std::vector<const Array*> arrays;
    std::vector<int64_t> begins;
  };

  Place place(size_t column, int64_t row) const {
    const Chunks& chunks = columns_[column];
    const auto after = std::upper_bound(chunks.begins.begin(), chunks.begins.end(), row);
    const auto chunk = size_t(after - chunks.begins.begin()) - 1;
    return resolved(*chunks.arrays[chunk], row - chunks.begins[chunk]);
  }

  /// A field of a record, without data if it is null or not there.
  static std::string_view field(const Place& at, const char* name) {
    const auto& record = static_cast<const arrow::StructArray&>(*at.array);
    const int index = static_cast<const arrow::StructType&>(*record.type()).GetFieldIndex(name);
    if (index < 0) return {};
    const Place inner = resolved(*record.field(index), at.row);
    return inner.is_null() ? std::string_view() : bytes_at(*inner.array, inner.row);
  }

  std::shared_ptr<const arrow::MemoryPool> pool_;
  std::shared_ptr<const arrow::Table> table_;
  int64_t bytes_;
  std::vector<Chunks> columns_;
};

}  // namespace

void need(const arrow::Status& status) {
  if (!status.ok()) throw ColumnFileError(status.message());
}

ColumnInfo column_info(const arrow::Field& field) {
  const DataType* type = &plain(*field.type());
  ColumnInfo info;
  info.name = field.name();
  info.type = type->ToString();
  if (type->id() == Type::DICTIONARY) type = &plain(*static_cast<const arrow::DictionaryType&>(*type).value_type());
  for (; holds_lists(type->id()); ++info.rank)
    type = &plain(*static_cast<const arrow::BaseListType&>(*type).value_type());
  info.element = element_of(*type);
  if (info.rank > 0) {
    info.kind = info.element.empty() ? ColumnKind::Other : ColumnKind::Numbers;
  } else if (!info.element.empty()) {
    info.kind = type->id() == Type::BOOL        ? ColumnKind::Bool
                : arrow::is_integer(type->id()) ? ColumnKind::Whole
                                                : ColumnKind::Real;
  } else if (type->id() == Type::DECIMAL128) {
    info.kind = ColumnKind::Real;
    info.element = "F64";
  } else if (is_text(type->id())) {
    info.kind = ColumnKind::Text;
  } else if (is_bytes(type->id())) {
    info.kind = ColumnKind::Bytes;
  } else if (is_file(*type)) {
    info.kind = ColumnKind::File;
  } else if (type->id() == Type::NA) {
    info.kind = ColumnKind::Null;
  }
  return info;
}

std::shared_ptr<const RowBlock> make_block(std::shared_ptr<const arrow::MemoryPool> pool,
                                           std::shared_ptr<const arrow::Table> table) {
  need(table->ValidateFull());
  return std::make_shared<Block>(std::move(pool), std::move(table));
}

}  // namespace ltr::doors
