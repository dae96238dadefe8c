// `predict`: runs `step predict` over the predict stream, over rows from a file, or once over what flags give.

#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

#include "doors/csv.h"
#include "doors/npy.h"
#include "doors/number.h"
#include "runtime/cli/run_folder.h"
#include "runtime/cli/value_text.h"
#include "runtime/cli/verbs.h"
#include "runtime/data/loader.h"
#include "runtime/data/rows.h"
#include "runtime/data/rows_source.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/signals.h"

namespace ltr::cli {

namespace {

using Json = nlohmann::json;

/// The characters that the program's text source numbers; null if it has none.
const std::vector<int32_t>* characters_of(const Data& data) {
  for (const Data::RoleStream& one : data.streams) {
    if (const std::vector<int32_t>* found = one.stream.state()->characters()) return found;
  }
  return nullptr;
}

void put_utf8(Str& out, int32_t point) {
  const auto p = uint32_t(point);
  if (p < 0x80) {
    out += char(p);
  } else if (p < 0x800) {
    out += {char(0xC0 | p >> 6), char(0x80 | (p & 63))};
  } else if (p < 0x10000) {
    out += {char(0xE0 | p >> 12), char(0x80 | (p >> 6 & 63)), char(0x80 | (p & 63))};
  } else {
    out += {char(0xF0 | p >> 18), char(0x80 | (p >> 12 & 63)), char(0x80 | (p >> 6 & 63)), char(0x80 | (p & 63))};
  }
}

Str decode(const at::Tensor& ids, const std::vector<int32_t>& characters) {
  Str out;
  const at::Tensor flat = ids.flatten().to(at::kLong).contiguous();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const int64_t id = flat.const_data_ptr<int64_t>()[i];
    if (id >= 0 && id < int64_t(characters.size())) put_utf8(out, characters[size_t(id)]);
  }
  return out;
}

/// The ids of `text` as i64[1, N]; R3007 for a character that the data does not have.
at::Tensor encode(const Str& text, const std::vector<int32_t>& characters) {
  std::vector<int64_t> ids;
  for (size_t i = 0; i < text.size();) {
    Str one;
    auto found = characters.begin();
    for (; found != characters.end(); ++found) {
      one.clear();
      put_utf8(one, *found);
      if (text.compare(i, one.size(), one) == 0) break;
    }
    if (found == characters.end()) {
      throw error_at({}, err::value_out_of_range,
                     fmt::format("the data's text has no character like the one at byte {} of \"{}\"", i, text));
    }
    ids.push_back(found - characters.begin());
    i += one.size();
  }
  return at::tensor(ids, at::kLong).unsqueeze(0);
}

at::ScalarType type_of(const Str& type) {
  const Str element = type.substr(0, type.find('['));
  const std::pair<const char*, at::ScalarType> types[] = {
      {"float", data_float()}, {"f64", at::kDouble}, {"f32", at::kFloat}, {"f16", at::kHalf},
      {"bf16", at::kBFloat16}, {"i64", at::kLong},   {"i32", at::kInt},   {"i16", at::kShort},
      {"i8", at::kChar},       {"u8", at::kByte},    {"bool", at::kBool}};
  for (const auto& [name, scalar] : types) {
    if (element == name) return scalar;
  }
  return at::kFloat;
}

at::Tensor tensor_of_json(const Json& json, at::ScalarType type, const Str& shown) {
  std::vector<int64_t> sizes;
  for (const Json* level = &json; level->is_array(); level = &(*level)[0]) {
    sizes.push_back(int64_t(level->size()));
    if (level->empty()) break;
  }
  const Json flat = json.flatten();
  std::vector<double> values;
  int64_t wanted = 1;
  for (const int64_t size : sizes) wanted *= size;
  for (const auto& [path, value] : flat.items()) {
    if (value.is_number())
      values.push_back(value.get<double>());
    else if (value.is_boolean())
      values.push_back(value.get<bool>() ? 1 : 0);
  }
  if (!json.is_array() && values.empty())
    throw error_at({}, err::wrong_type, shown, json.dump(), "a nested list of numbers");
  if (int64_t(values.size()) != wanted)
    throw error_at({}, err::wrong_type, shown, "ragged", "a list of lists of equal lengths");
  return at::tensor(values, at::kDouble).view(sizes).to(type);
}

/// A tensor parameter from its flag: JSON, `@file.npy|.json`, or text that the data's vocabulary encodes.
at::Tensor tensor_param(const StepParam& param, const Str& given, const Data& data, bool& is_text) {
  const Str shown = Str("--") + param.name;
  const at::ScalarType type = type_of(param.type);
  if (given.starts_with("@")) {
    const Str path = given.substr(1);
    if (path.ends_with(".npy")) {
      const doors::NpyArray array = doors::read_npy(path);
      const void* bytes = array.data.data();
      const std::pair<const char*, at::ScalarType> types[] = {
          {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf}, {"I64", at::kLong}, {"I32", at::kInt},
          {"I16", at::kShort},  {"I8", at::kChar},   {"U8", at::kByte},  {"BOOL", at::kBool}};
      for (const auto& [name, scalar] : types) {
        if (array.dtype == name)
          return borrow(static_cast<const std::byte*>(bytes), array.shape, scalar).to(type, false, true);
      }
    }
    std::ifstream file(path);
    const Json json = Json::parse(file, nullptr, false);
    if (json.is_discarded()) throw error_at({}, err::wrong_type, shown, path, "a .npy or .json file");
    return tensor_of_json(json, type, shown);
  }
  const Json json = Json::parse(given, nullptr, false);
  if (!json.is_discarded() && json.is_array()) return tensor_of_json(json, type, shown);
  const std::vector<int32_t>* characters = characters_of(data);
  if (characters == nullptr || type != at::kLong)
    throw error_at({}, err::wrong_type, shown, '"' + given + '"', Str(param.type) + " as JSON, such as [[1, 2]]");
  is_text = true;
  return encode(given, *characters);
}

/// Writes one row per record. `.jsonl` and `-` as they come, `.npy` at the end.
class Sink {
 public:
  Sink(Str path, const std::vector<int32_t>* characters) : path_(std::move(path)), characters_(characters) {
    is_csv_ = path_.ends_with(".csv");
    is_npy_ = path_.ends_with(".npy");
    if (path_ == "-" || is_npy_) return;
    if (!is_csv_ && !path_.ends_with(".jsonl"))
      throw error_at({}, err::settings_contradict,
                     fmt::format("--write {}: .jsonl, .csv, .npy or - are written", path_));
    file_.open(path_, std::ios::binary | std::ios::trunc);
    if (!file_) throw error_at({}, err::cannot_write, path_, std::generic_category().message(errno));
  }

