#include "runtime/train/metric_inputs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "runtime/train/feed.h"

namespace ltr {

namespace {

/// So many sums wait at most: memory stays bounded in a long epoch.
constexpr size_t kMostSums = 4096;

}  // namespace

void MetricInputs::look(const Str& name, int64_t stream, int64_t batch, const at::Tensor& input) {
  if (!input.is_floating_point() || input.numel() == 0) return;
  // A sum is nan where an element is, or where infinities of both signs are. One infinity alone may be meant: a mask.
  sums_.keep(input.detach().sum());
  seen_.push_back({name, stream, batch});
  if (seen_.size() >= kMostSums) settle();
}

void MetricInputs::settle() {
  const std::span<const double> sums = sums_.read();
  for (size_t i = 0; i < seen_.size(); i++) {
    if (std::isnan(sums[i])) merge(found_, {seen_[i].name, seen_[i].stream, seen_[i].batch, seen_[i].batch, 1});
  }
  seen_.clear();
  sums_.clear();
}

void MetricInputs::merge(std::vector<Found>& all, const Found& one) {
  const auto same = std::find_if(
      all.begin(), all.end(), [&](const Found& other) { return other.name == one.name && other.stream == one.stream; });
  if (same == all.end()) {
    all.push_back(one);
    return;
  }
  // A metric with two inputs, or called twice, meets its batch again.
  const bool is_same_batch = same->newest == one.newest && one.batches == 1;
  if (!is_same_batch) same->batches += one.batches;
  same->first = std::min(same->first, one.first);
  same->newest = std::max(same->newest, one.newest);
}

std::vector<MetricInputs::Found> MetricInputs::taken(Role role) {
  settle();
  const auto is_other = [&](const Found& one) { return request_.data.streams[size_t(one.stream)].role != role; };
  const auto own = std::stable_partition(found_.begin(), found_.end(), is_other);
  std::vector<Found> out(own, found_.end());
  found_.erase(own, found_.end());
  return out;
}

std::vector<Str> MetricInputs::tell(Role role) {
  const std::vector<Found> own = taken(role);
  std::vector<Found> all;
  if (request_.ranks.world() == 1) {
    all = own;
  } else {
    nlohmann::json packed = nlohmann::json::array();
    for (const Found& one : own) packed.push_back({one.name, one.stream, one.first, one.newest, one.batches});
    for (const Str& text : request_.ranks.texts(packed.dump())) {
      for (const nlohmann::json& one : nlohmann::json::parse(text))
        merge(all, {one[0], one[1], one[2], one[3], one[4]});
    }
  }
  std::vector<Str> sentences;
  for (const Found& one : all) {
    const Str where = one.batches == 1 ? "" : fmt::format("{} batches, the first with ", one.batches);
    sentences.push_back(
        fmt::format("{}: the metric {} was given numbers that are not finite ({}batch_index {}): "
                    "its value cannot be trusted",
                    stream_name(request_.data, size_t(one.stream)), one.name, where, one.first));
  }
  return sentences;
}

void MetricInputs::drop(Role role) { taken(role); }

void MetricInputs::visit(Archive& archive) {
  settle();
  archive.list("metric_inputs", found_, [&](Found& one) {
    archive.value("metric", one.name);
    archive.value("stream", one.stream);
    archive.value("first", one.first);
    archive.value("newest", one.newest);
    archive.value("batches", one.batches);
  });
  if (!archive.is_reading()) return;
  // The data may have fewer streams by now.
  const auto count = int64_t(request_.data.streams.size());
  std::erase_if(found_, [&](const Found& one) { return one.stream < 0 || one.stream >= count; });
}

}  // namespace ltr
