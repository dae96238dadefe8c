#pragma once

// The first records of a stream in rounds, with what `step predict` makes of them: for callbacks that show them.

#include "runtime/callbacks/make.h"
#include "runtime/train/epoch_parts.h"

namespace ltr {

/// A record as its batch had it: rows in host memory, undefined where the stream lacks a field.
struct SeenRecord {
  std::vector<at::Tensor> fields;   ///< of the data's batch
  std::vector<at::Tensor> outputs;  ///< as in `RoundRecords::output_names`; none without a prediction
};

class RoundRecords : public Listener {
 public:
  std::vector<Hook> hooks() const override { return {Hook::val_epoch_start, Hook::val_batch_end, Hook::val_epoch_end}; }
  void hear(Hook hook, Context& cx) override;
  bool has_state() const override { return true; }
  void visit(Archive& archive) override { archive.value("turn", turn_); }

 protected:
  enum class Predicts : uint8_t { Must, May };
  /// `n`, `stream` and `every` of `call`, which is a callback `name`. R2006 for a stream that is none of a round, and if there is no
  /// `step predict` that such a stream can feed where there must be one.
  RoundRecords(const Str& name, const Value& call, const FitView& view, int64_t n, Predicts predicts);

  /// The records of a round that is due, in the first rank alone.
  virtual void show(const std::vector<SeenRecord>& records) = 0;

  const Schema& schema() const { return view_.request.data.batch; }
  bool predicts() const { return step_ != nullptr; }
  /// Whether `step predict` reads the field.
  bool is_read(size_t field) const;
  const std::vector<Str>& output_names() const { return names_; }
  const std::vector<bool>& output_texts() const { return are_texts_; }
  /// `val/clean` of the stream `val.clean`.
  Str tag() const;
  /// Writes `samples/NAME-stepN.ENDING` of the run; a disk that is full ends nothing.
  void write(const Str& name, const Str& ending, const Str& bytes) const;

  FitView view_;
  Str stream_name_;

 private:
  void take(Context& cx);

  size_t stream_ = 0;
  const StepInfo* step_ = nullptr;
  int64_t most_;
  bool in_steps_ = false;
  int64_t every_ = 1;
  Option<EpochParts> parts_;
  int64_t turn_ = -1;  ///< the newest that was shown
  int64_t due_ = -1;   ///< that of the round under way
  std::vector<SeenRecord> records_;
  std::vector<Str> names_;
  std::vector<bool> are_texts_;
};

}  // namespace ltr