  void put(const at::Tensor& output) {
    const at::Tensor host = output.detach().to(at::kCPU).contiguous();
    if (is_npy_) {
      parts_.push_back(host);
      return;
    }
    for (int64_t i = 0; i < host.size(0); ++i) put_row(host[i]);
  }

  void close() {
    if (is_npy_) write_npy();
    if (!file_.is_open()) return;
    file_.close();
    if (!file_) throw error_at({}, err::cannot_write, path_, std::generic_category().message(errno));
  }

 private:
  void put_row(const at::Tensor& row) {
    Str line;
    if (is_csv_) {
      if (!has_header_) line = header(row);
      has_header_ = true;
      const at::Tensor flat = row.flatten();
      if (characters_ != nullptr) line += doors::csv_cell(decode(row, *characters_));
      for (int64_t i = 0; characters_ == nullptr && i < flat.numel(); ++i)
        line += (i == 0 ? "" : ",") + number(flat[i], false);
      line += "\n";
    } else {
      line =
          "{\"prediction\":" + (characters_ != nullptr ? doors::json_string(decode(row, *characters_)) : nested(row)) +
          "}\n";
    }
    if (path_ == "-")
      print_out(line);
    else
      file_ << line;
  }

  static Str header(const at::Tensor& row) {
    if (row.numel() == 1) return "prediction\n";
    Str line;
    for (int64_t i = 0; i < row.numel(); ++i) line += fmt::format("{}prediction_{}", i == 0 ? "" : ",", i);
    return line + "\n";
  }

  static Str number(const at::Tensor& value, bool is_json) {
    if (value.scalar_type() == at::kBool) return value.item().toBool() ? "true" : "false";
    if (!value.is_floating_point()) return std::to_string(value.item().toLong());
    // The shortest text of a float, not of the double that it widens to.
    const double wide = value.item().toDouble();
    if (value.scalar_type() == at::kFloat && std::isfinite(wide)) return fmt::format("{}", float(wide));
    return is_json ? doors::json_number(wide) : doors::shortest(wide);
  }

  static Str nested(const at::Tensor& tensor) {
    if (tensor.dim() == 0) return number(tensor, true);
    Str out = "[";
    for (int64_t i = 0; i < tensor.size(0); ++i) out += (i == 0 ? "" : ",") + nested(tensor[i]);
    return out + "]";
  }

  void write_npy() {
    at::Tensor whole = parts_.empty() ? at::zeros({0}) : at::cat(parts_);
    if (whole.scalar_type() == at::kBFloat16) whole = whole.to(at::kFloat);
    const std::pair<at::ScalarType, const char*> types[] = {
        {at::kDouble, "F64"}, {at::kFloat, "F32"}, {at::kHalf, "F16"}, {at::kLong, "I64"}, {at::kInt, "I32"},
        {at::kShort, "I16"},  {at::kChar, "I8"},   {at::kByte, "U8"},  {at::kBool, "BOOL"}};
    doors::NpyArray array;
    for (const auto& [scalar, name] : types) {
      if (whole.scalar_type() == scalar) array.dtype = name;
    }
    array.shape = whole.sizes().vec();
    array.data.assign(static_cast<const char*>(whole.contiguous().const_data_ptr()), whole.nbytes());
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file << doors::encode_npy(array);
    file.close();
    if (!file) throw error_at({}, err::cannot_write, path_, std::generic_category().message(errno));
  }

