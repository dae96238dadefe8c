#include "runtime/train/left_out_records.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "doors/number.h"
#include "runtime/api/error.h"

namespace ltr {

std::vector<LeftOut> LeftOutRecords::take(std::vector<LeftOut> found) {
  std::vector<LeftOut> fresh;
  for (LeftOut& one : found) {
    if (!places_.insert({one.stage, one.place}).second) continue;
    const bool is_new = add(one);
    if (++counts_[one.stage] > one.most) {
      throw with_help(error_at(one.location, err::too_many_bad_records, counts_[one.stage], one.most),
                      fmt::format("the last one is {}: {}", one.place, one.reason));
    }
    if (is_new) fresh.push_back(std::move(one));
  }
  return fresh;
}

std::vector<LeftOut> LeftOutRecords::all() const {
  std::vector<LeftOut> records;
  for (const size_t at : different_) records.push_back(known_[at]);
  return records;
}

bool LeftOutRecords::add(LeftOut one) {
  const bool is_new = told_apart_.insert({one.place, one.reason}).second;
  if (is_new) different_.push_back(known_.size());
  known_.push_back(std::move(one));
  return is_new;
}

Str LeftOutRecords::news() {
  const Str out = text(told_);
  told_ = count();
  return out;
}

Str LeftOutRecords::text(int64_t from) const {
  const int64_t news = count() - from;
  if (news == 0) return "";
  const LeftOut& first = known_[different_[size_t(from)]];
  return fmt::format("{}{} left out, {} {}: {}", news, news == 1 ? " bad record" : " bad records",
                     news == 1 ? "it is" : "the first is", first.place, first.reason);
}

void LeftOutRecords::visit(Archive& archive) {
  if (archive.is_reading() && !archive.has("left_out")) return;
  const Archive::Part part(archive, "left_out");
  archive.value("told", told_);
  if (!archive.is_reading() || archive.has("shared")) archive.value("shared", shared_);
  archive.list("records", known_, [&](LeftOut& one) {
    archive.value("stage", one.stage);
    archive.value("place", one.place);
    archive.value("reason", one.reason);
  });
  if (!archive.is_reading()) return;
  places_.clear();
  counts_.clear();
  told_apart_.clear();
  different_.clear();
  for (LeftOut& one : std::exchange(known_, {})) {
    places_.insert({one.stage, one.place});
    ++counts_[one.stage];
    add(std::move(one));
  }
  shared_ = std::min(shared_, int64_t(known_.size()));
}

Str LeftOutRecords::lines(const std::vector<LeftOut>& records) {
  Str out;
  for (const LeftOut& one : records) {
    out +=
        fmt::format("{{\"record\":{},\"reason\":{}}}\n", doors::json_string(one.place), doors::json_string(one.reason));
  }
  return out;
}

Str LeftOutRecords::packed(const std::vector<LeftOut>& records) {
  nlohmann::json out = nlohmann::json::array();
  for (const LeftOut& one : records) out.push_back({one.stage, one.most, one.place, one.reason});
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<LeftOut> LeftOutRecords::unpacked(const Str& text) {
  std::vector<LeftOut> records;
  for (const nlohmann::json& one : nlohmann::json::parse(text)) records.push_back({one[0], one[1], {}, one[2], one[3]});
  return records;
}

}  // namespace ltr
