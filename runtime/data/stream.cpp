#include "runtime/data/stream.h"

#include <algorithm>

#include "runtime/api/error.h"
#include "runtime/data/rows.h"
#include "runtime/tensor/device.h"

namespace ltr {

Stream::Stream(StreamState* state) : state_(state) {
  if (state_ != nullptr) state_->retain();
}

Stream::Stream(const Stream& other) : Stream(other.state_) {}

Stream::~Stream() {
  if (state_ != nullptr) state_->release();
}

StreamState::StreamState(Schema fields) : schema_(std::move(fields)), location_(current_location()) {}

bool StreamState::fill(const ReadAt& at, std::byte* const* rows) const {
  thread_local Record record;
  // A map below may read records itself, so the scratch record is taken away while it is in use.
  Record scratch = std::move(record);
  const bool is_there = read(at, scratch);
  if (is_there) {
    for (size_t i = 0; i < schema_.size(); ++i) {
      write_cell(schema_[i], scratch[i], rows[i], [&] { return name_of(at); });
    }
  }
  record = std::move(scratch);
  return is_there;
}

Stream StreamState::rebuilt(const Stream&) const {
  throw error_at(location_, err::settings_contradict, "this stream has no single source whose rows could be replaced");
}

Stage::Stage(Schema fields, const Stream& inner) : StreamState(std::move(fields)), inner_(inner) {}

IndexStage::IndexStage(const Stream& inner) : Stage(inner.state()->schema(), inner) {}

bool is_of_record(const Error& error) {
  return error.code == err::bad_record.code || error.code == err::value_out_of_range.code ||
         error.code == err::file_missing.code;
}

Early read_early(const StreamState& stream, int64_t index, Record& out) {
  const DeviceScope on_host(c10::kCPU);
  try {
    return stream.read({0, index}, out) ? Early::Good : Early::LeftOut;
  } catch (const Error& error) {
    if (!is_of_record(error)) throw;
    return Early::Bad;
  }
}

bool same_records(const Schema& a, const Schema& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const FieldInfo& left, const FieldInfo& right) {
    // What is no tensor has no elements.
    const bool is_host = left.host[0] != '\0';
    return Str(left.name) == right.name && (is_host || left.dtype == right.dtype) && left.dims == right.dims &&
           Str(left.host) == right.host && left.form == right.form;
  });
}

bool goes_on(const Stream& part, int64_t records) { return part.state()->size() == kEndless && records != kEndless; }

ReadAt gone_on(const ReadAt& at, const Stream& part, int64_t records) {
  if (!goes_on(part, records)) return at;
  ReadAt out = at;
  out.index += at.epoch * records;
  out.epoch = 0;
  return out;
}

void need_end(const Stream& stream, const char* stage) {
  if (stream.state()->size() != kEndless) return;
  throw error_here(err::stream_too_short,
                   fmt::format("{} needs a stream that ends; put it in front of repeat()", stage));
}

namespace {

std::atomic<bool> mock_data = false;

}  // namespace

void set_mock_data(bool on) { mock_data = on; }

bool is_mock_data() { return mock_data; }

}  // namespace ltr
