#pragma once

// Records, batches and the streams of them, and the base of generated `data` objects.

#include "ltr/tensor.h"

namespace ltr {

enum class FieldForm : uint8_t {
  Plain,
  Option,   ///< a host value that may be missing
  Texts,    ///< of a batch: `u8[B, W]`, the UTF-8 of each text, filled up with `kNoByte`
  Lengths,  ///< of a batch: `i64[B]`, how much of each row of a padded field is there
};
/// Stands in no UTF-8.
inline constexpr uint8_t kNoByte = 0xFF;

/// One field of a record or batch. `dims`: sizes behind the batch dim in records, all of them in
/// batches; -1 is any. `host` fields are not tensors yet: "int" "float" "bool" "str" "path"; for
/// tensors it is empty.
struct FieldInfo {
  const char* name;
  DType dtype = DType::Float;
  Ints dims;
  const char* host = "";
  FieldForm form = FieldForm::Plain;
};
using Schema = std::vector<FieldInfo>;

/// One value of a record: `tensor`, or the host value that the field's type says.
struct Cell {
  Tensor tensor;
  int64_t whole = 0;
  double real = 0;
  Str text;
  std::vector<Str> texts;   ///< of a list of texts, which no record holds: what `vocab` counts
  bool is_missing = false;  ///< of a field that is an option
};
using Record = std::vector<Cell>;

class Known;
class StreamState;
/// A stream of records or batches: a pure function of (epoch, position). A counted handle.
class LTR_EXPORT Stream {
 public:
  Stream() = default;
  explicit Stream(StreamState* state);
  Stream(const Stream& other);
  Stream(Stream&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Stream& operator=(Stream other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Stream();
  StreamState* state() const { return state_; }

 private:
  StreamState* state_ = nullptr;
};

class Data;
/// A compiled map: reads `in` (in the order of the stream's schema), fills `out` (in the order of
/// `MapInfo::out`).
struct MapInfo {
  void (*run)(const Data& self, const Record& in, Record& out);
  Schema out;
  bool random = false;  ///< draws random numbers, which are then keyed by (stage, epoch, record)
  const char* name = "";
  Location location;
};

/// What a batch of one stream holds, in the order of the data's `batch` schema; a field it lacks is
/// undefined.
struct Batch {
  Tensors fields;
  int64_t size = 0;
  /// Another rank's, or another turn's: it goes through the step so that all ranks do the same, and counts nothing.
  bool is_stand_in = false;
};

enum class Role : uint8_t { Train, Val, Test, Predict };

/// Base of the generated object of a `data` declaration.
class LTR_EXPORT Data {
 public:
  struct RoleStream {
    Role role;
    const char* name;  ///< "" if the role has one stream
    Stream stream;
    Location location;
  };
  Data() = default;
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  virtual ~Data();

  Schema batch;                     ///< binders are -1
  std::vector<RoleStream> streams;  ///< in order of declaration
  std::vector<const Known*> known;  ///< facts and vocabularies, which it owns
};

}  // namespace ltr
