#include "runtime/data/row_records.h"

#include <algorithm>
#include <cmath>

#include "runtime/data/known.h"
#include "runtime/data/rows.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"

namespace ltr {

Cell stand_in(const FieldInfo& field, int which) {
  const double kReals[kStandIns] = {0, NAN, -17.25};
  const int64_t kWholes[kStandIns] = {0, 1, 5};
  Cell cell;
  cell.real = kReals[which];
  cell.whole = field.host[0] == 'b' ? which % 2 : kWholes[which];
  if ((field.host[0] == 's' || field.host[0] == 'p')) cell.text = which == 0 ? "" : std::to_string(which);
  if (field.host[0] != '\0') return cell;
  std::vector<int64_t> sizes = field.dims;
  for (int64_t& size : sizes) size = std::max(size, int64_t(1));
  const at::ScalarType type = scalar_type(field.dtype);
  const at::Scalar value = at::isFloatingType(type) ? at::Scalar(cell.real) : at::Scalar(cell.whole);
  cell.tensor = give(at::full(sizes, value, at::TensorOptions().dtype(type)));
  return cell;
}

Str not_finite_text(const Str& first, int64_t count) {
  if (count == 0) return "";
  return count == 1 ? first : fmt::format("{}; {} numbers of this file are not finite", first, count);
}

bool RowSource::read(const ReadAt& at, Record& out) const {
  out = records_[size_t(at.index)];
  if (out.empty()) return false;
  if (!at.is_unlabelled) return true;
  for (const auto& [field, cell] : unneeded_) out[field] = cell;
  return !unneeded_.empty();
}

void RowSource::fill_in(size_t field, const Cell& cell) {
  for (Record& record : records_) {
    if (!record.empty()) record[field] = cell;
  }
}

void ForeignRows::need_all() const { source->set_leaves_out(false); }

namespace {

/// The fields `used` of the first batch when `record` is the only row; nothing if a map refuses it.
Option<std::vector<at::Tensor>> batch_of(const Stream& like, const Schema& schema, const Record& record,
                                         const std::vector<Str>& used) {
  const Stream stream = like.state()->rebuilt(Stream(new RowSource(schema, {"row"}, {record}, false)));
  Record batch;
  try {
    if (!guarded([&] { return stream.state()->read({}, batch); })) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
  std::vector<at::Tensor> out;
  for (size_t i = 0; i < batch.size(); ++i) {
    const char* name = stream.state()->schema()[i].name;
    if (std::find(used.begin(), used.end(), name) != used.end()) out.push_back(aten(batch[i].tensor).clone());
  }
  return out;
}

bool are_equal(const Option<std::vector<at::Tensor>>& left, const Option<std::vector<at::Tensor>>& right) {
  if (!left || !right || left->size() != right->size()) return false;
  return std::equal(left->begin(), left->end(), right->begin(), [](const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && (a.eq(b) | (a.isnan() & b.isnan())).all().item().toBool();
  });
}

/// Finds out on which fields of a row the batch hangs.
class Probe {
 public:
  Probe(const Stream& like, const ForeignRows& rows, const std::vector<Str>& used)
      : like_(like), schema_(rows.stream.state()->schema()), used_(used) {
    for (const int64_t at : {int64_t(0), own().size() / 2, own().size() - 1}) take_own(at);
    find_row(rows);
  }

  /// Whether there is a row to look at.
  bool has_row() const { return plain_.has_value(); }
  /// What stands for a field: a value of the stream's own records, which its maps take.
  Cell first(size_t field) const { return choices(field).front(); }

  /// Whether the batch changes with what `fields` hold; true if nobody can say, as the maps take no other values.
  bool hangs_on(const std::vector<size_t>& fields) const {
    bool is_known = false;
    for (size_t which = 0; which < choices(fields[0]).size(); ++which) {
      Record record = row_;
      for (const size_t field : fields) record[field] = choices(field)[which];
      if (is_same(record, fields)) continue;
      const auto changed = batch_of(like_, schema_, record, used_);
      if (!changed) continue;
      is_known = true;
      if (!are_equal(plain_, changed)) return true;
    }
    return !is_known;
  }

 private:
  const StreamState& own() const { return *like_.state()->source(); }

  void take_own(int64_t index) {
    Record record;
    if (index < 0 || is_mock_data() || own().is_absent()) return;
    if (read_early(own(), index, record) == Early::Good) own_.push_back(record);
  }

  std::vector<Cell> choices(size_t field) const {
    std::vector<Cell> out;
    for (const Record& record : own_) out.push_back(record[field]);
    if (own_.empty()) out = known_values(schema_[field]);
    for (int which = 0; which < kStandIns; ++which) out.push_back(stand_in(schema_[field], which));
    return out;
  }

  /// Whether `record` holds in `fields` what the row holds.
  bool is_same(const Record& record, const std::vector<size_t>& fields) const {
    return std::all_of(fields.begin(), fields.end(), [&](size_t field) {
      const Cell& a = record[field];
      const Cell& b = row_[field];
      const bool is_number = a.real == b.real || (std::isnan(a.real) && std::isnan(b.real));
      return a.text == b.text && a.whole == b.whole && is_number && !a.tensor.defined() && !b.tensor.defined();
    });
  }

  /// The first row that the maps take, of the first hundred; else a record of the stream's own, as what all rows hold may be what
  /// nothing hangs on.
  void find_row(const ForeignRows& rows) {
    constexpr int64_t kTried = 100;
    const int64_t count = std::min(rows.stream.state()->size(), kTried);
    bool is_any_read = false;
    for (int64_t i = 0; i < count && !plain_; ++i) {
      if (!rows.stream.state()->read({0, i}, row_)) continue;
      is_any_read = true;
      for (const size_t field : rows.absent) row_[field] = first(field);
      plain_ = batch_of(like_, schema_, row_, used_);
    }
    if (plain_ || own_.empty() || !is_any_read) return;
    row_ = own_.front();
    plain_ = batch_of(like_, schema_, row_, used_);
  }

  const DeviceScope on_host_{c10::kCPU};  ///< the model may lie elsewhere already; records do not
  const Stream& like_;
  const Schema& schema_;
  const std::vector<Str>& used_;
  std::vector<Record> own_;  ///< records of the stream's own source
  Record row_;
  Option<std::vector<at::Tensor>> plain_;
};

}  // namespace

FieldUse use_of_fields(const Stream& like, const ForeignRows& rows, const std::vector<Str>& used) {
  const Probe probe(like, rows, used);
  FieldUse use;
  use.is_known = probe.has_row();
  for (size_t field = 0; field < rows.stream.state()->schema().size(); ++field) {
    const bool is_absent = std::find(rows.absent.begin(), rows.absent.end(), field) != rows.absent.end();
    if (probe.has_row() && probe.hangs_on({field})) {
      if (is_absent) use.missed.push_back(field);
    } else if (is_absent) {
      use.filled_in.emplace_back(field, probe.first(field));
    } else if (probe.has_row()) {
      use.not_needed.emplace_back(field, probe.first(field));
    }
  }
  // Only together do they change anything.
  if (probe.has_row() && use.missed.empty() && rows.absent.size() > 1 && probe.hangs_on(rows.absent))
    use.missed = rows.absent;
  return use;
}

int64_t records_behind(const Stream& stream) {
  const StreamState& state = *stream.state();
  const int64_t last = state.size() - 1;
  return last < 0 ? 0 : last * state.batch_size() + state.batch_samples(last);
}

void FieldUse::apply(ForeignRows& rows) const {
  for (const auto& [field, cell] : filled_in) rows.source->fill_in(field, cell);
  for (const auto& [field, cell] : not_needed) rows.source->set_unneeded(field, cell);
}

}  // namespace ltr
