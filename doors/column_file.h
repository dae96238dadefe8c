#pragma once

// Files of columns, Parquet and Arrow: what of them others see. They are read by a library of its own, libltr_arrow, which is loaded
// when the first one is opened. `arrow/` is its inside.

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ltr::doors {

enum class ColumnKind : uint8_t {
  Other,  ///< what nobody reads: dates, maps, lists of texts
  Bool,
  Whole,  ///< integers of any width
  Real,   ///< floats of any width, decimals
  Text,
  Bytes,
  Numbers,  ///< lists of numbers or bools, of any depth
  File,     ///< bytes, or the path of a file that has them: images and sound of Hugging Face's datasets
  Null,     ///< nothing but null
};

struct ColumnInfo {
  std::string name;
  std::string type;  ///< as messages say it: `list<element: double>`
  ColumnKind kind = ColumnKind::Other;
  std::string element;  ///< of Bool, Whole, Real and Numbers: what its numbers are read as, named as in safetensors
  size_t rank = 0;      ///< of Numbers: how deep lists lie in each other
};

/// A value of Numbers. The bytes lie in the block, or in `unpacked`.
struct StoredNumbers {
  const void* data = nullptr;
  std::vector<int64_t> shape;
  std::string unpacked;  ///< bools, which are bits there, and unsigned integers of more than 8 bits
};

/// Rows of a file in memory. Rows count from 0; columns as `choose` was given them. Any thread may read.
class RowBlock {
 public:
  virtual ~RowBlock() = default;
  virtual int64_t rows() const = 0;
  /// Memory that it takes.
  virtual int64_t bytes() const = 0;
  virtual bool is_null(size_t column, int64_t row) const = 0;
  /// Bool and Whole. std::range_error for what no int64 holds.
  virtual int64_t whole(size_t column, int64_t row) const = 0;
  /// Whole and Real.
  virtual double real(size_t column, int64_t row) const = 0;
  /// Text, Bytes, File: its bytes, which may be null.
  virtual std::string_view bytes(size_t column, int64_t row) const = 0;
  /// File: its path, "" if it has none.
  virtual std::string_view path(size_t column, int64_t row) const = 0;
  /// std::range_error for lists of different lengths, for a null among the numbers, and for what no int64 holds.
  virtual StoredNumbers numbers(size_t column, int64_t row) const = 0;
};

class ColumnFile {
 public:
  virtual ~ColumnFile() = default;
  virtual const std::vector<ColumnInfo>& columns() const = 0;
  /// What the schema notes under a key beside the columns, "" if nothing.
  virtual std::string note(const std::string& key) const = 0;
  /// Which columns will be read, by their places. Once, before all that follows.
  virtual void choose(const std::vector<size_t>& columns) = 0;
  /// Rows of each block, in their order.
  virtual const std::vector<int64_t>& blocks() const = 0;
  /// How many cells of a chosen column are null, -1 if the file does not say.
  virtual int64_t nulls(size_t column) const = 0;
  /// Any thread may ask.
  virtual std::shared_ptr<const RowBlock> read(size_t block) const = 0;
};

enum class ColumnFormat : uint8_t { Parquet, Arrow };

/// Why a file is none, or what is damaged of it.
struct ColumnFileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Why there is no library to read it with.
struct NoColumnLibrary : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Name of the library, a file beside the runtime.
inline constexpr const char* kColumnLibrary = "libltr_arrow.so";

/// Opens `path` with the library at `library`. ColumnFileError, NoColumnLibrary, std::system_error if there is no such file.
std::unique_ptr<ColumnFile> open_column_file(const std::string& library, const std::string& path, ColumnFormat format);

/// The names of its columns alone; nothing if it is no such file, or there is no such library. For programs that have the C++ library in
/// themselves, as ltrc: no object and no exception comes from `library`, which has another copy.
std::optional<std::vector<std::string>> column_names(const std::string& library, const std::string& path,
                                                     ColumnFormat format);

}  // namespace ltr::doors
