// `SamplePredictions` of runtime.md 3.3: what the model makes of the first records of a round.

#include <ATen/ATen.h>

#include "doors/number.h"
#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/round_records.h"
#include "runtime/data/texts.h"
#include "runtime/train/image.h"

namespace ltr {

namespace {

/// Of a larger field the sizes tell enough.
constexpr int64_t kMostNumbers = 64;

Str value_json(const at::Tensor& value, bool is_text) {
  if (is_text) return doors::json_string(unpack_texts(value.unsqueeze(0))[0]);
  if (value.numel() <= kMostNumbers) return json_of(value);
  return fmt::format("{{\"shape\":[{}]}}", fmt::join(value.sizes().vec(), ","));
}

class SamplePredictions : public RoundRecords {
 public:
  SamplePredictions(const Value& call, const FitView& view)
      : RoundRecords("SamplePredictions", call, view, int_argument(call, "n", 8), Predicts::Must) {}

 protected:
  void show(const std::vector<SeenRecord>& records) override {
    Str lines;
    for (size_t i = 0; i < records.size(); ++i) {
      Str fields, outputs;
      for (size_t f = 0; f < schema().size(); ++f) {
        const at::Tensor& value = records[i].fields[f];
        if (value.defined()) put(fields, schema()[f].name, value, schema()[f].form == FieldForm::Texts);
      }
      for (size_t k = 0; k < records[i].outputs.size(); ++k) {
        const at::Tensor& value = records[i].outputs[k];
        if (value.defined()) put(outputs, output_names()[k], value, output_texts()[k]);
      }
      lines += fmt::format("{{\"record\":{},\"batch\":{{{}}},\"output\":{{{}}}}}\n", i, fields, outputs);
    }
    write(stream_name_, ".jsonl", lines);
    if (view_.request.recorder != nullptr)
      view_.request.recorder->text(view_.at.global_step, tag() + "/samples", lines);
  }

 private:
  static void put(Str& into, const Str& name, const at::Tensor& value, bool is_text) {
    into += (into.empty() ? "" : ",") + doors::json_string(name) + ":" + value_json(value, is_text);
  }
};

}  // namespace

ListenerPtr make_sample_predictions(const Value& call, const FitView& view) {
  return std::make_unique<SamplePredictions>(call, view);
}

}  // namespace ltr
