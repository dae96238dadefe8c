#include "runtime/serve/scorer.h"

#include <numeric>

#include "runtime/data/loader.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/feed.h"
#include "runtime/train/output_rows.h"

namespace ltr::serve {

namespace {

const StreamState& source_of(const Data::RoleStream& stream) {
  const StreamState* own = stream.stream.state()->source();
  if (own == nullptr)
    throw error_at(stream.location, err::settings_contradict, "serve needs a predict stream with one source");
  return *own;
}

/// One behind the other; a row's place is its number among all of them.
ReadRows joined(const std::vector<const ReadRows*>& parts) {
  ReadRows all;
  all.has = parts[0]->has;
  for (const ReadRows* part : parts) {
    all.records.insert(all.records.end(), part->records.begin(), part->records.end());
    all.faults.insert(all.faults.end(), part->faults.begin(), part->faults.end());
  }
  for (size_t i = 0; i < all.records.size(); ++i) all.places.push_back(std::to_string(i));
  return all;
}

/// Cuts the predictions for joined rows into those of each part. `reasons` says why a row has none.
std::vector<Score> split(const std::vector<const ReadRows*>& parts, const std::map<size_t, Str>& reasons,
                         std::vector<Str> predictions) {
  std::vector<Score> scores;
  size_t row = 0, next = 0;
  for (const ReadRows* part : parts) {
    std::vector<Str> own;
    Str fault;
    for (size_t i = 0; i < part->records.size(); ++i, ++row) {
      const auto refused = reasons.find(row);
      if (refused == reasons.end())
        own.push_back(std::move(predictions[next++]));
      else if (fault.empty())
        fault = fmt::format("{}: {}", part->places[i], refused->second);
    }
    if (fault.empty())
      scores.emplace_back(std::move(own));
    else
      scores.emplace_back(Refusal{400, fault});
  }
  return scores;
}

}  // namespace

Scorer::Scorer(RunRequest& request, const Data::RoleStream& source, Tensors params)
    : request_(request),
      source_(source),
      params_(std::move(params)),
      stream_(size_t(&source - request.data.streams.data())),
      predictor_(request) {
  static_cast<void>(source_of(source_));
  const StepInfo& step = *find_step(request.experiment, Role::Predict);
  for (const int field : step.fields) {
    if (size_t(field) < request.data.batch.size()) used_.emplace_back(request.data.batch[size_t(field)].name);
  }
}

const Schema& Scorer::schema() const { return source_of(source_).schema(); }

Str Scorer::fill_in(ForeignRows& rows) {
  auto known = uses_.find(rows.absent);
  if (known == uses_.end()) {
    FieldUse use = use_of_fields(source_.stream, rows, used_);
    if (!use.is_known) return "";  // Each row says itself what is wrong with it.
    known = uses_.emplace(rows.absent, std::move(use)).first;
  }
  const FieldUse& use = known->second;
  use.apply(rows);
  std::vector<Str> names;
  for (const size_t field : use.missed) names.emplace_back(schema()[field].name);
  return names.empty() ? "" : fmt::format("no field {}; the prediction hangs on it", fmt::join(names, ", "));
}

std::vector<Score> Scorer::score_apart(const std::vector<const ReadRows*>& parts) {
  std::vector<Score> scores;
  for (const ReadRows* part : parts) scores.push_back(score({part})[0]);
  return scores;
}

std::vector<Score> Scorer::score(const std::vector<const ReadRows*>& parts) {
  Refusal why{.status = 500, .message = ""};
  try {
    return guarded([&] { return score_all(parts); });
  } catch (const Error& error) {
    why.message = fmt::format("{}: {}", error.code, error.message);
  } catch (const std::exception& error) {
    why.message = error.what();
  }
  // Whose rows it was, each finds out by itself: one request's fault is no other's.
  if (parts.size() > 1) return score_apart(parts);
  return {why};
}

std::vector<Score> Scorer::score_all(const std::vector<const ReadRows*>& parts) {
  const ReadRows rows = joined(parts);
  const size_t count = rows.records.size();
  ForeignRows foreign = as_stream(rows, schema(), true);
  if (const Str missing = fill_in(foreign); !missing.empty())
    return std::vector<Score>(parts.size(), Refusal{400, missing});
  Stream stream = source_.stream.state()->rebuilt(foreign.stream);
  // Where the stream leaves rows out or joins them, nobody could say whose what is left is.
  const bool is_each = records_behind(stream) == int64_t(count);
  if (!is_each && parts.size() > 1) return score_apart(parts);
  if (!is_each) {
    foreign.need_all();
    stream = source_.stream.state()->rebuilt(foreign.stream);
  }
  data::LoaderOptions options = loader_options(request_, stream_);
  options.workers = 0;
  options.limit = {};
  data::Loader loader(stream, std::move(options));
  std::vector<Str> predictions;
  std::map<size_t, Str> reasons;
  Batch batch;
  for (loader.start(0); loader.next(batch);) {
    batch.fields.resize(request_.data.batch.size());
    batch.fields.insert(batch.fields.end(), params_.begin(), params_.end());
    for (Str& row : json_rows(predictor_.predict(batch, stream_))) predictions.push_back(std::move(row));
  }
  for (const LeftOut& one : loader.take_left_out()) reasons.emplace(std::stoul(one.place), one.reason);
  if (!is_each) return {std::move(predictions)};
  if (predictions.size() + reasons.size() != count) {
    throw error_at(source_.location, err::settings_contradict,
                   fmt::format("step predict returned {} rows for {}", predictions.size(), count - reasons.size()));
  }
  return split(parts, reasons, std::move(predictions));
}

}  // namespace ltr::serve