  Str path_;
  const std::vector<int32_t>* characters_;
  bool is_csv_ = false;
  bool is_npy_ = false;
  bool has_header_ = false;
  std::ofstream file_;
  std::vector<at::Tensor> parts_;
};

const Data::RoleStream* predict_stream(const Data& data) {
  for (const Data::RoleStream& one : data.streams) {
    if (one.role == Role::Predict) return &one;
  }
  return nullptr;
}

}  // namespace

int run_predict(Start& start) {
  start.resolve();
  start.set_up_device();
  const StepInfo* step = find_step(*start.experiment, Role::Predict);
  if (step == nullptr) {
    throw error_at(start.experiment->location, err::settings_contradict,
                   fmt::format("the model {} has no step predict", start.experiment->model));
  }
  Str run;
  const Str weights = find_weights(start, start.line.get("weights"), run);
  start.settings.set_run(run.empty() ? start.out_dir() : run, start.run_name());
  start.experiment->list_callbacks(start.settings);
  start.build();
  if (!weights.empty()) load_weights(*start.root, weights, !start.line.has("raw"));

  const std::unique_ptr<Progress> progress = make_progress(start.terminal);
  RunRequest request = start.request(*progress);
  request.run_dir = run;
  Tensors extra;  // parameters that are tensors: they stand behind the data's fields
  bool is_text = false;
  std::vector<Error> faults;
  for (const StepParam& param : step->params) {
    const Str type = param.type;
    const bool is_tensor = type.find('[') != Str::npos;
    const bool is_given = start.line.has(param.name);
    Str text = start.line.get(param.name, param.initial);
    if (!is_given && text.empty() && type != "str") {
      faults.push_back(with_help(error_at(param.location, err::wrong_type, Str("--") + param.name, "not given", type),
                                 "step predict needs it"));
      continue;
    }
    Value value;
    if (is_tensor) {
      extra.push_back(give(tensor_param(param, text, *start.data, is_text)));
    } else {
      Str wanted;
      const Option<Value> parsed = parse_value(text, type, wanted);
      if (!parsed)
        faults.push_back(error_at(param.location, err::wrong_type, Str("--") + param.name, '"' + text + '"', wanted));
      value = parsed.value_or(Value());
    }
    request.predict_params.push_back(std::move(value));
  }
  if (!faults.empty()) throw Faults{faults};

  const bool prints_text = is_text && !start.line.has("write");
  const Str target =
      start.line.get("write", run.empty() || prints_text ? "-" : next_numbered(run + "/predict", "", ".jsonl"));
  Sink sink(target, is_text ? characters_of(*start.data) : nullptr);
  const size_t field_count = start.data->batch.size();
  const auto write = [&](const Tensor& output, const Batch&) {
    if (prints_text) {
      const at::Tensor rows = aten(output);
      for (int64_t i = 0; i < rows.size(0); ++i) print_out(decode(rows[i], *characters_of(*start.data)) + "\n");
    } else {
      sink.put(aten(output));
    }
  };

  const Data::RoleStream* source = predict_stream(*start.data);
  std::unique_ptr<data::Loader> loader;
  if (start.line.has("read") || source != nullptr) {
    if (source == nullptr)
      throw error_at(start.experiment->location, err::settings_contradict,
                     fmt::format("the data {} has no predict stream for --read", start.experiment->data));
    Stream stream = source->stream;
    if (start.line.has("read")) {
      const Schema* schema = stream.state()->source_schema();
      if (schema == nullptr)
        throw error_at(source->location, err::settings_contradict, "--read needs a predict stream with one source");
      stream = stream.state()->rebuilt(rows_source(start.line.get("read"), *schema));
    }
    data::LoaderOptions options;
    options.batch = start.data->batch;
    options.location = source->location;
    options.name = "predict";
    options.workers = int(start.workers);
    options.prefetch = int(start.prefetch);
    options.seed = uint64_t(start.trainer.seed);
    options.limit.batches = start.trainer.limit_predict.batches;
    if (start.trainer.limit_predict.fraction >= 0) options.limit.fraction = start.trainer.limit_predict.fraction;
    options.mock = start.flags.mock_data;
    loader = std::make_unique<data::Loader>(stream, options);
    loader->start(0);
  }
  bool is_done = false;
  const auto next = [&](Batch& batch) {
    check_output();
    if (SignalWatch::received() != 0) return false;
    if (loader != nullptr) {
      if (!loader->next(batch)) return false;
    } else {
      if (is_done) return false;
      is_done = true;
      batch.size = extra.empty() ? 1 : extra[0].size(0);
    }
    batch.fields.resize(field_count);
    batch.fields.insert(batch.fields.end(), extra.begin(), extra.end());
    return true;
  };
  SignalWatch::enter(SignalPhase::Work);
  const PredictReport report = predict(request, next, write);
  SignalWatch::enter(SignalPhase::End);
  if (!prints_text) sink.close();
  if (target != "-" && !prints_text) {
    print_err(
        fmt::format("{} predictions in {} · {}\n", with_commas(report.samples), seconds_text(report.total_s), target));
  }
  if (SignalWatch::received() != 0) print_err("predict was stopped: later records have no predictions\n");
  return SignalWatch::exit_code();
}

}  // namespace ltr::cli
