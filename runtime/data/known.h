#pragma once

// What a stream is known to hold, by the name of its `let`: kept in checkpoints, so that predictions need no training data,
// and in a cache, so that it is computed once.

#include <atomic>
#include <functional>
#include <mutex>

#include <nlohmann/json.hpp>

#include "runtime/data/stream.h"

namespace ltr {

/// Facts or a vocabulary of one stream, or of a file.
class Known {
 public:
  Known(Str name, Stream stream, Location location);
  Known(const Known&) = delete;
  Known& operator=(const Known&) = delete;
  virtual ~Known();

  const Str& name() const { return name_; }
  const Location& location() const { return location_; }
  /// Finds out what there is to know, once.
  void need() const;
  /// What checkpoints keep.
  nlohmann::json to_json() const;

 protected:
  const Stream& stream() const { return stream_; }
  /// Reads the whole stream; of `--mock-data` it makes something up.
  virtual nlohmann::json compute() const = 0;
  /// Throws what nlohmann throws if `json` is nothing that `compute` gave.
  virtual void take(const nlohmann::json& json) const = 0;
  /// What of the program it hangs on beside its stream; "" for what no cache need keep.
  virtual Str key() const = 0;

 private:
  Str name_;
  Stream stream_;
  Location location_;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> is_known_{false};  ///< once it is, nobody waits for the lock
  mutable nlohmann::json value_;
};

/// What a checkpoint says, by name, and what else than files the streams of this run hang on: the program, its settings.
void set_known(nlohmann::json kept, Str program);
/// Whether a checkpoint says what `name` is.
bool is_known(const Str& name);
/// What records hang on beside their stage: the program and all that runs in it, its settings, the files of its data as they lie there, and
/// what is known of its streams, which is found out now. "" where nothing says what the program is, or data are made up.
Str records_key();
/// 0, 1, 2 … since `set_known`: tells stages apart that look alike, as a program makes all of its stages in one order.
int64_t next_stage_number();
/// 0, 1, 2 … of the stages with random numbers that have so many stages below, likewise: two that do differ in what they draw.
uint64_t next_drawing(int depth);
/// All that is known of the streams of `data`, by name; it is found out now.
nlohmann::json known_of(const Data& data);
/// Values that a field of this name had, as far as a checkpoint says so: its classes.
std::vector<Cell> known_values(const FieldInfo& field);
/// A source of records of `schema`: what `open` gives, with mock data one that opens nothing. Where a checkpoint says what streams hold, files that are gone (R3001) are missed by whoever reads records
/// of `schema` from them, not where they are opened: a prediction of other rows needs none.
Stream open_source(const Schema& schema, const std::function<Stream()>& open);

}  // namespace ltr
