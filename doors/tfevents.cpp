#include "doors/tfevents.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>

#include "doors/bytes.h"
#include "doors/crc.h"
#include "doors/protobuf.h"

namespace ltr::doors {

namespace {

constexpr int kString = 7;
constexpr int kDouble = 2;
constexpr int kFloat = 1;
constexpr int kTensorData = 2;
constexpr int kBlobData = 3;

Message event(int64_t step, double time) {
  Message out;
  out.real(1, time);
  if (step != 0) out.varint(2, uint64_t(step));
  return out;
}

/// `plugin` with its own content, and the data class that tells readers how to keep the series.
Message metadata(const std::string& plugin, const std::string& content, int data_class) {
  Message plugin_data;
  plugin_data.bytes(1, plugin);
  if (!content.empty()) plugin_data.bytes(2, content);
  Message out;
  out.message(1, plugin_data);
  if (data_class != 0) out.varint(4, uint64_t(data_class));
  return out;
}

Message shape(std::initializer_list<int64_t> dims) {
  Message out;
  for (const int64_t dim : dims) {
    Message one;
    one.varint(1, uint64_t(dim));
    out.message(2, one);
  }
  return out;
}

Message strings(const std::vector<std::string>& values) {
  Message out;
  out.varint(1, kString).message(2, shape({int64_t(values.size())}));
  for (const std::string& value : values) out.bytes(8, value);
  return out;
}

std::string with_value(int64_t step, double time, const Message& value) {
  Message summary;
  summary.message(1, value);
  Message out = event(step, time);
  out.message(5, summary);
  return out.data();
}

/// An hparams record: no value, everything is in the metadata of a null tensor.
std::string hparams_record(double time, const std::string& tag, int field, const Message& content) {
  Message plugin;
  plugin.varint(1, 0).message(field, content);
  Message null;
  null.varint(1, kFloat).message(2, shape({0}));
  Message value;
  value.bytes(1, tag).message(8, null).message(9, metadata("hparams", plugin.data(), 0));
  return with_value(0, time, value);
}

}  // namespace

Histogram make_histogram(std::span<const double> values, size_t bins) {
  Histogram out;
  double low = INFINITY;
  double high = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return out;
  if (low == high) {
    double count = 0;
    for (const double value : values) count += std::isfinite(value) ? 1 : 0;
    out.left = {low - 0.5};
    out.right = {low + 0.5};
    out.counts = {count};
    return out;
  }
  const double width = (high - low) / double(bins);
  for (size_t i = 0; i < bins; ++i) {
    out.left.push_back(low + width * double(i));
    out.right.push_back(i + 1 == bins ? high : low + width * double(i + 1));
  }
  out.counts.assign(bins, 0);
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const auto bin = size_t((value - low) / width);
    out.counts[std::min(bin, bins - 1)] += 1;
  }
  return out;
}

std::string frame_record(const std::string& payload) {
  std::string out;
  put_le(out, uint64_t(payload.size()));
  put_le(out, masked_crc32c(out.data(), 8));
  out += payload;
  put_le(out, masked_crc32c(payload.data(), payload.size()));
  return out;
}

std::string event_file_name(double time, const std::string& host, int pid, int number) {
  return "events.out.tfevents." + std::to_string(int64_t(time)) + "." + host + "." + std::to_string(pid) + "." +
         std::to_string(number);
}

EventFile::EventFile(const std::string& path, int64_t step, double time)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
  Message version;
  version.real(1, time).bytes(3, "brain.Event:2");
  Message session;
  session.varint(1, 1);
  Message start = event(step, time);
  start.message(7, session);
  try {
    write(version.data());
    write(start.data());
  } catch (...) {
    // A file without its two first records is none.
    ::close(file_);
    ::unlink(path.c_str());
    throw;
  }
}

EventFile::~EventFile() { ::close(file_); }

void EventFile::write(const std::string& payload) {
  const std::string record = frame_record(payload);
  ssize_t count = 0;
  do {
    count = ::write(file_, record.data(), record.size());
  } while (count < 0 && errno == EINTR);
  if (count == ssize_t(record.size())) return;
  const int reason = count < 0 ? errno : ENOSPC;
  // Half a record would hide all that come after it.
  if (count > 0) static_cast<void>(!::ftruncate(file_, ::lseek(file_, 0, SEEK_END) - count));
  throw std::system_error(reason, std::generic_category(), "event file");
}

void EventFile::scalar(int64_t step, double time, const std::string& tag, double value) {
  Message out;
  out.bytes(1, tag).single(2, float(value));
  write(with_value(step, time, out));
}

void EventFile::histogram(int64_t step, double time, const std::string& tag, const Histogram& histogram) {
  std::string rows;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    put_le(rows, histogram.left[i]);
    put_le(rows, histogram.right[i]);
    put_le(rows, histogram.counts[i]);
  }
  Message tensor;
  tensor.varint(1, kDouble).message(2, shape({int64_t(histogram.counts.size()), 3})).bytes(4, rows);
  Message out;
  out.bytes(1, tag).message(8, tensor).message(9, metadata("histograms", "", kTensorData));
  write(with_value(step, time, out));
}

void EventFile::image(int64_t step, double time, const std::string& tag, const Image& image) {
  const Message tensor = strings({std::to_string(image.width), std::to_string(image.height), encode_png(image)});
  Message out;
  out.bytes(1, tag).message(8, tensor).message(9, metadata("images", "", kBlobData));
  write(with_value(step, time, out));
}

void EventFile::text(int64_t step, double time, const std::string& tag, const std::string& markdown) {
  Message out;
  out.bytes(1, tag).message(8, strings({markdown})).message(9, metadata("text", "", kTensorData));
  write(with_value(step, time, out));
}

void EventFile::hparams_start(double time, const std::map<std::string, HparamValue>& values) {
  Message info;
  for (const auto& [name, value] : values) {
    Message wire;
    if (const auto* number = std::get_if<double>(&value)) wire.real(2, *number);
    if (const auto* text = std::get_if<std::string>(&value)) wire.bytes(3, *text);
    if (const auto* flag = std::get_if<bool>(&value)) wire.varint(4, *flag ? 1 : 0);
    Message entry;
    entry.bytes(1, name).message(2, wire);
    info.message(1, entry);
  }
  info.bytes(4, "").real(5, time);
  write(hparams_record(time, "_hparams_/session_start_info", 3, info));
}

void EventFile::hparams_end(double time, SessionStatus status) {
  Message info;
  info.varint(1, uint64_t(status)).real(2, time);
  write(hparams_record(time, "_hparams_/session_end_info", 4, info));
}

}  // namespace ltr::doors
