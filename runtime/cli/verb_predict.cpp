// `predict`: runs `step predict` over the predict streams, over rows from a file, or once over what flags give.

#include <algorithm>
#include <filesystem>
#include <map>

#include "runtime/api/suggest.h"
#include "runtime/cli/predict_start.h"
#include "runtime/cli/predictions.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/step_params.h"
#include "runtime/cli/tensor_param.h"
#include "runtime/cli/verbs.h"
#include "runtime/data/loader.h"
#include "runtime/data/rows_source.h"
#include "runtime/data/stream.h"
#include "runtime/data/trouble.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/feed.h"
#include "runtime/train/left_out_records.h"
#include "runtime/train/signals.h"

namespace ltr::cli {

namespace {

/// What `step predict` is given.
struct Input {
  Tensors tensors;  ///< parameters that are tensors: they stand behind the data's fields
  LeftOutRecords left_out;
  std::vector<std::unique_ptr<data::Loader>> loaders;  ///< one after the other; none: one batch of `tensors`
  std::vector<size_t> streams;                         ///< which each of them reads, by its number in the data
  std::vector<Str> faults;                             ///< of the rows of `--read`
  std::map<Str, size_t> row_at;                        ///< the row of each place
  std::vector<Str> notes;                              ///< what people are told of them
  bool is_stopped = false;                             ///< by a signal, on whichever rank
  size_t rows = 0;                                     ///< of `--read` that the limit lets through
};

void add_loader(const RunRequest& request, const Data::RoleStream& source, const Stream& stream, Input& input) {
  const auto number = size_t(&source - request.data.streams.data());
  input.loaders.push_back(std::make_unique<data::Loader>(stream, loader_options(request, number)));
  input.streams.push_back(number);
}

/// The rows of `--read` in the place of the source of the predict stream.
void read_rows(const Start& start, const RunRequest& request, const StepInfo& step, const Data::RoleStream& source,
               bool needs_all, Input& input) {
  const Str file = start.line.get("read");
  const StreamState* own = source.stream.state()->source();
  if (own == nullptr)
    throw error_at(source.location, err::settings_contradict, "--read needs a predict stream with one source");
  const Schema& schema = own->schema();
  ForeignRows rows =
      ltr::read_rows(file, schema, {.refuses_names = !start.line.has("ignore-columns"), .refuses_rows = needs_all});

  std::vector<Str> used;
  for (const int field : step.fields) used.emplace_back(start.data->batch[size_t(field)].name);
  std::vector<Str> missing;
  const FieldUse use = use_of_fields(source.stream, rows, used);
  for (const size_t field : use.missed) missing.emplace_back(schema[field].name);
  if (!missing.empty()) {
    const Str near = nearest(missing[0], rows.ignored);
    throw with_help(
        error_at({}, err::schema_differs, file, fmt::format("no field {}", fmt::join(missing, ", "))),
        near.empty() ? "the prediction hangs on it"
                     : fmt::format("the prediction hangs on it; the file has {}, did you mean {}?", near, missing[0]));
  }
  use.apply(rows);
  if (!rows.ignored.empty())
    input.notes.push_back(
        fmt::format("{}: not read, as no field of the records: {}", file, fmt::join(rows.ignored, ", ")));
  if (!rows.not_finite.empty()) input.notes.push_back(rows.not_finite);

  Stream stream = source.stream.state()->rebuilt(rows.stream);
  if (records_behind(stream) != int64_t(rows.faults.size())) {
    rows.need_all();
    stream = source.stream.state()->rebuilt(rows.stream);
  }
  const auto fault =
      std::find_if(rows.faults.begin(), rows.faults.end(), [](const Str& text) { return !text.empty(); });
  if (fault != rows.faults.end() && records_behind(stream) != int64_t(rows.faults.size())) {
    throw error_at({}, err::bad_record, file, *fault + " (the predict stream joins rows, so none can be left out)");
  }
  add_loader(request, source, stream, input);
  double batches = double(input.loaders[0]->batches(0));
  start.ranks.sum({&batches, 1});
  input.rows = std::min(rows.faults.size(), size_t(batches) * size_t(input.loaders[0]->batch_size()));
  input.faults = std::move(rows.faults);
  for (size_t i = 0; i < rows.places.size(); ++i) input.row_at.emplace(rows.places[i], i);
}

/// Rows that a map refused have faults of their own; records of a stream that are left out are counted.
void take_refused(Input& input, std::vector<LeftOut> found, Predictions& predictions) {
  if (input.row_at.empty()) return void(input.left_out.take(std::move(found)));
  for (const LeftOut& one : found) {
    const size_t row = input.row_at.at(one.place);
    input.faults[row] = one.place + ": " + one.reason;
    predictions.set_fault(row, input.faults[row]);
  }
}

void open_streams(const Start& start, const RunRequest& request, const StepInfo& step, bool needs_all, Input& input) {
  std::vector<const Data::RoleStream*> sources;
  for (const Data::RoleStream& one : start.data->streams) {
    if (one.role == Role::Predict) sources.push_back(&one);
  }
  if (start.line.has("read")) {
    if (sources.size() != 1) {
      throw error_at({}, err::settings_contradict,
                     fmt::format("--read takes the place of one predict stream; the data {} has {}",
                                 start.experiment->data, sources.empty() ? "none" : "several"));
    }
    return read_rows(start, request, step, *sources[0], needs_all, input);
  }
  for (const Data::RoleStream* source : sources) add_loader(request, *source, source->stream, input);
}

/// Whether any rank has a batch at this turn, and none is stopped. What they left out on the way is known to all.
bool is_turn(const Ranks& ranks, bool is_here, std::vector<LeftOut> found, Input& input, Predictions& predictions) {
  double has = is_here ? 1 : 0;
  double stopped = SignalWatch::received() != 0 ? 1 : 0;
  ranks.most({&has, 1});
  ranks.most({&stopped, 1});
  if (ranks.world() == 1) {
    take_refused(input, std::move(found), predictions);
  } else {
    for (const Str& text : ranks.texts(LeftOutRecords::packed(found)))
      take_refused(input, LeftOutRecords::unpacked(text), predictions);
  }
  input.is_stopped = stopped > 0;
  return has > 0;
}

/// What gives the batches of `input` in turn, and the stream of each. A stream begins on all ranks at once, so that the order is the records'.
std::function<bool(Batch&, size_t&)> batches_of(const Ranks& ranks, Input& input, size_t field_count,
                                                Predictions& predictions) {
  if (!input.loaders.empty()) input.loaders[0]->start(0);
  return [&ranks, &input, &predictions, field_count, place = size_t(0), is_done = false](Batch& batch,
                                                                                         size_t& stream) mutable {
    if (input.loaders.empty()) {
      if (is_done) return false;
      is_done = true;
      // All ranks are given the same: one of them is enough.
      batch.size = !ranks.is_first() ? kNoBatch : input.tensors.empty() ? 1 : input.tensors[0].size(0);
    } else {
      const auto next = [&] {
        const bool is_here = input.loaders[place]->next(batch);
        if (!is_here) batch.size = kNoBatch;
        return is_turn(ranks, is_here, input.loaders[place]->take_left_out(), input, predictions);
      };
      while (!next()) {
        if (input.is_stopped || ++place == input.loaders.size()) return false;
        input.loaders[place]->start(0);
      }
      if (input.is_stopped) return false;
      stream = input.streams[place];
    }
    batch.fields.resize(field_count);
    batch.fields.insert(batch.fields.end(), input.tensors.begin(), input.tensors.end());
    return true;
  };
}

/// R2006 for `--out` where `--write` is meant.
void need_folder(const Str& out) {
  for (const char* ending : {".jsonl", ".csv", ".npy", ".json", ".npz", ".safetensors"}) {
    if (!out.ends_with(ending)) continue;
    throw with_help(
        error_at({}, err::settings_contradict, fmt::format("--out {}: it is the folder that holds the runs", out)),
        fmt::format("predictions are written by --write {}", out));
  }
}

/// R2006 where the rows that are read would be replaced by what is made of them.
void need_other_file(const Str& read, const Str& written) {
  std::error_code failed;
  if (read.empty() || !std::filesystem::equivalent(read, written, failed)) return;
  throw with_help(
      error_at({}, err::settings_contradict, fmt::format("--write {}: it is the file that --read names", written)),
      "predictions need a file of their own");
}

void tell_doubts(const Input& input, const Predictions& predictions, int64_t samples) {
  if (predictions.not_finite() > 0) {
    print_err(fmt::format("warning: {} of {} {} not finite; the first is number {}\n",
                          with_commas(predictions.not_finite()), plural(samples, "prediction"),
                          predictions.not_finite() == 1 ? "is" : "are", predictions.first_not_finite()));
  }
  for (const Str& text : take_troubles()) print_err(fmt::format("warning: {}\n", text));
  if (const Str left_out = input.left_out.summary(); !left_out.empty()) {
    print_err(fmt::format("note: {}; what is left out has no prediction\n", left_out));
  }
}

}  // namespace

int run_predict(Start& start) {
  need_folder(start.line.get("out"));
  need_other_file(start.line.get("read"), start.line.get("write"));
  const PredictStart made = start_predict(start);
  const StepInfo* step = &made.step;
  const Str& run = made.run;

  const GivenParams given = read_step_params(start, *step);
  const bool prints_text = given.is_text && !start.line.has("write");
  // Among predictions on standard output stands no event, and nothing that hooks print.
  Terminal terminal = start.terminal;
  terminal.is_output_taken = prints_text || start.line.get("write", run.empty() ? "-" : "") == "-";
  terminal.is_json = terminal.is_json && !terminal.is_output_taken;
  const std::unique_ptr<Progress> progress = make_progress(terminal);
  RunRequest request = start.request(*progress);
  request.run_dir = run;
  request.trained = trained_of(made.weights);
  Input input;
  input.left_out.take(take_left_out());  // those that were met when the data was opened
  request.step_params[size_t(Role::Predict)] = given.params;
  input.tensors = given.params.tensors;

  const std::vector<int32_t>* characters = given.is_text ? characters_of(*start.data) : nullptr;
  const Str usual = run.empty() || prints_text ? "-"
                    : request.writes()         ? next_numbered(run + "/predict", "", ".jsonl")
                                               : "";
  const Str target = start.ranks.of_first(start.line.get("write", usual));
  Predictions predictions(target, characters, start.ranks.is_first());
  open_streams(start, request, *step, start.line.has("strict") || prints_text || !predictions.takes_faults(), input);
  predictions.set_faults(input.faults);
  for (const Str& note : input.notes) progress->notice(note);
  const auto write = [&](const Outputs& outputs) {
    if (!prints_text || outputs.size() > 1) return predictions.put(outputs);
    const at::Tensor rows = aten(outputs[0].value);
    for (int64_t i = 0; i < rows.size(0); ++i) print_out(decode(rows[i], *characters) + "\n");
  };
  const auto read = batches_of(start.ranks, input, start.data->batch.size(), predictions);
  const auto next = [&](Batch& batch, size_t& stream) {
    check_output();
    return !(is_output_closed() && start.ranks.world() == 1) && read(batch, stream);
  };
  SignalWatch::enter(SignalPhase::Work);
  const PredictReport report = predict(request, next, write);
  SignalWatch::enter(SignalPhase::End);
  predictions.close(input.rows);
  if (terminal.is_json) {
    print_out(json_event("end", fmt::format("\"samples\":{},\"seconds\":{},\"files\":{}", report.samples,
                                            report.total_s, nlohmann::json(predictions.files()).dump())));
  } else if (target != "-" && !prints_text) {
    print_err(fmt::format("{} in {} · {}\n", plural(report.samples, "prediction"), seconds_text(report.total_s),
                          fmt::join(predictions.files(), ", ")));
  }
  tell_doubts(input, predictions, report.samples);
  if (SignalWatch::received() != 0 || input.is_stopped) {
    print_err("predict was stopped: later records have no predictions\n");
    return SignalWatch::exit_code(SignalWatch::received() != 0 ? SignalWatch::received() : SIGTERM);
  }
  const auto end = input.faults.begin() + ptrdiff_t(input.rows);
  const auto bad = std::count_if(input.faults.begin(), end, [](const Str& fault) { return !fault.empty(); });
  if (bad > 0) {
    print_err(fmt::format("{} of {} {} not fit; see what stands in place of a prediction\n", with_commas(bad),
                          plural(int64_t(input.rows), "row"), bad == 1 ? "does" : "do"));
  }
  return bad > 0 ? 1 : 0;
}

}  // namespace ltr::cli
