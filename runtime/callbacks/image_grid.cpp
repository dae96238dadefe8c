// `ImageGrid` of runtime.md 3.3: the first images of a round, with what they are and what the model takes them for.

#include <algorithm>

#include <ATen/ATen.h>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/picture_grid.h"
#include "runtime/callbacks/round_records.h"

namespace ltr {

namespace {

class ImageGrid : public RoundRecords {
 public:
  ImageGrid(const Value& call, const FitView& view)
      : RoundRecords("ImageGrid", call, view, int_argument(call, "n", 16), Predicts::May),
        field_(text_argument(call, "field", "")),
        columns_(int_argument(call, "columns", 8)),
        has_labels_(bool_argument(call, "labels", true)) {
    Str known;
    for (size_t i = 0; i < schema().size(); ++i) {
      const FieldInfo& one = schema()[i];
      const bool is_image = one.form == FieldForm::Plain && (one.dims.size() == 3 || one.dims.size() == 4);
      if (one.name == field_) {
        if (!is_image)
          throw error_at(
              call.location, err::settings_contradict,
              fmt::format("callbacks.ImageGrid.field: {} holds no images, [B, C, H, W] or [B, H, W]", field_));
        image_ = int(i);
      }
      if (is_image) known += (known.empty() ? "" : ", ") + Str(one.name);
      if (is_class(one)) classes_.push_back(i);
    }
    if (image_ < 0)
      throw with_help(
          error_at(call.location, err::unknown_setting, fmt::format("callbacks.ImageGrid: field {}", field_)),
          known.empty() ? "the batch has no field of images" : "the batch has " + known);
  }

 protected:
  void show(const std::vector<SeenRecord>& records) override {
    std::vector<Tile> tiles;
    for (const SeenRecord& record : records) {
      const at::Tensor& picture = record.fields[size_t(image_)];
      if (!picture.defined()) return;  // the stream lacks it
      Tile tile{picture, "", false};
      if (has_labels_) put_labels(record, tile);
      tiles.push_back(std::move(tile));
    }
    const doors::Image grid = picture_grid(tiles, columns_);
    write(stream_name_ + "." + field_, ".png", doors::encode_png(grid));
    if (view_.request.recorder != nullptr)
      view_.request.recorder->image(view_.at.global_step, tag() + "/" + field_, grid);
  }

 private:
  /// One whole number for each record.
  static bool is_class(const FieldInfo& field) {
    return field.form == FieldForm::Plain && field.dims.size() == 1 && field.dtype == DType::I64;
  }

  /// `7` of a class that is met, `7>2` of a 7 that is taken for a 2.
  void put_labels(const SeenRecord& record, Tile& tile) const {
    const Option<int64_t> is = true_class(record), seems = predicted_class(record);
    if (is) tile.caption = std::to_string(*is);
    if (seems && seems != is) tile.caption += ">" + std::to_string(*seems);
    tile.is_marked = is && seems && is != seems;
  }

  /// Of the one field that can be it and that `step predict` does not read.
  Option<int64_t> true_class(const SeenRecord& record) const {
    Option<int64_t> found;
    for (const size_t field : classes_) {
      if (is_read(field) || !record.fields[field].defined()) continue;
      if (found) return std::nullopt;
      found = record.fields[field].item().toLong();
    }
    return found;
  }

  /// An output of one whole number, else the largest of one of several numbers.
  static Option<int64_t> predicted_class(const SeenRecord& record) {
    for (const at::Tensor& one : record.outputs) {
      if (one.defined() && one.dim() == 0 && at::isIntegralType(one.scalar_type(), false)) return one.item().toLong();
    }
    for (const at::Tensor& one : record.outputs) {
      if (one.defined() && one.dim() == 1 && one.size(0) > 1 && one.is_floating_point())
        return one.argmax().item().toLong();
    }
    return std::nullopt;
  }

  Str field_;
  int64_t columns_;
  bool has_labels_;
  int image_ = -1;
  std::vector<size_t> classes_;
};

}  // namespace

ListenerPtr make_image_grid(const Value& call, const FitView& view) { return std::make_unique<ImageGrid>(call, view); }

}  // namespace ltr
